"""The API server double, as in `tests/kube`."""

from tests.kube.fixtures import api, transport

__all__ = ["api", "transport"]
