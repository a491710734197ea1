"""Measures the disk usage of pods' volumes and logs, in the background and within a budget."""
