"""Provides the node that most stories share.

`EVICTD_STORY_TIMES=FOLDER`: each story leaves its times there, for the report of `make e2e-soak`.
"""

import json
import os
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from evictd_testnode.node import DisposableNode
from tests.conftest import NodeFactory
from tests.e2e.story import DISK, Story
from tests.kube.waiting import eventually

_DRIFT = 4 << 20
"""By how many bytes the runtime's own files grow in a story."""


@pytest.fixture(scope="module")
def disk_node(make_module_node: NodeFactory) -> DisposableNode:
    """One node with a small disk for all stories of a module that leave its images alone."""
    return make_module_node(node_disk=DISK)


@pytest.fixture
def small(disk_node: DisposableNode) -> Iterator[DisposableNode]:
    """That node, empty before and after; the next story computes what to write from what is free."""
    before = _free(disk_node)
    yield disk_node
    disk_node.remove_all_pods()
    (disk_node.kubelet_folder / "ballast").unlink(missing_ok=True)
    eventually(lambda: _free(disk_node) > before - _DRIFT)


def _free(node: DisposableNode) -> int:
    found = os.statvfs(node.kubelet_folder)
    return found.f_bavail * found.f_frsize


@pytest.fixture(autouse=True)
def story_times(request: pytest.FixtureRequest) -> Iterator[None]:
    Story.ended.clear()
    yield
    folder = os.environ.get("EVICTD_STORY_TIMES", "")
    if folder and Story.ended:
        noted = {"story": request.node.name, **Story.ended[-1]}
        (Path(folder) / f"{uuid.uuid4()}.json").write_text(json.dumps(noted))
