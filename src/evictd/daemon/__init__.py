"""The daemon: the loop, its parts, and the records and pages that it writes."""
