"""The points where the kubelet's documentation and its code part ways (docs/parity.md), each shown once.

Where a point is decided in the core, or by the configuration, it is shown here, under both policies if they differ. Points that
belong to the shell (collectors, termination, metrics, signals of the kernel) are shown by the tests that shown_by.md names;
the last tests here hold that page to what exists.
"""

import ast
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from evictd.clients.cri.channel import Channel
from evictd.clients.cri.client import CriClient
from evictd.codec.config.kubelet_config import eviction_config
from evictd.codec.pods.pod import decode_pod
from evictd.codec.scenario import decode_scenario
from evictd.commands.inputs.source import own_config
from evictd.config.file import load
from evictd.core.eviction.admission import admit
from evictd.core.eviction.choice.evict import policy_minimum_grace_seconds
from evictd.core.eviction.rank import rank
from evictd.core.eviction.reclaim import Layout, node_reclaim_actions
from evictd.core.eviction.synchronize import synchronize
from evictd.core.model.config import EvictionConfig, Policy
from evictd.core.model.decision import EvictPod, ReclaimNode
from evictd.core.model.finding import Finding, NoAction, NoActionReason, Ranking, ThresholdFinding
from evictd.core.model.observation import Filesystems, Observation, Outcomes, SignalObservation
from evictd.core.model.pod import Pod
from evictd.core.model.signal import NodeCondition, Signal
from evictd.core.model.state import State
from evictd.core.model.stats import FsStats, MemoryStats, NodeStats, PodStats
from evictd.core.model.threshold import Origin, ThresholdValue, is_met
from evictd.core.model.threshold_config import DEFAULT_EVICTION_HARD
from evictd.core.units.duration import MINUTE, SECOND
from evictd.core.units.quantity import NANO, of_count, parse_quantity
from evictd.errors import InputError
from evictd.simulation import SimulatedCycle, simulate

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "parity.md"
SHOWN_BY = ROOT / "tests" / "parity" / "shown_by.md"
"""The tests of each row of the page: no reader of the documentation looks for them."""
GI, MI = 2**30, 2**20
STANDARD, KUBELET = Policy.STANDARD, Policy.KUBELET
NO_COPY = {"enforceNodeAllocatable": ["none"]}
BOTH = pytest.mark.parametrize("policy", Policy)


def differs(standard: object, kubelet: object) -> pytest.MarkDecorator:
    """Parametrise with what each policy comes to."""
    return pytest.mark.parametrize(
        ("policy", "expected"), [(STANDARD, standard), (KUBELET, kubelet)], ids=["Standard", "Kubelet"]
    )


def pod(name: str, *, priority: int = 0, requests: Mapping[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    container = {"name": "main", "resources": {"requests": dict(requests or {})}}
    return {
        "metadata": {"name": name, "namespace": "default", "uid": name},
        "spec": {"priority": priority, "containers": [container], **spec},
    }


def usage(name: str, **fields: Any) -> dict[str, Any]:
    return {"podRef": {"name": name, "namespace": "default", "uid": name}, **fields}


MEASURED = [usage("a", memory={"workingSetBytes": MI})]


def memory(available: int) -> dict[str, Any]:
    return {"memory": {"availableBytes": available, "workingSetBytes": 8 * GI - available}}


def disk(available: int, inodes: int = 10**6) -> dict[str, Any]:
    fs = {"availableBytes": available, "capacityBytes": 100 * GI, "inodesFree": inodes, "inodes": 10**7}
    return {"fs": fs, "runtime": {"imageFs": fs, "containerFs": fs}}


def play(
    policy: Policy,
    config: Mapping[str, Any],
    pods: Sequence[dict[str, Any]],
    steps: Sequence[dict[str, Any]],
    **more: Any,
) -> list[SimulatedCycle]:
    scenario = decode_scenario({"config": {**NO_COPY, **config}, "pods": list(pods), "steps": list(steps), **more})
    return list(simulate(scenario, own_config(scenario, policy)))


def step(at: str, node: Mapping[str, Any], pods: Sequence[dict[str, Any]], **more: Any) -> dict[str, Any]:
    return {"at": at, "summary": {"node": node, "pods": list(pods)}, **more}


def findings(cycle: SimulatedCycle) -> list[Finding]:
    return [finding for turn in cycle.turns for finding in turn.step.findings]


def evicted(cycle: SimulatedCycle) -> list[str]:
    return [decision.pod.name for decision in cycle.decisions if isinstance(decision, EvictPod)]


def silences(cycle: SimulatedCycle) -> list[NoActionReason]:
    return [finding.why for finding in findings(cycle) if isinstance(finding, NoAction)]


# --- reclaim, grace, configuration ------------------------------------------------------------------------------------


@differs(["containers"], [])
def test_point_01_nodefs_beside_a_dedicated_imagefs(policy: Policy, expected: list[str]) -> None:
    """Documented: dead pods and containers go first. The kubelet goes straight to the pods."""
    actions = node_reclaim_actions(Signal.NODEFS_AVAILABLE, Layout.DEDICATED, EvictionConfig(policy=policy))
    assert [action.value for action in actions] == expected


@differs(0, 2)
def test_point_02_a_hard_eviction_is_not_without_grace(policy: Policy, expected: int) -> None:
    """Documented: 0 s. One second is decided by either; the kubelet then gives each container two at least, Standard no more."""
    cycle = play(policy, {"evictionHard": {"memory.available": "1Gi"}}, [pod("a")], [step("0s", memory(MI), MEASURED)])[
        0
    ]
    (decision,) = (one for one in cycle.decisions if isinstance(one, EvictPod))
    assert decision.grace_period_seconds == 1
    assert policy_minimum_grace_seconds(policy) == expected


@differs(45, -1)
def test_point_03_a_negative_maximum_grace(policy: Policy, expected: int) -> None:
    """Documented: the pod's own grace period. The kubelet's `min` picks the negative number."""
    config = {
        "evictionSoft": {"memory.available": "1Gi"},
        "evictionSoftGracePeriod": {"memory.available": "1s"},
        "evictionHard": {},
        "evictionMaxPodGracePeriod": -1,
    }
    steps = [step(at, memory(MI), MEASURED) for at in ("0s", "10s")]
    cycle = play(policy, config, [pod("a", terminationGracePeriodSeconds=45)], steps)[1]
    (decision,) = (one for one in cycle.decisions if isinstance(one, EvictPod))
    assert decision.grace_period_seconds == expected


def test_point_05_the_default_has_five_entries() -> None:
    assert sorted(DEFAULT_EVICTION_HARD) == [
        "imagefs.available",
        "imagefs.inodesFree",
        "memory.available",
        "nodefs.available",
        "nodefs.inodesFree",
    ]
    assert DEFAULT_EVICTION_HARD["imagefs.inodesFree"] == "5%"


def test_point_06_defaults_apply_only_to_a_file(tmp_path: Path) -> None:
    assert load(None).eviction.thresholds == ()
    file = tmp_path / "config.yaml"
    file.write_text("apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n")
    own = [t for t in load(file).eviction.thresholds if t.origin is not Origin.DERIVED]
    assert len(own) == 5


def test_point_07_merging_covers_only_hard_thresholds() -> None:
    fields = {"mergeDefaultEvictionSettings": True, "evictionHard": {"memory.available": "1Gi"}}
    config = eviction_config({**fields, **NO_COPY}, policy=STANDARD)
    assert len(config.thresholds) == 5
    assert all(threshold.hard and threshold.min_reclaim is None for threshold in config.thresholds)


@BOTH
def test_point_08_a_transition_period_of_zero_reports_nothing(policy: Policy) -> None:
    config = {"evictionHard": {"memory.available": "1Gi"}, "evictionPressureTransitionPeriod": "0s"}
    cycle = play(policy, config, [pod("a")], [step("0s", memory(MI), MEASURED)])[0]
    assert cycle.state.node_conditions == ()
    assert evicted(cycle) == ["a"]


@pytest.mark.parametrize(
    ("text", "kept", "met"),
    [("0%", False, False), ("100%", False, False), ("0.0%", True, False), ("100.0%", True, True)],
)
def test_point_09_only_two_texts_switch_a_threshold_off(text: str, kept: bool, met: bool) -> None:
    fields = {"evictionHard": {"pid.available": text}, **NO_COPY}
    thresholds = eviction_config(fields, policy=STANDARD).thresholds
    assert bool(thresholds) is kept
    nearly_all = SignalObservation(available=of_count(999), capacity=of_count(1000))
    assert any(is_met(threshold, nearly_all) for threshold in thresholds) is met


@pytest.mark.parametrize(("percent", "capacity", "limit"), [("1%", 1000, 9), ("10%", 100 * GI, 10 * GI + 160)])
def test_point_10_percentages_are_single_precision(percent: str, capacity: int, limit: int) -> None:
    config = eviction_config({"evictionHard": {"pid.available": percent}, **NO_COPY}, policy=STANDARD)
    value: ThresholdValue = config.thresholds[0].value
    assert value.resolve(of_count(capacity)).value() == limit


# --- ranking ----------------------------------------------------------------------------------------------------------


@differs("leak", "important")
def test_point_11_a_pod_without_stats(policy: Policy, expected: str) -> None:
    """The kubelet ranks it first, whatever its priority: a missing reading costs an innocent pod."""
    pods = [pod("important", priority=10**6, requests={"memory": "4Gi"}), pod("leak")]
    cycle = play(
        policy,
        {"evictionHard": {"memory.available": "1Gi"}},
        pods,
        [step("0s", memory(MI), [usage("leak", memory={"workingSetBytes": 2 * GI})])],
    )[0]
    assert evicted(cycle) == [expected]


@differs([["high"], ["many"], []], [["many"], ["few"], ["high"]])
def test_point_12_pid_pressure_is_priority_then_processes(policy: Policy, expected: list[list[str]]) -> None:
    """By law Need the 43 processes of both others, of lower priority, are not lost in vain where 90 are missing."""
    pods = [pod("high", priority=5), pod("few"), pod("many")]
    node = {"rlimit": {"maxpid": 1000, "curproc": 990}}
    counts = {"high": 900, "few": 3, "many": 40}
    stats = [usage(name, process_stats={"process_count": count}) for name, count in counts.items()]
    steps = [step(f"{at}s", node, stats) for at in (0, 60, 120)]
    cycles = play(policy, {"evictionHard": {"pid.available": "100"}}, pods, steps)
    assert [evicted(cycle) for cycle in cycles] == expected


@differs("hungry", "modest")
def test_point_13_inodes_and_a_request_in_bytes(policy: Policy, expected: str) -> None:
    """The kubelet takes a request of bytes off a count of inodes, so that a pod that requests storage is spared."""
    pods = [pod("hungry", requests={"ephemeral-storage": "1Gi"}), pod("modest")]
    stats = [
        usage("hungry", containers=[{"name": "main", "rootfs": {"inodesUsed": 500_000}}]),
        usage("modest", containers=[{"name": "main", "rootfs": {"inodesUsed": 10}}]),
    ]
    cycle = play(policy, {"evictionHard": {"nodefs.inodesFree": "1000"}}, pods, [step("0s", disk(GI, 10), stats)])[0]
    assert evicted(cycle) == [expected]


@BOTH
def test_point_14_imagefs_in_the_split_layout_knows_no_user(policy: Policy) -> None:
    """Images belong to no pod, so only priority is left, and then the name."""
    pods = [decode_pod(pod("b")), decode_pod(pod("a")), decode_pod(pod("c", priority=-1))]
    stats = {"b": PodStats(name="b", namespace="default", uid="b")}
    stats |= {name: PodStats(name=name, namespace="default", uid=name) for name in ("a", "c")}
    rows = rank(Signal.IMAGEFS_AVAILABLE, pods, stats, Layout.SPLIT, policy)
    assert [(row.name, row.usage) for row in rows] == [("c", 0), ("a", 0), ("b", 0)]


@differs(GI, 0)
def test_point_15_pod_level_resources_and_storage(policy: Policy, expected: int) -> None:
    """With the kubelet, any pod-level resource puts the ephemeral-storage request to zero."""
    spec = pod("a", requests={"ephemeral-storage": "1Gi"}, resources={"requests": {"cpu": "1"}})
    one = decode_pod(spec)
    rows = rank(
        Signal.NODEFS_AVAILABLE, [one], {"a": PodStats(name="a", namespace="default", uid="a")}, Layout.SINGLE, policy
    )
    assert rows[0].request == expected * NANO
    assert one.resource_totals.memory_request == 0


@BOTH
def test_point_16_one_pod_a_cycle_but_any_number_over_their_limits(policy: Policy) -> None:
    low = [usage(name, memory={"workingSetBytes": GI}) for name in ("a", "b")]
    pressure = play(
        policy, {"evictionHard": {"memory.available": "1Gi"}}, [pod("a"), pod("b")], [step("0s", memory(MI), low)]
    )
    assert evicted(pressure[0]) == ["a"]
    volumes = [{"name": "v", "emptyDir": {"sizeLimit": "1Mi"}}]
    over = [usage(name, volume=[{"name": "v", "usedBytes": GI}]) for name in ("a", "b")]
    both = [pod("a", volumes=volumes), pod("b", volumes=volumes)]
    limits = play(policy, {"evictionHard": {}}, both, [step("0s", memory(7 * GI), over)])
    assert evicted(limits[0]) == ["a", "b"]


@differs([], ["a"])
def test_point_17_what_reclaim_is_judged_on(policy: Policy, expected: list[str]) -> None:
    """Enough disk is free again; a soft memory threshold in the middle of its grace costs a pod with the kubelet."""
    config = {
        "evictionHard": {"nodefs.available": "10Gi"},
        "evictionSoft": {"memory.available": "2Gi"},
        "evictionSoftGracePeriod": {"memory.available": "5m"},
    }
    before, after = {**disk(GI), **memory(GI)}, {**disk(50 * GI), **memory(GI)}
    cycle = play(
        policy,
        config,
        [pod("a")],
        [step("0s", before, [usage("a")], summaryAfterReclaim={"node": after, "pods": [usage("a")]})],
    )[0]
    assert any(isinstance(decision, ReclaimNode) for decision in cycle.decisions)
    assert evicted(cycle) == expected


@differs("memory.available", "allocatableMemory.available")
def test_point_18_memory_first_and_then_in_order(policy: Policy, expected: str) -> None:
    """Memory goes before disk. Among equals the kubelet's order is chance; Kubelet takes its most frequent one."""
    config = {
        "evictionHard": {"nodefs.available": "10Gi", "memory.available": "1Gi"},
        "enforceNodeAllocatable": ["pods"],
    }
    pods_memory = {"systemContainers": [{"name": "pods", **memory(MI)}]}
    cycle = play(policy, config, [pod("a")], [step("0s", {**disk(GI), **memory(MI), **pods_memory}, MEASURED)])[0]
    (ranking, *_) = (finding for finding in findings(cycle) if isinstance(finding, Ranking))
    assert ranking.signal.value == expected


@differs([True, True], [False, True])
def test_point_19_containerfs_counts_from_the_first_cycle(policy: Policy, expected: list[bool]) -> None:
    """Derived thresholds take effect in the kubelet's second cycle."""
    steps = [step(at, disk(50 * GI), [usage("a")]) for at in ("0s", "10s")]
    cycles = play(policy, {"evictionHard": {"nodefs.available": "10Gi"}}, [pod("a")], steps)
    tested = [
        any(
            isinstance(f, ThresholdFinding) and f.threshold.signal is Signal.CONTAINERFS_AVAILABLE
            for f in findings(cycle)
        )
        for cycle in cycles
    ]
    assert tested == expected


# --- local storage, stats, collection ---------------------------------------------------------------------------------


@differs(["a"], [])
def test_point_21_the_writable_layer_counts_against_a_limit(policy: Policy, expected: list[str]) -> None:
    """Not with the kubelet, where images have a filesystem of their own."""
    spec = pod("a")
    spec["spec"]["containers"][0]["resources"]["limits"] = {"ephemeral-storage": "1Gi"}
    stats = [usage("a", containers=[{"name": "main", "rootfs": {"usedBytes": 2 * GI}, "logs": {"usedBytes": 0}}])]
    cycle = play(
        policy, {"evictionHard": {}}, [spec], [step("0s", disk(50 * GI), stats)], filesystems={"dedicatedImageFs": True}
    )[0]
    assert evicted(cycle) == expected


@BOTH
def test_point_22_the_pod_limit_sums_up_the_limits_there_are(policy: Policy) -> None:
    """A container without a limit is unlimited, but what it uses counts against the others' sum."""
    spec = pod("a")
    spec["spec"]["containers"] = [
        {"name": "limited", "resources": {"limits": {"ephemeral-storage": "1Gi"}}},
        {"name": "free"},
    ]
    stats = [usage("a", **{"ephemeral-storage": {"usedBytes": 2 * GI}})]
    cycle = play(policy, {"evictionHard": {}}, [spec], [step("0s", disk(50 * GI), stats)])[0]
    (decision,) = (one for one in cycle.decisions if isinstance(one, EvictPod))
    assert decision.message == "Pod ephemeral local storage usage exceeds the total limit of containers 1Gi. "


def test_point_24_a_minimum_image_age_of_zero_is_two_minutes(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    head = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nimageMinimumGCAge: "
    file.write_text(head + "0s\n")
    assert load(file).eviction.image_gc.min_age == 2 * MINUTE
    file.write_text(head + "-1s\n")
    with pytest.raises(InputError, match="imageMinimumGCAge"):
        load(file)


# --- what is said and counted -----------------------------------------------------------------------------------------


@BOTH
def test_point_29_the_age_of_stats_is_taken_for_every_due_threshold(policy: Policy) -> None:
    """Also where no pod may be evicted: the ranking carries every threshold that was due."""
    critical = pod("a", priority=2 * 10**9)
    config = {"evictionHard": {"memory.available": "1Gi", "pid.available": "100"}}
    node = {**memory(900 * MI), "rlimit": {"maxpid": 1000, "curproc": 990}}
    cycle = play(policy, config, [critical], [step("0s", node, MEASURED)])[0]
    (ranking, *_) = (finding for finding in findings(cycle) if isinstance(finding, Ranking))
    assert [threshold.signal for threshold in ranking.due] == [Signal.MEMORY_AVAILABLE, Signal.PID_AVAILABLE]
    assert evicted(cycle) == []


@differs((1, True), (60, False))
def test_point_30_the_loop_while_a_victim_leaves(policy: Policy, expected: tuple[int, bool]) -> None:
    """The kubelet stands still until its victim is gone; Standard goes on, and a hard threshold shortens the grace."""
    config = eviction_config(
        {
            "evictionHard": {"memory.available": "1Gi"},
            "evictionSoft": {"memory.available": "2Gi"},
            "evictionSoftGracePeriod": {"memory.available": "1s"},
            "evictionMaxPodGracePeriod": 60,
            **NO_COPY,
        },
        policy=policy,
    )
    state = State()
    victim = decode_pod(pod("a", terminationGracePeriodSeconds=60))
    steps = []
    for at, available in ((0, 1500 * MI), (10, 1400 * MI), (20, 100 * MI)):
        node = NodeStats(memory=MemoryStats(available_bytes=available, working_set_bytes=8 * GI - available))
        stats = {"a": PodStats(name="a", namespace="default", uid="a", memory=MemoryStats(working_set_bytes=GI))}
        step_ = synchronize(state, Observation(node=node, pods=(victim,), pod_stats=stats), config, at * SECOND)
        state = step_.state
        steps.append(step_)
    (begun,) = (one for one in steps[1].decisions if isinstance(one, EvictPod))
    assert begun.grace_period_seconds == 60
    shortened = [one for one in steps[2].decisions if isinstance(one, EvictPod)]
    assert ([one.grace_period_seconds for one in shortened] or [60])[0] == expected[0]
    assert all(one.shortens for one in shortened)
    looked = steps[2].state.last_seen != steps[1].state.last_seen
    assert looked is expected[1]


def test_point_32_quantities_are_wider_than_documented() -> None:
    assert [parse_quantity(text).value() for text in ("-", ".", "e3")] == [0, 0, 0]
    assert parse_quantity("1n").nano == 1
    assert str(parse_quantity("1.5Gi")) == "1536Mi"
    assert str(parse_quantity("1025Ki")) == "1025Ki"
    assert str(parse_quantity("9Ei")) == str(2**63 - 1)
    assert parse_quantity("10E").nano == 10**19 * NANO


@BOTH
def test_point_34_a_local_storage_eviction_has_no_disruption_target(policy: Policy) -> None:
    volumes = [{"name": "v", "emptyDir": {"sizeLimit": "1Mi"}}]
    over = [usage("a", volume=[{"name": "v", "usedBytes": GI}])]
    cycle = play(policy, {"evictionHard": {}}, [pod("a", volumes=volumes)], [step("0s", memory(7 * GI), over)])[0]
    (decision,) = (one for one in cycle.decisions if isinstance(one, EvictPod))
    assert decision.condition is None


@BOTH
def test_point_35_users_may_set_allocatable_memory(policy: Policy) -> None:
    fields = {"evictionHard": {"allocatableMemory.available": "1Gi"}, **NO_COPY}
    thresholds = eviction_config(fields, policy=policy).thresholds
    assert [(t.signal, t.origin) for t in thresholds] == [(Signal.ALLOCATABLE_MEMORY_AVAILABLE, Origin.SET)]


def test_point_36_an_image_is_removed_without_its_handler(monkeypatch: pytest.MonkeyPatch) -> None:
    """As by the kubelet: only the image's id is sent."""
    sent: list[Any] = []
    monkeypatch.setattr(Channel, "call", lambda _channel, _method, request, **_how: sent.append(request))
    with CriClient("unix:///none.sock") as client:
        client.remove_image("sha256:1")
    assert [(request.image.image, request.image.runtime_handler) for request in sent] == [("sha256:1", "")]


@BOTH
def test_point_37_a_layout_that_cannot_be_found_out_is_tried_again(policy: Policy) -> None:
    config = eviction_config({"evictionHard": {"memory.available": "1Gi"}, **NO_COPY}, policy=policy)
    node = NodeStats(memory=MemoryStats(available_bytes=MI, working_set_bytes=8 * GI), fs=FsStats())
    unknown = Observation(node=node, pods=(_a_pod(),), filesystems=Filesystems(dedicated_image_fs=None))
    first = synchronize(State(), unknown, config, 0)
    assert NoActionReason.LAYOUT_UNKNOWN in [f.why for f in first.findings if isinstance(f, NoAction)]
    one = _a_pod()
    measured = PodStats(name=one.name, namespace=one.namespace, uid=one.uid, memory=MemoryStats(working_set_bytes=MI))
    known = Observation(node=node, pods=(one,), pod_stats={one.uid: measured}, outcomes=Outcomes())
    second = synchronize(first.state, known, config, 10 * SECOND)
    assert any(isinstance(decision, EvictPod) for decision in second.decisions)


def _a_pod() -> Pod:
    return decode_pod(pod("a"))


@BOTH
def test_point_39_volumes_are_never_named_under_pressure(policy: Policy) -> None:
    """The text speaks of writable layer and logs only, whatever filled the disk."""
    spec = pod("a", volumes=[{"name": "data", "emptyDir": {}}])
    stats = [
        usage(
            "a",
            containers=[{"name": "main", "rootfs": {"usedBytes": MI}, "logs": {"usedBytes": MI}}],
            volume=[{"name": "data", "usedBytes": 60 * GI}],
        )
    ]
    cycle = play(policy, {"evictionHard": {"nodefs.available": "10Gi"}}, [spec], [step("0s", disk(GI), stats)])[0]
    (decision,) = (one for one in cycle.decisions if isinstance(one, EvictPod))
    assert "data" not in decision.message
    assert "Container main was using 2Mi, request is 0" in decision.message


def test_point_40_the_conditions_of_a_rejection_are_sorted() -> None:
    """A Go list in random order with the kubelet; the same every time here."""
    present = (NodeCondition.PID_PRESSURE, NodeCondition.DISK_PRESSURE, NodeCondition.MEMORY_PRESSURE)
    assert admit(_a_pod(), present).message == "The node had condition: [DiskPressure MemoryPressure PIDPressure]. "


# --- the page ---------------------------------------------------------------------------------------------------------

_ROW = re.compile(r"^\| (\d+) \|")
_TEST_ID = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")


def _rows(page: Path) -> dict[int, str]:
    lines = page.read_text(encoding="utf-8").splitlines()
    return {int(found[1]): line for line in lines if (found := _ROW.match(line))}


def test_the_page_has_a_row_for_each_of_the_forty_points() -> None:
    assert sorted(_rows(PAGE)) == sorted(_rows(SHOWN_BY)) == list(range(1, 41))
    assert "tests/" not in PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize("number", range(1, 41))
def test_every_test_that_a_point_names_exists(number: int) -> None:
    named = _TEST_ID.findall(_rows(SHOWN_BY)[number])
    assert named, "every point names the test that shows it"
    _exist(named)


def test_every_test_that_is_named_exists() -> None:
    """Also those of the two suites on a real node."""
    _exist(_TEST_ID.findall(SHOWN_BY.read_text(encoding="utf-8")))


def test_every_case_that_is_played_is_in_the_table() -> None:
    source = (ROOT / "tests/cluster/test_node_suite.py").read_text(encoding="utf-8")
    played = set(re.findall(r'name="([A-Z]\w+)"', source))
    assert played
    assert played <= set(re.findall(r"^\| (\w+) \| real node", PAGE.read_text(encoding="utf-8"), re.MULTILINE))


def _exist(named: list[tuple[str, str]]) -> None:
    for path, name in named:
        source = (ROOT / path).read_text(encoding="utf-8")
        assert re.search(rf"^ *def {name}\(", source, re.MULTILINE), f"{path}::{name}"


def test_every_point_shown_here_is_named() -> None:
    tree = ast.parse(Path(__file__).read_text(encoding="utf-8"))
    shown = {
        node.name for node in tree.body if isinstance(node, ast.FunctionDef) and node.name.startswith("test_point_")
    }
    named = {name for row in _rows(SHOWN_BY).values() for _, name in _TEST_ID.findall(row)}
    assert shown <= named
