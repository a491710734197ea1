"""Plays a node in a closed loop: pods, owners, host, images, kernel and API server that answer to what the core decides."""
