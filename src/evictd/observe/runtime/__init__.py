"""Reads sandboxes, containers and their statistics from the container runtime."""
