"""Runs a disposable node, a private containerd on small filesystems, for `evictd demo` and the end-to-end tests."""
