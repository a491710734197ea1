"""Says when a threshold is met or acts, when nothing is left, and how long a condition stays."""
