"""The wires: the container runtime and the API server. Third-party types and exceptions stop here."""
