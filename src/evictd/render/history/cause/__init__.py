"""Says from the records of a journal what caused a condition or an eviction."""
