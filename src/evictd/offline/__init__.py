"""Commands that need no running daemon, and most of them no node."""
