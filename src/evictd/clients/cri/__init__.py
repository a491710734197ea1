"""CRI v1 over a unix socket: `CriClient`, and the values that it answers with (`evictd.clients.cri.values`)."""

from evictd.clients.cri.channel import Pending
from evictd.clients.cri.client import CriClient

__all__ = ["CriClient", "Pending"]
