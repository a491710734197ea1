"""Says what a person can do about a shortage."""
