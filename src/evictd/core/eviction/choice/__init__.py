"""Chooses the pod that goes, and with which grace period."""
