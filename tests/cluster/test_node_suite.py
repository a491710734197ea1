"""The pass criteria of Kubernetes' own node eviction suite, with the kubelet's eviction off and evictd (Standard) acting.

Of each scenario of `test/e2e_node/eviction_test.go` that needs a kubelet: pods are evicted in the order of their rank, those of
rank 0 never; the condition comes before the first eviction and goes again for good; each eviction has one event, with the starved
resource; a new pod starts afterwards. Amounts and periods are smaller. docs/parity.md names the two that
need no kubelet.
"""

import time
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

import pytest

from evictd.core.units.quantity import parse_quantity
from tests.cluster import objects
from tests.cluster.node import NAME, RealNode
from tests.cluster.objects import created
from tests.cluster.pressure import PRESSURES, written
from tests.cluster.side_by_side import (
    HIGH,
    MI,
    OFF,
    Json,
    Load,
    Recorded,
    daemon,
    disk,
    disruption_targets,
    events,
    files,
    kubelet_with,
    memory,
    pods,
    sleepers,
)
from tests.kube.waiting import eventually

pytestmark = [pytest.mark.cluster, pytest.mark.root]

BOUND = 120.0
CALM = 3.0
"""Seconds for which the condition has to stay away."""
TRANSITION = "3s"
OF_RESOURCE = {
    "memory": "EvictdMemoryPressure",
    "ephemeral-storage": "EvictdDiskPressure",
    "inodes": "EvictdDiskPressure",
    "pids": "EvictdPIDPressure",
}
INNOCENT = Load(name="innocent")


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """Pods with their rank: 2 goes before 1, and 0 never. `consumed` is what they may take before the threshold is met."""

    name: str
    signal: str = ""
    consumed: int = 0
    resource: str = ""
    ranks: dict[str, int]
    loads: tuple[Load, ...]
    first: int = 0
    """How many of them run before the others come: together they are not short. Else a pod of higher rank could start last."""
    config: Json = field(default_factory=dict)
    within_seconds: float = BOUND
    """From the first sight of the condition to the last eviction."""


def hog(name: str, mib: int, **fields: Any) -> Load:
    """A pod whose process holds memory of its own: what `tail` keeps is never read from it."""
    taken = mib * MI
    return Load(name=name, script=f"head -c {taken} /dev/zero | tail -c {taken} | sleep 3600", **fields)


def limits(amount: str, resource: str = "ephemeral-storage") -> Json:
    """The same request and limit: the class is Guaranteed for memory where cpu has them as well."""
    return {"requests": {resource: amount}, "limits": {resource: amount}}


SOFT = {"evictionMaxPodGracePeriod": 30, "evictionSoftGracePeriod": {"nodefs.available": "5s"}}
LIMIT = {"limits": {"ephemeral-storage": "100Mi"}, "requests": {"ephemeral-storage": "0"}}
"""Without the request a kubelet that enforces no limits itself does not admit the pod."""
SCENARIOS = (
    Scenario(
        name="PriorityLocalStorageEvictionOrdering",
        signal="nodefs.available",
        consumed=600 * MI,
        resource="ephemeral-storage",
        ranks={"best-effort": 2, "high-priority": 1, "guaranteed": 0},
        loads=(
            disk("best-effort", 560),
            disk("high-priority", 600, priority_class="high"),
            disk("guaranteed", 297, resources=limits("300Mi")),
        ),
        first=1,
    ),
    Scenario(
        name="InodeEviction",
        signal="nodefs.inodesFree",
        consumed=3000,
        resource="inodes",
        ranks={"volume-inode-hog": 1, "innocent": 0},
        loads=(files("volume-inode-hog", 5000), INNOCENT),
    ),
    Scenario(
        name="LocalStorageEviction",
        signal="nodefs.available",
        consumed=500 * MI,
        resource="ephemeral-storage",
        ranks={"container-disk-hog": 1, "innocent": 0},
        loads=(disk("container-disk-hog", 800), INNOCENT),
    ),
    Scenario(
        name="LocalStorageSoftEviction",
        signal="nodefs.available",
        consumed=500 * MI,
        resource="ephemeral-storage",
        ranks={"container-disk-hog": 1, "innocent": 0},
        loads=(disk("container-disk-hog", 800), INNOCENT),
        config=SOFT,
    ),
    Scenario(
        name="LocalStorageSoftEvictionNotOverwriteTerminationGracePeriodSeconds",
        signal="nodefs.available",
        consumed=500 * MI,
        resource="ephemeral-storage",
        ranks={"container-disk-hog": 1},
        loads=(disk("container-disk-hog", 800, place="", grace_seconds=3),),
        config=SOFT,
        within_seconds=5 + 3 + 15,
    ),
    Scenario(
        name="LocalStorageCapacityIsolationEviction",
        ranks={
            "emptydir-disk-sizelimit": 1,
            "container-disk-limit": 1,
            "container-emptydir-disk-limit": 1,
            "emptydir-memory-sizelimit": 0,
            "emptydir-disk-below-sizelimit": 0,
            "container-disk-below-sizelimit": 0,
        },
        loads=(
            disk("emptydir-disk-sizelimit", 101, size_limit="100Mi"),
            disk("container-disk-limit", 101, place="", resources=LIMIT),
            disk("container-emptydir-disk-limit", 101, resources=LIMIT),
            memory("emptydir-memory-sizelimit", 101, size_limit="100Mi"),
            disk("emptydir-disk-below-sizelimit", 99, size_limit="100Mi"),
            disk("container-disk-below-sizelimit", 99, place="", resources=LIMIT),
        ),
    ),
    Scenario(
        name="PriorityMemoryEvictionOrdering",
        signal="memory.available",
        consumed=1300 * MI,
        resource="memory",
        # Far apart: other programs of the machine take and give back memory meanwhile.
        ranks={"memory-hog": 2, "high-priority-memory-hog": 1, "guaranteed": 0},
        loads=(
            hog("memory-hog", 1600),
            hog("high-priority-memory-hog", 1600, priority_class="high"),
            hog("guaranteed", 200, resources=limits("300Mi", "memory")),
        ),
    ),
    Scenario(
        name="PriorityPidEvictionOrdering",
        signal="pid.available",
        consumed=800,
        resource="pids",
        ranks={"fork-bomb-with-low-priority": 2, "innocent": 0, "fork-bomb-with-high-priority": 1},
        loads=(
            sleepers("fork-bomb-with-low-priority", 1200),
            Load(name="innocent", priority_class="high"),
            sleepers("fork-bomb-with-high-priority", 1200, priority_class="high"),
        ),
    ),
)
IN_THE_GATE = "PriorityLocalStorageEvictionOrdering"


@pytest.mark.parametrize(
    "scenario",
    [
        pytest.param(each, id=each.name, marks=() if each.name == IN_THE_GATE else pytest.mark.side_by_side)
        for each in SCENARIOS
    ],
)
def test_the_suites_criteria_hold(real_node: RealNode, scenario: Scenario) -> None:
    """Evicted are the right pods in the right order; the node is calm afterwards, and starts pods."""
    eventually(lambda: not any(real_node.path("/var/lib/kubelet/pods").iterdir()), BOUND)
    kind = OF_RESOURCE.get(scenario.resource, "")
    own = kubelet_with(real_node, localStorageCapacityIsolation=False) if not scenario.signal else nullcontext()
    with own, created(real_node.plane.admin, HIGH), daemon(real_node, {}, **_config(real_node, scenario)) as recorded:
        eventually(lambda: "EvictdDiskPressure" in conditions(real_node), BOUND)
        first, others = scenario.loads[: scenario.first], scenario.loads[scenario.first :]
        with pods(real_node, first), pods(real_node, others, running=False):
            watched = Watched(real_node, scenario, kind)
            eventually(watched.look, BOUND)
            assert not watched.wrong
            _check_order(recorded, kind)
            for name in watched.victims:
                _check_event(real_node, scenario, name, watched)
            eventually(lambda: conditions(real_node).get(kind, "False") == "False", BOUND)
            ends = time.monotonic() + CALM
            while time.monotonic() < ends:
                assert conditions(real_node).get(kind, "False") == "False"
                watched.look()
                assert not watched.wrong
                time.sleep(0.2)
            with pods(real_node, [Load(name="test-admit-pod")]):
                pass


class Watched:
    """What is seen of a scenario's pods, look by look, and what was wrong in it."""

    def __init__(self, node: RealNode, scenario: Scenario, kind: str) -> None:
        self._node = node
        self._ranks = scenario.ranks
        self._kind = kind
        self._within = scenario.within_seconds
        self._pressure_at: float | None = None
        self.last: dict[str, Json] = {}
        self.wrong: list[str] = []

    @property
    def victims(self) -> list[str]:
        """The pods that have to go."""
        return [name for name, rank in self._ranks.items() if rank]

    def look(self) -> bool:
        """Look once; whether every pod that has to go is gone."""
        items = self._node.plane.admin.must("GET", objects.PODS)["items"]
        found = {each["metadata"]["name"]: each for each in items}
        if self._pressure_at is None and self._kind and conditions(self._node).get(self._kind) == "True":
            self._pressure_at = time.monotonic()
        self.last |= found
        going = {name for name in self._ranks if not _stays(found.get(name))}
        for name in going:
            before = {other for other, rank in self._ranks.items() if rank > self._ranks[name]} - going
            if before or not self._ranks[name]:
                self.wrong.append(f"{name} goes, and {before or 'it'} should not have stayed")
        gone = all(name not in found for name in self.victims)
        late = self._pressure_at is not None and time.monotonic() - self._pressure_at > self._within
        if late and not all(_ended(found.get(name)) for name in self.victims):
            self.wrong.append(f"not evicted {self._within} s after the condition")
        return gone


def _stays(pod: Json | None) -> bool:
    if pod is None or "deletionTimestamp" in pod["metadata"]:
        return False
    return pod["status"].get("phase") not in {"Failed", "Succeeded"}


def _ended(pod: Json | None) -> bool:
    """Whether its containers have ended, before the kubelet removes the object."""
    shown = [] if pod is None else pod["status"].get("containerStatuses", [])
    return pod is None or (bool(shown) and all("terminated" in each["state"] for each in shown))


def _check_order(recorded: Recorded, kind: str) -> None:
    """The condition is reported before the first eviction, or in the same cycle.

    Of the decisions: a pod that leaves no time for it is killed before the API server has answered the report.
    """
    decisions = [each for record in recorded.records() for each in record["decisions"]]
    reported = [
        number
        for number, each in enumerate(decisions)
        if each["kind"] == "ReportConditions" and kind.removeprefix("Evictd") in each["conditions"]
    ]
    evicted = [number for number, each in enumerate(decisions) if each["kind"] == "EvictPod"]
    assert not kind or reported[0] < evicted[0]


def _check_event(node: RealNode, scenario: Scenario, pod: str, watched: Watched) -> None:
    """Exactly one event with the annotations of the kubelet's; DisruptionTarget where it was pressure."""
    uid = watched.last[pod]["metadata"]["uid"]
    found = eventually(lambda: [each for each in events(node, pod) if each["involvedObject"]["uid"] == uid], BOUND)
    assert len(found) == 1
    shown = [each for each in watched.last[pod]["status"]["conditions"] if each["type"] == "DisruptionTarget"]
    # The API server sets it for an eviction that it agreed to, and evictd for others.
    assert bool(disruption_targets(node.plane, uid) or shown) is bool(scenario.signal)
    if not scenario.signal:
        return
    annotations = found[0]["metadata"]["annotations"]
    assert annotations["starved_resource"] == scenario.resource
    if scenario.resource == "memory":
        assert annotations["offending_containers"] == "main"
        assert parse_quantity(annotations["offending_containers_usage"]).value() > 0


def _config(node: RealNode, scenario: Scenario) -> Json:
    config: Json = {"evictionPressureTransitionPeriod": TRANSITION, "evictionHard": OFF}
    if not scenario.signal:
        return config
    limit = {scenario.signal: written(scenario.signal, PRESSURES[scenario.signal].available(node) - scenario.consumed)}
    if scenario.config:
        return {**config, "evictionSoft": limit, **scenario.config}
    return {**config, "evictionHard": {**OFF, **limit}}


def conditions(node: RealNode) -> dict[str, str]:
    """The node's conditions: their status by type."""
    found = node.plane.admin.must("GET", f"{objects.NODES}/{NAME}")["status"]["conditions"]
    return {each["type"]: each["status"] for each in found}
