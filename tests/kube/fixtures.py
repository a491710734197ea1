"""Provides the API server double, or the real one, and a transport to it as fixtures."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from evictd.clients.kube.credentials import Credentials
from evictd.clients.kube.transport import Transport
from tests.kube.api import Api
from tests.kube.api_server import ApiServer
from tests.kube.objects import node

clock = time.monotonic_ns


@pytest.fixture
def api(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Api]:
    """A running API server with the recorded node `n1`: the double, or both servers if the test allows it (`tests.kube.api`)."""
    if getattr(request, "param", "double") == "real":
        yield from _real(request)
        return
    with ApiServer(tmp_path) as server:
        server.store.create("nodes", node())
        yield server


def _real(request: pytest.FixtureRequest) -> Iterator[Api]:
    from tests.cluster import objects
    from tests.cluster.real_api import RealApi

    plane = request.getfixturevalue("control_plane")
    with objects.created(plane.admin, objects.service_account("default", "default")):
        server = RealApi(plane)
        server.clean()
        server.store.create("nodes", node())
        server.forget_requests()
        yield server
        server.close()


@pytest.fixture
def transport(api: Api) -> Iterator[Transport]:
    """A transport with a token."""
    made = Transport(Credentials(str(api.kubeconfig())))
    yield made
    made.close()
