"""Finds the node's pods and reads their resource usage."""
