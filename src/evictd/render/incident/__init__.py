"""One eviction as an incident: what filled the node, what came back, and what would have avoided it."""
