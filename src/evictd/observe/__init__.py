"""Reads the node's cgroups, filesystems, processes and pods into the values of `core.model`."""
