"""Reads from the records of a journal what is known of one eviction, and how the node stands at their end."""
