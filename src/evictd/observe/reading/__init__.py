"""Assembles one reading of the node."""
