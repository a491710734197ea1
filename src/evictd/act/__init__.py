"""Make it so: decisions carried out on the runtime, the node's files and the API server. Nothing here decides."""
