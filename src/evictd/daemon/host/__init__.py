"""The daemon's relations with its host: signals, the service manager, memory locking."""
