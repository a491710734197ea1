"""evictd: the kubelet's eviction manager as a daemon of its own."""

__version__ = "0.3.0"
"""The one place of the version: pyproject.toml reads it, `tests/docs/test_version.py` compares every other place with it."""
