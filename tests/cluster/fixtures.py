"""Fixtures on the session's real control plane and real node (`tests/conftest.py`)."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from evictd.clients.kube.credentials import Credentials
from evictd.clients.kube.transport import Transport
from evictd_testnode.binaries import default_cache
from tests.cluster.control_plane import ControlPlane
from tests.cluster.deployed import condition
from tests.cluster.node import NAME, RealNode
from tests.cluster.objects import NODES
from tests.kube.waiting import eventually
from tools import debs
from tools.image import write_image

LEASE = f"/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/{NAME}"


@pytest.fixture
def real_transport(control_plane: ControlPlane) -> Iterator[Transport]:
    """A transport of evictd to the real server, as its administrator."""
    made = Transport(Credentials(str(control_plane.kubeconfig())))
    yield made
    made.close()


@pytest.fixture(scope="session")
def image_archive(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The image that `make release` makes of this source, for this architecture alone; or the file `$EVICTD_IMAGE`."""
    if given := os.environ.get("EVICTD_IMAGE"):
        yield Path(given)
        return
    archive = tmp_path_factory.mktemp("image") / "evictd.tar"
    write_image(default_cache(), archive, debs.available(default_cache(), ["amd64"]))
    yield archive
    archive.unlink()


@pytest.fixture(scope="session")
def image_node(real_node: RealNode, image_archive: Path) -> RealNode:
    """The real node with evictd's image."""
    real_node.ctr("images", "import", str(image_archive))
    eventually(lambda: condition(real_node.plane.admin.must("GET", f"{NODES}/{NAME}"), "Ready") == "True", 120)
    # A young node is ready before the kubelet has made its lease, which evictd reads.
    eventually(lambda: real_node.plane.admin.request("GET", LEASE).status == 200, 120)
    return real_node
