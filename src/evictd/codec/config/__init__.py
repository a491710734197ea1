"""Decodes and validates the configuration documents, and encodes the core's configuration."""
