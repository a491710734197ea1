"""The kubelet's own eviction and evictd (policy Kubelet, dry run), side by side on one node, compared by program.

Each scenario lets both measure the pods first, then crosses the threshold with something that is no pod's, so that both decide on
the same figures: the kubelet measures volumes only once in `volumeStatsAggPeriod`. The kubelet is suspended until evictd has
decided: its victim would be gone before evictd has ranked it. docs/parity.md lists what differs.
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import pytest

from evictd.codec.records.journal_record import decode_record
from evictd.commands.inputs.journals import journal_files, read_journals
from evictd.core.units.quantity import parse_quantity
from evictd.render.history.history import history
from evictd.render.history.kubelet_comparison import ChosenBy, compare_with_kubelet
from evictd_testnode.binaries import Binaries
from tests.cluster import objects, processes
from tests.cluster.binaries import Missing, find
from tests.cluster.control_plane import ControlPlane
from tests.cluster.node import NAME, PROGRAMS, RealNode
from tests.cluster.objects import created
from tests.cluster.pressure import PRESSURES, written
from tests.cluster.side_by_side import (
    HIGH,
    MI,
    NEARLY_ALL,
    OFF,
    Json,
    Load,
    Recorded,
    Resize,
    all_measured,
    daemon,
    disk,
    events,
    evicted_events,
    files,
    kubelet_with,
    memory,
    pods,
    resize,
    sleepers,
    status_of,
)
from tests.kube.waiting import eventually

pytestmark = [pytest.mark.cluster, pytest.mark.root, pytest.mark.side_by_side]

_AMOUNT = re.compile(r"(available: |was using )(\w+)")
_ATTEMPTS = 3
"""For limits of pods: both measure them every 10 s, and the pod of the one that measures first is gone for the other."""
BLOCK = 4096
QUICK = {"volumeStatsAggPeriod": "1s", "evictionPressureTransitionPeriod": "30s"}
"""The condition stays until the kubelet has written it, which it does every 10 s."""
OFTEN = "--housekeeping-interval=1s"
DRY_RUN = {"decisionPolicy": "Kubelet", "dryRun": True}
BUILT_IN = {"MemoryPressure", "DiskPressure", "PIDPressure"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """Pods, the signal they share, what is short in the end, and the victims in their order."""

    name: str
    signal: str
    loads: tuple[Load, ...]
    victims: tuple[str, ...]
    short: int = 0
    soft: bool = False
    image_disk: bool = False
    resizes: Mapping[str, Resize] = field(default_factory=dict)
    """What is asked for in place before the signal is short, by pod."""
    kubelet: Json = field(default_factory=dict)
    """More fields of the kubelet's configuration."""
    usage_apart: int = BLOCK
    """By how much the usage of the victim may differ."""


def requests(resource: str, amount: str) -> Json:
    """Requests of one resource."""
    return {"requests": {resource: amount}}


SCENARIOS = (
    Scenario(
        name="nodefs: priority, then usage above the request",
        signal="nodefs.available",
        loads=(
            disk("requested", 500, resources=requests("ephemeral-storage", "600Mi")),
            disk("small", 100),
            disk("large", 450),
            disk("important", 480, priority_class="high"),
        ),
        victims=("large", "small"),
        short=500 * MI,
    ),
    Scenario(
        name="nodefs: soft, after its grace period",
        signal="nodefs.available",
        loads=(disk("small", 100), disk("large", 450)),
        victims=("large",),
        short=200 * MI,
        soft=True,
    ),
    Scenario(
        name="nodefs inodes",
        signal="nodefs.inodesFree",
        loads=(files("few", 500), files("many", 4000)),
        victims=("many",),
        short=2000,
    ),
    Scenario(
        name="imagefs on a disk of its own",
        signal="imagefs.available",
        loads=(
            disk("small", 100, place=""),
            disk("large", 300, place=""),
            disk("important", 320, place="", priority_class="high"),
        ),
        victims=("large",),
        short=200 * MI,
        image_disk=True,
    ),
    Scenario(
        name="memory: priority, then usage above the request",
        signal="memory.available",
        loads=(
            memory("requested", 500, resources=requests("memory", "600Mi")),
            memory("small", 300),
            memory("large", 600),
            memory("important", 650, priority_class="high"),
        ),
        victims=("large", "small"),
        short=750 * MI,
        usage_apart=64 << 10,
    ),
    Scenario(
        name="memory: allocated requests, after resizes that are granted and deferred",
        signal="memory.available",
        loads=(
            memory("granted", 650, resources=requests("memory", "64Mi")),
            memory("greedy", 500, resources=requests("memory", "64Mi")),
            memory("honest", 300, resources=requests("memory", "100Mi")),
        ),
        resizes={"granted": Resize(memory="800Mi"), "greedy": Resize(memory=NEARLY_ALL, answer="Deferred")},
        victims=("greedy",),
        short=200 * MI,
        usage_apart=64 << 10,
    ),
    Scenario(
        name="memory: allocated requests, after a resize that is infeasible",
        signal="memory.available",
        loads=(
            memory("guaranteed", 500, resources={"limits": {"cpu": "100m", "memory": "600Mi"}}),
            memory("honest", 300, resources=requests("memory", "100Mi")),
        ),
        # What is asked for would make it the first victim.
        resizes={"guaranteed": Resize(memory="128Mi", cpu="200m", answer="Infeasible")},
        kubelet={"cpuManagerPolicy": "static", "kubeReserved": {"cpu": "500m"}},
        victims=("honest",),
        short=200 * MI,
        usage_apart=64 << 10,
    ),
    Scenario(
        name="PIDs: priority, then processes",
        signal="pid.available",
        loads=(sleepers("few", 100), sleepers("many", 800), sleepers("important", 900, priority_class="high")),
        victims=("many",),
        short=400,
    ),
    Scenario(
        name="local limits: emptyDir and container",
        signal="",
        loads=(
            disk("volume", 60, size_limit="32Mi"),
            disk("container", 60, place="", resources={"limits": {"ephemeral-storage": "32Mi"}}),
            disk("within", 20, size_limit="32Mi"),
        ),
        victims=("container", "volume"),
    ),
)


@pytest.fixture(scope="module")
def image_disk_node(binaries: Binaries) -> Iterator[RealNode]:
    """A node whose containerd is on a disk of its own."""
    programs = find(*PROGRAMS)
    if isinstance(programs, Missing):
        pytest.skip(str(programs))
    with (
        processes.folder() as folder,
        ControlPlane(folder, programs) as plane,
        RealNode(plane, programs, binaries, image_disk=True) as node,
    ):
        yield node


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_victims_messages_annotations_and_conditions_are_the_kubelets(
    request: pytest.FixtureRequest, scenario: Scenario
) -> None:
    """The victims of each crossing in their order, the first one's message and annotations, and the node's conditions."""
    node: RealNode = request.getfixturevalue("image_disk_node" if scenario.image_disk else "real_node")
    with created(node.plane.admin, HIGH):
        found = next((made for _ in range(_ATTEMPTS) if (made := compared(node, scenario)) is not None), None)
    assert found is not None, "the kubelet has looked first each time"
    assert found == []


def compared(node: RealNode, scenario: Scenario) -> list[str] | None:
    """Run a scenario and list what differs; `None` where the kubelet has evicted for a limit before evictd did."""
    eventually(lambda: not any(node.path("/var/lib/kubelet/pods").iterdir()), 120)  # the last scenario's disk is free
    for event in evicted_events(node):
        objects.remove(node.plane.admin, f"/api/v1/namespaces/default/events/{event['metadata']['name']}")
    pressure = PRESSURES.get(scenario.signal)
    config: Json = {**QUICK, **scenario.kubelet, "evictionHard": OFF}
    if pressure is None:
        config["volumeStatsAggPeriod"] = "20s"  # evictd measures pods with a limit every 10 s
        with (
            kubelet_with(node, **config),
            daemon(node, DRY_RUN, OFTEN, **config) as recorded,
            pods(node, scenario.loads),
        ):
            return _differences(node, scenario, recorded)
    assert node.kubelet is not None
    threshold = pressure.available(node) - sum(load.least for load in scenario.loads) - pressure.margin
    limit = {scenario.signal: written(scenario.signal, threshold)}
    grace = {"evictionSoftGracePeriod": {scenario.signal: "12s"}, "evictionMaxPodGracePeriod": 1}
    config |= {"evictionSoft": limit, **grace} if scenario.soft else {"evictionHard": {**OFF, **limit}}
    with kubelet_with(node, **config), pods(node, scenario.loads):
        eventually(lambda: all_measured(node, scenario.loads), 120)
        resize(node, scenario.resizes)
        with daemon(node, DRY_RUN, OFTEN, **config) as recorded:
            eventually(recorded.records, 120)  # it has looked once, and measures the pods
            # Not the margin: on a busy machine what is available has changed by hundreds of MiB since the threshold was set.
            amount = pressure.available(node) - threshold + scenario.short
            with ExitStack() as stack:
                with node.kubelet.suspended():
                    stack.enter_context(pressure.taken(node, amount))
                    eventually(lambda: decisions(recorded), 120)
                return _differences(node, scenario, recorded)


def _differences(node: RealNode, scenario: Scenario, recorded: Recorded) -> list[str] | None:
    wanted = len(scenario.victims)
    eventually(lambda: len(evicted_events(node)) >= wanted, 120)
    made = decisions(recorded)
    if not scenario.signal and len(made) < wanted:
        return None
    victims = [each["involvedObject"]["name"] for each in evicted_events(node)]
    found = []
    if scenario.signal:
        named, order = victims[:1], ranked(recorded)
        eventually(lambda: pressure_of(node), 120)
        if pressure_of(node) != reported(recorded):
            found.append(f"conditions: kubelet {pressure_of(node)}, evictd {reported(recorded)}")
    else:
        victims, order = sorted(victims), sorted(made)
        named = victims
    if not (victims == list(scenario.victims) == order[:wanted]):
        found.append(f"victims: kubelet {victims}, evictd {order}, expected {scenario.victims}")
        return found
    pressure = PRESSURES.get(scenario.signal)
    available = 0 if pressure is None else pressure.apart + (scenario.short if pressure.gradual else 0)
    apart = {"available: ": available, "was using ": scenario.usage_apart}
    for pod in named:
        evictd = made[pod]
        found += [
            f"{pod}: {name}: kubelet {value!r}, evictd {evictd.get(name)!r}"
            for name, value in _of_kubelet(node, pod).items()
            if not _alike(value, evictd.get(name), apart)
        ]
    eventually(lambda: {f"default/{pod}" for pod in named} <= chosen_by_both(recorded), 120)
    return found


def chosen_by_both(recorded: Recorded) -> set[str]:
    """The pods that `evictd history --compare-kubelet` shows as the kubelet's and evictd's."""
    if not recorded.records():
        return set()
    rows = compare_with_kubelet(list(history(read_journals(journal_files(recorded.state), decode_record))))
    return {row.pod for row in rows if row.chosen_by is ChosenBy.BOTH}


def pressure_of(node: RealNode) -> set[str]:
    """The node's pressure conditions, by the kubelet."""
    shown = node.plane.admin.must("GET", f"{objects.NODES}/{NAME}")["status"]["conditions"]
    return {each["type"] for each in shown if each["type"] in BUILT_IN and each["status"] == "True"}


def reported(recorded: Recorded) -> set[str]:
    """The conditions that evictd would have reported last."""
    made = [each["conditions"] for record in recorded.records() for each in record["decisions"] if "conditions" in each]
    return set(made[-1])


def ranked(recorded: Recorded) -> list[str]:
    """The order of eviction when evictd first chose a pod."""
    found = [each["rows"] for record in recorded.records() for each in record["findings"] if each["kind"] == "Ranking"]
    return [row["name"] for row in found[0]]


def _alike(kubelet: Any, evictd: Any, apart: dict[str, int]) -> bool:
    """Compare two texts, or annotations; amounts may differ by what `apart` allows to the words before them."""
    if isinstance(kubelet, dict) and isinstance(evictd, dict):
        used = "offending_containers_usage"
        texts = [each | {used: f"was using {each[used]}"} if each.get(used) else each for each in (kubelet, evictd)]
        return texts[0].keys() == texts[1].keys() and all(
            _alike(value, texts[1][name], apart) for name, value in texts[0].items()
        )
    if not isinstance(kubelet, str) or not isinstance(evictd, str):
        return bool(kubelet == evictd)
    amounts = [
        [(words, parse_quantity(text).value()) for words, text in _AMOUNT.findall(each)] for each in (kubelet, evictd)
    ]
    near = all(abs(one - other) <= apart[words] for (words, one), (_, other) in zip(*amounts, strict=False))
    return near and _AMOUNT.sub(r"\1", kubelet) == _AMOUNT.sub(r"\1", evictd)


def _of_kubelet(node: RealNode, pod: str) -> Json:
    eventually(lambda: "reason" in status_of(node, pod), 120)  # the event comes first
    status = status_of(node, pod)
    targets = [each["message"] for each in status["conditions"] if each["type"] == "DisruptionTarget"]
    return {
        "reason": status["reason"],
        "message": status["message"],
        "condition": targets[0] if targets else None,
        "annotations": events(node, pod)[-1]["metadata"].get("annotations", {}),
    }


def decisions(recorded: Recorded) -> dict[str, Json]:
    """Evictd's first decision about each pod in the terms of the kubelet's objects; later ones see what the kubelet has done."""
    made: dict[str, Json] = {}
    for record in recorded.records():
        for each in record["decisions"]:
            if each["kind"] == "EvictPod":
                decided = {
                    "reason": "Evicted",
                    "message": each["message"],
                    "condition": (each.get("condition") or {}).get("message"),
                    "annotations": each["annotations"],
                }
                made.setdefault(each["pod"]["name"], decided)
    return made
