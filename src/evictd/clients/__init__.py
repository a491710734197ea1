"""Talks to the container runtime and the API server; third-party types and exceptions do not leave these packages."""
