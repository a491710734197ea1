"""Says what happened to one pod, or why it stays: `evictd why`."""
