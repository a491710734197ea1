"""The fixtures of this folder."""

from tests.kube.fixtures import api, transport

__all__ = ["api", "transport"]
