"""Reads memory and tasks of cgroups and of the node from the kernel's files."""
