"""Ends the wait between two cycles early when available memory crosses a threshold."""
