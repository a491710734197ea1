"""Performs decisions on the runtime, the node's files and the API server; decides nothing itself."""
