"""Taints on the real server: `spec.taints` is one value there, so whoever writes it carries everyone else's entries."""

import random
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from evictd.clients.kube.credentials import Credentials
from evictd.clients.kube.nodes import NodeClient
from evictd.clients.kube.transport import Transport
from evictd.core.model.signal import NodeCondition
from tests.cluster import objects
from tests.cluster.control_plane import ControlPlane
from tests.cluster.rig import Rig
from tests.kube.admin import Admin

pytestmark = pytest.mark.cluster

MEMORY, DISK = NodeCondition.MEMORY_PRESSURE, NodeCondition.DISK_PRESSURE
OWN = "evictd.io/memory-pressure"
FOREIGN = [
    {"key": "dedicated", "value": "gpu", "effect": "NoSchedule"},
    {"key": "maintenance", "effect": "NoExecute", "timeAdded": "2026-11-21T02:00:00Z"},
    {"key": "evictd.io/memory-pressure", "value": "by-hand", "effect": "NoExecute"},
]
ROUNDS = 1000

Taint = dict[str, str]


@pytest.fixture
def node(control_plane: ControlPlane) -> Iterator[str]:
    with objects.node(control_plane.admin, taints=FOREIGN) as path:
        yield path


def taints(admin: Admin, path: str) -> list[Taint]:
    found: list[Taint] = admin.must("GET", path)["spec"].get("taints", [])
    return found


def is_own(taint: Taint) -> bool:
    return taint["key"].startswith("evictd.io/") and taint["effect"] == "NoSchedule"


def others(found: list[Taint]) -> list[Taint]:
    return sorted((taint for taint in found if not is_own(taint)), key=lambda each: (each["key"], each["effect"]))


def test_a_taint_is_added_and_removed_beside_foreign_ones(
    control_plane: ControlPlane, real_transport: Transport, node: str
) -> None:
    """Other keys, other effects and a value that somebody gave stay as they are."""
    rig = Rig(real_transport)
    rig.report(MEMORY)
    found = taints(control_plane.admin, node)
    assert [taint["key"] for taint in found if is_own(taint)] == [OWN]
    assert others(found) == others(FOREIGN)
    rig.report()
    assert others(found) == others(FOREIGN) == others(taints(control_plane.admin, node))
    assert not any(is_own(taint) for taint in taints(control_plane.admin, node))
    assert not rig.reporter.problems


@pytest.mark.parametrize("enabled", [True, False], ids=["taints on", "taints off"])
def test_taints_of_an_earlier_crash_are_removed(
    control_plane: ControlPlane, real_transport: Transport, node: str, enabled: bool
) -> None:
    """Also where the next life does not write taints any more."""
    Rig(real_transport).report(MEMORY, DISK)
    assert sum(is_own(taint) for taint in taints(control_plane.admin, node)) == 2
    Rig(real_transport, taints=enabled).report()
    assert taints(control_plane.admin, node) == FOREIGN


def test_a_taint_that_could_not_be_removed_is_tried_again(
    control_plane: ControlPlane, real_transport: Transport, node: str
) -> None:
    """A role that is taken away and bound again: no restart is needed."""
    rig = Rig(real_transport)
    rig.report(MEMORY)
    user = Transport(Credentials(str(control_plane.kubeconfig("node"))))  # NodeRestriction forbids taints to a node
    try:
        forbidden = Rig(user)
        forbidden.report()
        assert any(is_own(taint) for taint in taints(control_plane.admin, node))
        assert len(forbidden.reporter.problems) == 1
        forbidden.reporter._client = NodeClient(real_transport, "n1")
        forbidden.driver.run(forbidden.queue, 180)
    finally:
        user.close()
    assert taints(control_plane.admin, node) == FOREIGN
    assert not forbidden.reporter.problems


class Writer(threading.Thread):
    """Changes foreign taints, the cordon and labels again and again, and sees that nobody else changed them."""

    def __init__(self, admin: Admin, path: str) -> None:
        super().__init__(name="other-writer")
        self.admin, self.path = admin, path
        self.stop = threading.Event()
        self.writes = self.conflicts = 0
        self.harm: list[str] = []
        self._random = random.Random(12)
        self._mine: tuple[list[Taint], bool] = (others(FOREIGN), False)

    def run(self) -> None:
        while not self.stop.wait(self._random.uniform(0, 0.004)):
            spec, version = self._read()
            mine: list[Taint] = [taint for taint in FOREIGN if self._random.random() < 0.5]
            mine.append({"key": "count", "value": str(self.writes), "effect": "NoSchedule"})
            cordon = self._random.random() < 0.5
            own = [taint for taint in spec.get("taints", []) if is_own(taint)]
            body = {
                "metadata": {"resourceVersion": version, "labels": {"writes": str(self.writes)}},
                "spec": {"taints": [*mine, *own], "unschedulable": cordon},
            }
            status = self.admin.request("PATCH", self.path, body).status
            assert status in {200, 409}
            self.conflicts += status == 409
            if status == 200:
                self.writes += 1
                self._mine = others(mine), cordon

    def _read(self) -> tuple[dict[str, Any], str]:
        node = self.admin.must("GET", self.path)
        self.look(node["spec"])
        return node["spec"], node["metadata"]["resourceVersion"]

    def look(self, spec: dict[str, Any]) -> None:
        """Note every difference from what was written last."""
        found = others(spec.get("taints", [])), spec.get("unschedulable", False)
        if found != self._mine:
            self.harm.append(f"{self._mine} became {found}")


@pytest.mark.timeout(900)
def test_a_thousand_rounds_under_another_writers_edits(
    control_plane: ControlPlane, real_transport: Transport, node: str
) -> None:
    """Added and removed each time; not one foreign taint, cordon or NoExecute is lost or brought back."""
    other = control_plane.client("other")
    writer = Writer(other, node)
    rig = Rig(real_transport)
    writer.start()
    try:
        for number in range(ROUNDS):
            active = [MEMORY] if number % 2 == 0 else []
            rig.reporter.report(active, rig.driver.now)
            for _ in range(100):
                rig.driver.run(rig.queue, 1)
                if not rig.reporter.pending:
                    break
            shown = {taint["key"] for taint in taints(control_plane.admin, node) if is_own(taint)}
            assert shown == ({OWN} if active else set()), f"round {number}: {rig.queue.problem}"
            assert not writer.harm
    finally:
        writer.stop.set()
        writer.join()
        other.close()
    spec = control_plane.admin.must("GET", node)["spec"]
    writer.look(spec)
    assert not writer.harm
    assert writer.writes > ROUNDS / 10
    assert writer.conflicts > 0
