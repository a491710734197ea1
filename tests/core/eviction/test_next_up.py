"""Which pod would be evicted next for each signal."""

from dataclasses import replace

import pytest

from evictd.core.eviction.next_up import who_is_next
from evictd.core.model.config import EvictionConfig, ImageReclaim, Policy
from evictd.core.model.finding import NoActionReason, PodSkipped, SkipReason
from evictd.core.model.holdings import MeasuredLevel, SupplyHoldings
from evictd.core.model.observation import Observation
from evictd.core.model.pod import PodSource
from evictd.core.model.signal import Filesystem, Signal
from evictd.core.model.state import Collection, State
from evictd.core.model.stats import ContainerStats, DiskUsage
from evictd.core.units.duration import SECOND, parse_duration
from tests.playbook import Playbook, as_kubelet, config, node, pod, usage
from tests.render.snapshots import incident_snapshot

STATIC = pod("static", source=PodSource.STATIC)
A, B = pod("a"), pod("b")
SETTINGS = config(hard={"memory.available": "1Gi", "pid.available": "100"})


def observation() -> Observation:
    """Memory is short; of PIDs there are enough."""
    stats = [usage(A, memory="1Gi", processes=5), usage(B, memory="2Gi", processes=1)]
    return Observation(
        node=node(memory="500Mi of 4Gi", pids="500 of 1000"), pods=(A, B), pod_stats={s.uid: s for s in stats}
    )


def test_each_signal_has_its_own_next_pod() -> None:
    """Also a signal whose threshold is not met."""
    memory, pids = who_is_next(State(), observation(), SETTINGS, 0)
    assert (memory.signal, pids.signal) == (Signal.MEMORY_AVAILABLE, Signal.PID_AVAILABLE)
    assert [row.name for row in memory.rows] == ["b", "a"]
    assert (memory.victim, pids.victim) == (memory.rows[0], pids.rows[0])
    assert pids.rows[0].name == "a"
    assert (memory.measured, pids.measured) == (True, True)


@pytest.mark.parametrize(("left", "grace"), [("500Mi", "0s"), ("1500Mi", "1m"), ("3Gi", "0s")])
def test_the_hard_threshold_decides_unless_only_the_soft_one_is_met(left: str, grace: str) -> None:
    settings = config(hard={"memory.available": "1Gi"}, soft={"memory.available": ("2Gi", "1m")})
    alone = Observation(
        node=node(memory=f"{left} of 8Gi"), pods=(STATIC,), pod_stats={"static": usage(STATIC, memory="3Gi")}
    )
    [memory] = who_is_next(State(), alone, settings, 0)
    assert memory.stop is not None
    assert memory.stop.threshold is not None
    assert memory.stop.threshold.grace_period == parse_duration(grace)


def test_a_pod_without_statistics_that_the_kubelet_would_evict_is_not_measured() -> None:
    seen = Observation(node=node(memory="500Mi of 4Gi"), pods=(A,))
    [memory] = who_is_next(State(), seen, as_kubelet(config(hard={"memory.available": "1Gi"})), 0)
    assert (memory.victim is not None, memory.measured) == (True, False)


def test_a_pod_of_which_another_resource_was_read_is_not_measured() -> None:
    seen = Observation(node=node(memory="500Mi of 4Gi"), pods=(A,), pod_stats={A.uid: usage(A, processes=1)})
    [memory] = who_is_next(State(), seen, config(hard={"memory.available": "1Gi"}), 0)
    assert (memory.victim, memory.measured) == (None, False)


def test_the_pod_that_is_shown_is_the_one_that_goes() -> None:
    """And a pod that is being evicted is not next."""
    book = Playbook(SETTINGS, pods=[A, B], usage=observation().pod_stats.values())
    book.at("0s", memory="500Mi of 4Gi", pids="500 of 1000").conditions("MemoryPressure").evicts("b")
    [memory, _] = who_is_next(book.state, observation(), SETTINGS, 1)
    assert memory.victim is not None
    assert memory.victim.name == "a"


def test_why_no_pod_is_next() -> None:
    """With the reason that an eviction would have; nothing is said where nothing was read."""
    stats = usage(STATIC, memory="3Gi")
    alone = Observation(node=node(memory="500Mi of 4Gi"), pods=(STATIC,), pod_stats={"static": stats})
    [memory] = who_is_next(State(), alone, SETTINGS, 0)
    assert memory.victim is None
    assert memory.stop is not None
    assert memory.stop.why is NoActionReason.PROTECTED_CULPRIT
    assert who_is_next(State(), Observation(node=None), SETTINGS, 0) == ()


def test_bytes_of_a_disk_that_belong_to_no_pod() -> None:
    """Known only where every pod was measured, and only for bytes of a disk."""
    measured = replace(usage(A, logs="1Gi", memory="1Gi"), disk_time=1)
    other = replace(usage(B, logs="2Gi", memory="1Gi"), disk_time=1)
    full = Observation(node=node(nodefs="1Gi of 10Gi"), pods=(A, B), pod_stats={"a": measured, "b": other})
    settings = config(hard={"nodefs.available": "2Gi", "memory.available": "1Gi"})
    found = {each.signal: each.not_of_pods for each in who_is_next(State(), full, settings, 0)}
    assert found[Signal.NODEFS_AVAILABLE] == 6 << 30
    [disk] = [
        each for each in who_is_next(State(), replace(full, pod_stats={"a": measured}), settings, 0)
        if each.signal is Signal.NODEFS_AVAILABLE
    ]  # fmt: skip
    assert disk.not_of_pods is None


def test_no_pod_goes_for_a_disk_that_the_host_has_filled() -> None:
    """kubernetes/kubernetes#86023: pods that use nothing of the disk were evicted, one after the other."""
    settings = config(hard={"nodefs.available": "2Gi"})
    pods = {p.uid: replace(usage(p, logs="0", rootfs="0"), disk_time=1) for p in (A, B)}
    full = Observation(node=node(nodefs="1Gi of 10Gi"), pods=(A, B), pod_stats=pods)
    [disk] = [each for each in who_is_next(State(), full, settings, 0) if each.signal is Signal.NODEFS_AVAILABLE]
    assert (disk.victim, disk.not_of_pods) == (None, 9 << 30)
    assert disk.stop is not None
    assert disk.stop.why is NoActionReason.NOTHING_HELPS


@pytest.mark.parametrize("policy", Policy)
def test_no_pod_is_next_where_evictd_only_reports(policy: Policy) -> None:
    """The pods are ranked all the same, and the answer says why none of them goes."""
    refused = replace(observation(), api_pods_standalone=True)
    for answer in who_is_next(State(), refused, replace(SETTINGS, policy=policy), 0):
        assert (len(answer.rows), answer.victim) == (2, None)
        assert answer.stop is not None
        assert answer.stop.why is NoActionReason.API_PODS_STANDALONE
    allowed = replace(SETTINGS, policy=policy, allow_api_pods_standalone=True)
    assert all(answer.victim is not None for answer in who_is_next(State(), refused, allowed, 0))


def test_a_pod_that_was_not_walked_is_not_measured() -> None:
    """The runtime reports its writable layer, of logs and volumes nothing is known."""
    layer = replace(usage(A), containers=(ContainerStats("main", None, DiskUsage(4096, 1), None),))
    for disk_time, measured in ((None, False), (1, True)):
        seen = Observation(
            node=node(nodefs="9Gi of 10Gi"), pods=(A,), pod_stats={A.uid: replace(layer, disk_time=disk_time)}
        )
        disk = who_is_next(State(), seen, config(hard={"nodefs.available": "1Gi"}), 0)[0]
        assert (disk.victim is not None, disk.measured) == (True, measured)


def test_a_pod_that_was_not_walked_does_not_use_nothing() -> None:
    """Just after the start the runtime had reported empty layers, and `status` said that no pod uses any of the disk."""
    settings = config(hard={"nodefs.available": "2Gi"})
    walked = replace(usage(A, rootfs="0"), disk_time=1)
    pods = {"a": walked, "b": usage(B, rootfs="0")}
    full = Observation(node=node(nodefs="1Gi of 10Gi"), pods=(A, B), pod_stats=pods)
    [disk, *_] = who_is_next(State(), full, settings, 0)
    assert disk.stop is not None
    assert disk.stop.why is NoActionReason.NO_POD_MEASURED
    skipped = {each.pod.uid: each.reason for each in disk.findings if isinstance(each, PodSkipped)}
    assert skipped == {"a": SkipReason.USES_NOTHING, "b": SkipReason.NOT_MEASURED}


def test_a_pod_whose_logs_are_known_was_walked_whoever_measured_it() -> None:
    """A summary of the kubelet has no times of ours."""
    stats = usage(A, logs="1Mi")
    seen = Observation(node=node(nodefs="9Gi of 10Gi"), pods=(A,), pod_stats={A.uid: stats})
    assert who_is_next(State(), seen, config(hard={"nodefs.available": "1Gi"}), 0)[0].measured


def test_growth_of_a_past_shortage_does_not_count_on_a_calm_disk() -> None:
    """The disk is far from its threshold, so the state has it as it was while the pod was written that is gone by now."""
    pods = {p.uid: replace(usage(p, logs=logs, memory="1Mi"), disk_time=9) for p, logs in ((A, "9Mi"), (B, "4Mi"))}
    calm = Observation(node=node(nodefs="143Mi of 160Mi"), pods=(A, B), pod_stats=pods)
    then = SupplyHoldings(
        at=SECOND,
        begun=0,
        since=0,
        used={"a": 9 << 20, "b": 4 << 20},
        lowest={"a": 9 << 20, "b": 4 << 20},
        lowest_before={"a": 9 << 20, "b": 4 << 20},
        elsewhere=MeasuredLevel(SECOND, 90 << 20, 0, 0, 0, 0),
    )
    state = State(holdings={Signal.NODEFS_AVAILABLE: then})
    settings = config(hard={"nodefs.available": "66Mi"})
    [disk] = who_is_next(state, calm, settings, 9 * SECOND)
    assert disk.stop is None
    assert disk.victim is not None
    assert disk.victim.name == "a"


def test_what_a_victim_that_has_ended_gives_back_is_not_of_no_pod() -> None:
    """`88.9Gi in use belong to no pod` stood above `20Gi belong to no pod`, and 68.8Gi of the victim were in neither sum."""
    ended = incident_snapshot("12-container-log", 471)
    (victim,) = ended.state.in_flight
    assert victim.gone_at is not None
    answers = {each.signal: each for each in who_is_next(ended.state, ended.observation, ended.config, ended.at)}
    disk = answers[Signal.NODEFS_AVAILABLE]
    assert disk.held is not None
    shares = disk.held.shares.values()
    assert disk.held.leaving.held == victim.owed[Signal.NODEFS_AVAILABLE]
    assert sum(each.held or 0 for each in shares) == disk.held.used
    assert disk.not_of_pods == disk.held.elsewhere.held


def test_what_no_pod_needs_goes_before_a_pod_once_in_a_shortage() -> None:
    snapshot = incident_snapshot("28-control-dead-containers", 240)

    def reclaims_first(state: State, settings: EvictionConfig = snapshot.config) -> dict[Signal, bool]:
        found = who_is_next(state, snapshot.observation, settings, snapshot.at)
        return {each.signal: each.reclaims_first for each in found}

    assert reclaims_first(snapshot.state)[Signal.NODEFS_AVAILABLE]
    collected = replace(snapshot.state, collections={Filesystem.NODEFS: Collection(begun=0, until=0)})
    assert not reclaims_first(collected)[Signal.NODEFS_AVAILABLE]
    off = replace(
        snapshot.config, reclaim_containers=False, reclaim_images=ImageReclaim.OFF, reclaim_rotated_logs=False
    )
    assert not reclaims_first(snapshot.state, off)[Signal.NODEFS_AVAILABLE]
    memory, pids = who_is_next(State(), observation(), SETTINGS, 0)
    assert (memory.reclaims_first, pids.reclaims_first) == (False, False)


def test_pods_that_were_deleted_leave_before_another_pod_goes() -> None:
    """A hard threshold shortens their grace periods: the page named the new pod of an update, which was spared."""
    near = incident_snapshot("11-leaving-pod", 115)

    def leaves_first(state: State, settings: EvictionConfig = near.config) -> tuple[str, ...]:
        found = who_is_next(state, near.observation, settings, near.at)
        return next(each.leaves_first for each in found if each.signal is Signal.MEMORY_AVAILABLE)

    assert leaves_first(near.state) == ("default/old",)
    (old,) = near.state.leaving
    little = replace(near.state, leaving=(replace(old, owed={Signal.MEMORY_AVAILABLE: 0}),))
    assert leaves_first(little) == (), "it holds less than will be missing"
    assert leaves_first(replace(near.state, leaving=(replace(old, gone_at=near.at),))) == ()
    assert leaves_first(near.state, replace(near.config, policy=Policy.KUBELET)) == ()
    assert leaves_first(near.state, replace(near.config, protected_pods=frozenset({old.uid}))) == ()


def test_a_pod_that_is_known_from_before_is_measured() -> None:
    """`status` said that no pod is measured, and the page named the pod that leaks and what it holds."""
    leak = incident_snapshot("24-unmeasured-hog", 60)
    memory = who_is_next(leak.state, leak.observation, leak.config, leak.at)[0]
    assert memory.victim is not None
    assert (memory.victim.pod.name, memory.victim.usage, memory.measured) == ("leak", 1_258_291_200, True)
