"""The eviction manager: from one observation to decisions, in pure functions."""
