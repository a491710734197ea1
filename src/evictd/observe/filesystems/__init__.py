"""Reads mounts, the layout of filesystems and their free space."""
