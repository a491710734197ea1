"""The fields of v1.Pod that eviction needs, on the wire and as values."""
