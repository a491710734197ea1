"""evictd: the kubelet's eviction manager as a daemon of its own."""

__version__ = "0.1.0"
