"""The laws of progress and thrift of policy Standard, as stories that broke them and over generated worlds."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evictd.codec.state import decode_state, encode_state
from evictd.core.eviction.synchronize import synchronize
from evictd.core.model.config import EvictionConfig, ImageReclaim
from evictd.core.model.decision import EvictPod, ReclaimNode
from evictd.core.model.finding import NoAction, NoActionReason
from evictd.core.model.observation import Observation, Outcomes, Reclaim, ReclaimOutcome
from evictd.core.model.pod import Pod, PodSource
from evictd.core.model.signal import Filesystem, Signal
from evictd.core.model.state import PhaseName, State
from evictd.core.model.stats import NodeStats, PodStats
from evictd.core.units.duration import SECOND
from tests.playbook import DEDICATED, Playbook, config, empty_dir, measured_at, node, pod, usage

STATIC = pod("static", source=PodSource.STATIC)
HOG = pod("hog")
OTHER = pod("other")


def freed(containers: int = 0, images: int = 0, on: Filesystem | None = None) -> tuple[ReclaimOutcome, ...]:
    """What the collectors say they freed, in bytes; `on`: the device of the only collection that has ended."""
    return (
        ReclaimOutcome(action=Reclaim.CONTAINERS, freed_bytes=containers, device=on),
        ReclaimOutcome(action=Reclaim.IMAGES, freed_bytes=images, device=on),
    )


# --- fault 1: every threshold due is looked at ---------------------------------------------------------------------------


def test_a_protected_culprit_of_memory_does_not_keep_the_disk_from_being_relieved() -> None:
    """Memory is short because of a static pod, the disk because of a pod with 80Gi: that pod goes."""
    settings = config(hard={"memory.available": "1Gi", "nodefs.available": "10Gi"})
    uses = [usage(STATIC, memory="60Gi", logs="0"), usage(HOG, memory="1Mi", logs="80Gi")]
    book = Playbook(settings, pods=[STATIC, HOG], usage=uses)
    short: dict[str, Any] = {"memory": "100Mi of 64Gi", "nodefs": "5Gi of 100Gi"}
    book.at("0s", **short).conditions("MemoryPressure", "DiskPressure").reclaims("containers", "images")
    book.stays_silent(NoActionReason.PROTECTED_CULPRIT)
    book.at("1s", reclaimed=freed(), **short).evicts("hog")
    [skipped] = [f for f in book.findings(NoAction) if f.why is NoActionReason.PROTECTED_CULPRIT]
    assert skipped.threshold is not None
    assert (skipped.threshold.signal, skipped.pod) == (Signal.MEMORY_AVAILABLE, STATIC)


def test_a_pod_goes_although_it_was_measured_to_use_less_than_is_missing() -> None:
    """It may hold 80Gi in a file that was removed, or in images of its own, which no measurement shows (ADR 6)."""
    settings = config(hard={"nodefs.available": "10Gi"})
    uses = [usage(HOG, logs="1Gi"), usage(OTHER, logs="1Mi")]
    book = Playbook(settings, pods=[HOG, OTHER], usage=uses)
    book.at("0s", nodefs="5Gi of 100Gi").conditions("DiskPressure").reclaims("containers", "images")
    book.at("1s", nodefs="5Gi of 100Gi", reclaimed=freed()).evicts("hog")
    book.at("3s", nodefs="85Gi of 100Gi", gone=["hog"]).does_nothing()


def test_two_thresholds_of_one_device_begin_one_collection() -> None:
    """Both nodefs and imagefs on one disk are met at once, and the collectors say that none is at work yet."""
    settings = config(hard={"nodefs.available": "10Gi", "imagefs.available": "10Gi"})
    book = Playbook(settings, pods=[HOG], usage=[usage(HOG, logs="80Gi")])
    short: dict[str, Any] = {"nodefs": "5Gi of 100Gi", "imagefs": "5Gi of 100Gi"}
    book.at("0s", collecting=(), **short).conditions("DiskPressure").reclaims("containers", "images").does_nothing()
    book.at("100ms", collecting=(Filesystem.NODEFS,), **short).does_nothing()


def test_collectors_at_work_on_the_disk_do_not_keep_the_pids_from_being_relieved() -> None:
    """The pod with the processes goes at once; the collectors' outcome is read all the same, and nothing is collected twice."""
    settings = config(hard={"nodefs.available": "10Gi", "pid.available": "100"})
    uses = [usage(HOG, logs="1Mi", processes=900), usage(OTHER, logs="80Gi", processes=1)]
    book = Playbook(settings, pods=[HOG, OTHER], usage=uses)
    disk = "5Gi of 100Gi"
    book.at("0s", nodefs=disk, pids="500 of 1000").conditions("DiskPressure").reclaims("containers", "images")
    book.at("1s", nodefs=disk, pids="5 of 1000").conditions("DiskPressure", "PIDPressure").evicts("hog")
    book.stays_silent(NoActionReason.WAITING_FOR_RELEASE)
    book.at("2s", nodefs=disk, pids="5 of 1000", gone=[]).does_nothing()
    book.at("3s", nodefs=disk, pids="900 of 1000").does_nothing().stays_silent(NoActionReason.WAITING_FOR_RELEASE)
    book.at("4s", nodefs=disk, pids="900 of 1000", reclaimed=freed(images=2**30)).does_nothing()
    book.stays_silent(NoActionReason.WAITING_FOR_RELEASE)
    book.at("5s", nodefs="50Gi of 100Gi", pids="900 of 1000").does_nothing()


def test_what_is_due_on_a_device_is_due_for_all_its_signals() -> None:
    """With one disk, imagefs is nodefs: while the victim's bytes are awaited, no second pod goes for the other signal."""
    settings = config(hard={"nodefs.available": "10Gi", "imagefs.available": "10Gi"}, reclaim_containers=False)
    settings = replace(settings, reclaim_images=ImageReclaim.OFF)
    uses = [usage(HOG, logs="80Gi"), usage(OTHER, logs="1Gi")]
    book = Playbook(settings, pods=[HOG, OTHER], usage=uses)
    short: dict[str, Any] = {"nodefs": "5Gi of 100Gi", "imagefs": "5Gi of 100Gi"}
    book.at("0s", **short).conditions("DiskPressure").evicts("hog")
    book.at("1s", **short).does_nothing()
    assert [f.threshold.signal.value for f in book.findings(NoAction)] == ["nodefs.available", "imagefs.available"]


# --- fault 2: one round of collection an episode and device ----------------------------------------------------------------


def test_a_dead_container_every_few_seconds_does_not_replace_an_eviction() -> None:
    """8 KiB are collected beside a writer of 100 MiB/s: they are waited for once, then the writer goes."""
    settings = config(hard={"nodefs.available": "10Gi"})
    book = Playbook(settings, pods=[HOG], usage=[usage(HOG, logs="80Gi")])
    book.at("0s", nodefs="9000Mi of 100Gi").conditions("DiskPressure").reclaims("containers", "images")
    book.at("500ms", nodefs="8950Mi of 100Gi", reclaimed=freed(containers=8192)).does_nothing()
    book.stays_silent(NoActionReason.WAITING_FOR_RELEASE)
    book.at("1500ms", nodefs="8850Mi of 100Gi").does_nothing().stays_silent(NoActionReason.WAITING_FOR_RELEASE)
    book.at("2500ms", nodefs="8750Mi of 100Gi").evicts("hog")


def test_layers_freed_on_imagefs_are_not_awaited_on_nodefs() -> None:
    """With a dedicated imagefs no collector counts bytes of nodefs, so there is nothing to wait for."""
    book = Playbook(
        config(hard={"nodefs.available": "10Gi"}),
        pods=[HOG],
        usage=[usage(HOG, logs="80Gi")],
        filesystems=DEDICATED,
    )
    book.at("0s", nodefs="5Gi of 100Gi", imagefs="50Gi of 100Gi").conditions("DiskPressure").reclaims("containers")
    done = (ReclaimOutcome(action=Reclaim.CONTAINERS, freed_bytes=2**30),)
    book.at("1s", nodefs="5Gi of 100Gi", imagefs="51Gi of 100Gi", reclaimed=done).evicts("hog")


def test_a_new_episode_and_another_device_are_collected_anew() -> None:
    """The episode ends when the device is no longer short; imagefs is not collected by a round for nodefs."""
    settings = config(hard={"nodefs.available": "10Gi", "imagefs.available": "10Gi"})
    uses = [usage(HOG, logs="40Gi", rootfs="40Gi")]
    book = Playbook(settings, pods=[HOG], usage=uses, filesystems=DEDICATED)
    book.at("0s", nodefs="5Gi of 100Gi", imagefs="50Gi of 100Gi").conditions("DiskPressure").reclaims("containers")
    book.at("1s", nodefs="5Gi of 100Gi", imagefs="5Gi of 100Gi").reclaims("containers", "images")
    book.at("2s", nodefs="20Gi of 100Gi", imagefs="5Gi of 100Gi", reclaimed=freed(on=Filesystem.NODEFS)).does_nothing()
    book.at("3s", nodefs="20Gi of 100Gi", imagefs="20Gi of 100Gi", reclaimed=freed()).does_nothing()
    book.at("13s", nodefs="5Gi of 100Gi", imagefs="20Gi of 100Gi").reclaims("containers")


def test_a_signal_that_is_unread_once_does_not_begin_a_new_episode() -> None:
    """The device is as short as before; what is missing is a number."""
    book = Playbook(config(hard={"nodefs.available": "10Gi"}), pods=[HOG], usage=[usage(HOG, logs="80Gi")])
    book.at("0s", nodefs="5Gi of 100Gi").conditions("DiskPressure").reclaims("containers", "images")
    book.at("1s", nodefs="5Gi of 100Gi", reclaimed=freed(containers=8192)).does_nothing()
    book.at("2s").does_nothing()
    book.at("3s", nodefs="5Gi of 100Gi").evicts("hog")


# --- faults 5, 25 and 30: what is not known, and what cannot help --------------------------------------------------------


@pytest.mark.parametrize("measured", [None, STATIC], ids=["none", "only a protected one"])
def test_no_pod_is_chosen_while_none_that_may_go_is_measured(measured: Pod | None) -> None:
    """The runtime's answer is missing: all pods tie, and their names must not decide. With the answer the hog goes."""
    innocent = pod("aaa-innocent", priority=-1, memory="1Gi")
    book = Playbook(
        config(hard={"memory.available": "1Gi"}),
        pods=[innocent, HOG, STATIC],
        usage=[] if measured is None else [usage(measured, memory="1Mi")],
    )
    book.at("0s", memory="500Mi of 16Gi").conditions("MemoryPressure").does_nothing()
    book.stays_silent(NoActionReason.NO_POD_MEASURED)
    book.usage = {each.uid: usage(each, memory=used) for each, used in ((innocent, "1Mi"), (HOG, "10Gi"))}
    book.at("1s", memory="500Mi of 16Gi").evicts("hog")


@pytest.mark.parametrize("signal", ["memory.available", "nodefs.available", "nodefs.inodesFree", "pid.available"])
def test_what_was_measured_of_another_resource_does_not_count_as_zero_of_this_one(signal: str) -> None:
    """Statistics that lack the resource in short supply are no measurement of it."""
    fields: dict[str, Any] = {
        "memory.available": {"logs": "1Gi", "processes": 3},
        "nodefs.available": {"memory": "1Gi", "processes": 3},
        "nodefs.inodesFree": {"memory": "1Gi", "rootfs": "1Gi"},
        "pid.available": {"memory": "1Gi", "logs": "1Gi"},
    }
    names = {"memory.available": "memory", "nodefs.available": "nodefs", "pid.available": "pids"}
    settings = config(hard={signal: "100"}, reclaim_containers=False, reclaim_images=ImageReclaim.OFF)
    numbers: dict[str, Any] = {names.get(signal, "nodefs_inodes"): "5 of 1000"}
    book = Playbook(settings, pods=[HOG, OTHER], usage=[usage(HOG, **fields[signal]), usage(OTHER, **fields[signal])])
    book.at("0s", **numbers).stays_silent(NoActionReason.NO_POD_MEASURED)
    assert not [d for d in book.step.decisions if isinstance(d, EvictPod)]
    book.left.clear()


def test_a_pod_whose_memory_is_unread_does_not_make_another_the_protected_culprit() -> None:
    """It may be the hog: with 0 bytes it would shield itself, and a small static pod would stop everything."""
    uses = [usage(STATIC, memory="100Mi"), usage(HOG, logs="1Gi"), usage(OTHER, memory="50Mi")]
    book = Playbook(config(hard={"memory.available": "1Gi"}), pods=[STATIC, HOG, OTHER], usage=uses)
    book.at("0s", memory="500Mi of 16Gi").conditions("MemoryPressure").evicts("other")


@pytest.mark.parametrize("signal", ["nodefs.available", "imagefs.available"])
def test_no_pod_goes_for_a_filesystem_that_cannot_be_written(signal: str) -> None:
    """Nothing would be freed. Memory is relieved all the same, and the disk once it can be written again."""
    settings = config(hard={signal: "10Gi", "pid.available": "100"})
    uses = [usage(HOG, logs="80Gi", processes=1), usage(OTHER, logs="0", processes=900)]
    state, gone = State(), frozenset[str]()

    def decided(now: int, numbers: NodeStats, reclaimed: tuple[ReclaimOutcome, ...] | None = None) -> list[Any]:
        nonlocal state, gone
        observation = Observation(
            node=numbers,
            pods=tuple(each for each in (HOG, OTHER) if each.uid not in gone),
            pod_stats={each.uid: measured_at(each, now * SECOND) for each in uses},
            outcomes=Outcomes(cleaned_up=gone, reclaimed=reclaimed),
        )
        step = synchronize(state, observation, settings, now * SECOND)
        state = step.state
        victims = [d.pod.name for d in step.decisions if isinstance(d, EvictPod)]
        gone |= frozenset(victims)
        rounds = [d.threshold.signal.value for d in step.decisions if isinstance(d, ReclaimNode)]
        return [*victims, *rounds, *(f.why for f in step.findings if isinstance(f, NoAction))]

    short = node(nodefs="5Gi of 100Gi", imagefs="5Gi of 100Gi", pids="500 of 1000")
    assert short.fs is not None
    broken = replace(short, fs=replace(short.fs, read_only=True))
    assert decided(0, broken) == [NoActionReason.FILESYSTEM_READ_ONLY]
    without_pids = node(nodefs="5Gi of 100Gi", imagefs="5Gi of 100Gi", pids="5 of 1000")
    assert decided(1, replace(broken, rlimit=without_pids.rlimit)) == ["other", NoActionReason.FILESYSTEM_READ_ONLY]
    assert decided(2, broken) == [NoActionReason.FILESYSTEM_READ_ONLY]
    assert decided(3, short) == [signal]
    assert decided(4, short, freed()) == ["hog"]


# --- over generated worlds ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class World:
    """A node whose pods use fixed amounts; a collection takes its time, and a victim gives back all that it used."""

    settings: EvictionConfig
    pods: tuple[Pod, ...]
    memory: Mapping[str, int]
    disk: Mapping[str, int]
    processes: Mapping[str, int]
    available: tuple[int, int, int]
    """Memory, nodefs and PIDs at the beginning."""
    collection_takes: int
    """Cycles; longer than the reclaim timeout: the collectors hang."""
    freed: int
    """What a collection says it freed; none of it ever shows."""
    restarts: frozenset[int]
    """The cycles after which the daemon is restarted: the state goes through its codec."""


NAMES = ("a", "b", "c")
LIMIT = 100
SIGNALS = ("memory.available", "nodefs.available", "pid.available")
BOUND = 80
"""Cycles of three seconds: for each of three pods a reclaim timeout, a wait for bytes, and some for the cycles themselves."""

amounts = st.dictionaries(st.sampled_from(NAMES), st.integers(0, 200)).map(lambda d: {n: d.get(n, 0) for n in NAMES})


@st.composite
def worlds(draw: st.DrawFn) -> World:
    """A small node, each of three resources short or not."""
    order = draw(st.permutations(SIGNALS))
    sources = st.sampled_from([PodSource.API, PodSource.API, PodSource.STATIC])
    return World(
        settings=config(hard=dict.fromkeys(order, str(LIMIT))),
        pods=tuple(pod(name, priority=draw(st.integers(0, 1)), source=draw(sources)) for name in NAMES),
        memory=draw(amounts),
        disk=draw(amounts),
        processes=draw(amounts),
        available=draw(st.tuples(*[st.integers(0, 120)] * 3)),
        collection_takes=draw(st.sampled_from([0, 1, 5, 1000])),
        freed=draw(st.integers(0, 10)),
        restarts=draw(st.frozensets(st.integers(0, 20), max_size=3)),
    )


@dataclass
class Run:
    """What became of a world."""

    gone: frozenset[str]
    rounds: int
    available: tuple[int, int, int]


def live(world: World) -> Run:
    """Run the daemon's loop on a world for `BOUND` cycles."""
    state, gone, rounds, collecting = State(), frozenset[str](), 0, 0
    for cycle in range(BOUND):
        observation = _observe(world, gone)
        done = state.activity is PhaseName.RECLAIMING and cycle - collecting > world.collection_takes
        outcomes = Outcomes(reclaimed=freed(world.freed) if done else None, cleaned_up=gone)
        now = 3 * cycle * SECOND
        step = synchronize(state, replace(observation, outcomes=outcomes), world.settings, now)
        state = step.state
        for decision in step.decisions:
            if isinstance(decision, ReclaimNode):
                rounds, collecting = rounds + 1, cycle
            if isinstance(decision, EvictPod):
                gone |= {decision.pod.uid}
        if cycle in world.restarts:
            state = decode_state(encode_state(state))
    return Run(gone=gone, rounds=rounds, available=_available(world, gone))


def _available(world: World, gone: frozenset[str]) -> tuple[int, int, int]:
    memory, disk, pids = world.available
    used = (world.memory, world.disk, world.processes)
    back = [sum(of[name] for name in gone) for of in used]
    return memory + back[0], disk + back[1], pids + back[2]


def _observe(world: World, gone: frozenset[str]) -> Observation:
    memory, disk, pids = _available(world, gone)
    pods = tuple(each for each in world.pods if each.uid not in gone)
    stats: dict[str, PodStats] = {
        each.uid: usage(
            each,
            memory=str(world.memory[each.uid]),
            logs=str(world.disk[each.uid]),
            processes=world.processes[each.uid],
        )
        for each in pods
    }
    numbers = node(memory=f"{memory} of 10000", nodefs=f"{disk} of 10000", pids=f"{pids} of 10000")
    return Observation(node=numbers, pods=pods, pod_stats=stats)


@given(worlds())
def test_what_the_evictable_pods_can_relieve_is_relieved_within_a_bound(world: World) -> None:
    """Progress, whatever the other thresholds, the protected pods, the collectors and restarts do.

    Thrift: nothing is collected twice for the same shortage, so there is one round and one for each victim at the most.
    """
    run = live(world)
    assert run.rounds <= 1 + len(run.gone)
    for available, used in zip(run.available, (world.memory, world.disk, world.processes), strict=True):
        left = [p for p in world.pods if p.uid not in run.gone and p.source is PodSource.API]
        assert available >= LIMIT or available + sum(used[each.uid] for each in left) < LIMIT


@pytest.mark.parametrize("culprit", [PodSource.STATIC, PodSource.MIRROR])
def test_the_shrunk_counter_example_of_progress(culprit: PodSource) -> None:
    """Memory short because of a protected pod, PIDs because of another pod: the second goes."""
    world = World(
        settings=config(hard={"memory.available": str(LIMIT), "pid.available": str(LIMIT)}),
        pods=(pod("a", source=culprit), pod("b"), pod("c")),
        memory={"a": 200, "b": 0, "c": 0},
        disk=dict.fromkeys(NAMES, 0),
        processes={"a": 0, "b": 90, "c": 1},
        available=(50, 1000, 50),
        collection_takes=0,
        freed=0,
        restarts=frozenset(),
    )
    assert live(world).gone == {"b"}


def test_pods_that_exceed_limits_of_their_own_one_after_another_do_not_keep_a_disk_from_being_relieved() -> None:
    """What each leaves behind is collected, for a minute; a writer takes what is freed, and then it goes."""
    settings = config(hard={"nodefs.available": "1Gi"})
    hog = pod("hog", volumes=[empty_dir("v")])
    book = Playbook(settings, pods=[hog], usage=[usage(hog, volumes={"v": "5Gi"})])
    rounds = 0
    for second in range(0, 120, 2):
        each = pod(f"loop-{second}", volumes=[empty_dir("v", size_limit="100Mi")])
        book.pods = (hog, each)
        book.usage[each.uid] = usage(each, volumes={"v": "200Mi"})
        at_work = second % 10 != 8
        collecting = [Filesystem.NODEFS] if at_work else []
        ended = None if at_work else freed(2**20, on=Filesystem.NODEFS)
        book.at(f"{second}s", nodefs="500Mi of 9Gi", collecting=collecting, reclaimed=ended)
        rounds += any(isinstance(decision, ReclaimNode) for decision in book.left)
        book.left.clear()
        if "hog" in book.gone:
            break
    assert 60 <= second <= 80
    assert rounds > 3
