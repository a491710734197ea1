"""Keeps the daemon's records on disk: state file, journal, lock, log tails of victims."""
