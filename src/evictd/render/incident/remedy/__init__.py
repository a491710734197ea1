"""Says what would have avoided an eviction, what would not have, and what to do now."""
