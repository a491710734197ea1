"""Calls a container runtime by CRI v1 over a unix socket: `CriClient`, with the values of `evictd.clients.cri.values`."""

from evictd.clients.cri.channel import Pending
from evictd.clients.cri.client import CriClient

__all__ = ["CriClient", "Pending"]
