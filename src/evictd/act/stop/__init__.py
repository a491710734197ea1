"""Ends the pods that were chosen: through the runtime, then through their cgroups; then removes what they left."""
