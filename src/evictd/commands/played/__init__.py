"""Plays worlds for `evictd simulate`."""
