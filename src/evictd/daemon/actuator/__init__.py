"""Performs decisions: with the runtime alone, or through an API server."""
