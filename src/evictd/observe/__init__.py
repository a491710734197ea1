"""What the node says: cgroups, filesystems, processes and pods, read into the core's values."""
