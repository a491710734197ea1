"""The API server double and a transport to it, as fixtures."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from evictd.clients.kube.credentials import Credentials
from evictd.clients.kube.transport import Transport
from tests.kube.api_server import ApiServer
from tests.kube.objects import node

clock = time.monotonic_ns


@pytest.fixture
def api(tmp_path: Path) -> Iterator[ApiServer]:
    """A running API server with the recorded node `n1` in it."""
    with ApiServer(tmp_path) as server:
        server.store.create("nodes", node())
        yield server


@pytest.fixture
def transport(api: ApiServer) -> Iterator[Transport]:
    """A transport with a token, and short patience."""
    made = Transport(Credentials(str(api.kubeconfig())), connect_seconds=5, read_seconds=5)
    yield made
    made.close()
