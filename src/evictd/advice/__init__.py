"""The thresholds and reservations that the journals of nodes give reason for: one episode, one node, all nodes."""
