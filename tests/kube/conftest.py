"""The API server double as a fixture."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.kube.api_server import ApiServer
from tests.kube.objects import node


@pytest.fixture
def api(tmp_path: Path) -> Iterator[ApiServer]:
    """A running API server with the recorded node `n1` in it."""
    with ApiServer(tmp_path) as server:
        server.store.create("nodes", node())
        yield server
