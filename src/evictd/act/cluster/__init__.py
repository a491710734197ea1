"""Acts through an API server: conditions, taints, events, evictions, and the deletion of pods that evictions left as Failed.

`wiring.build` builds the parts, `actuator` performs decisions with them. A node without an API server imports only
`actuator`, which loads nothing of the API's client.
"""
