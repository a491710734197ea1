"""Logs, metrics, and the HTTP pages of the daemon."""
