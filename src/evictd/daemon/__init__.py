"""The daemon: the loop, what it is built of, and what it records and publishes."""
