"""The API server double, for commands that reach one."""

from tests.kube.fixtures import api, transport

__all__ = ["api", "transport"]
