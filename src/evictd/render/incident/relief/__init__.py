"""Says what came back after an eviction, and whether the end of the pod was needed."""
