"""Reads the configuration files and flags into one `Settings` value."""
