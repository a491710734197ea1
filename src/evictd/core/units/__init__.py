"""Quantities, percentages and durations as Kubernetes writes them."""
