"""Runs a disposable node, a private containerd on small filesystems, for `evictd demo` and the tests.

Not a part of evictd: of evictd it uses the client of the runtime and the core's values, and evictd uses nothing of it.
"""
