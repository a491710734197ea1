"""Calls a container runtime by CRI v1 over a unix socket (`client.CriClient`), with the values of `values`."""
