"""How things stand, before anything is done: layout, minimum reclaim, order, findings."""

import json
from dataclasses import replace
from typing import Any

import pytest

from evictd.codec.state import decode_state, encode_state
from evictd.core.eviction.assess import Assessment, NothingKnown, assess, configured_thresholds, detect_filesystems
from evictd.core.model.config import EvictionConfig, FastFill, Policy
from evictd.core.model.finding import ContainerFsIgnored, SignalUnobserved, StatsMissing, ThresholdFinding
from evictd.core.model.observation import Filesystems, Observation
from evictd.core.model.signal import NodeCondition, Signal
from evictd.core.model.state import State
from evictd.core.model.stats import FsStats
from evictd.core.units.duration import SECOND
from tests.playbook import DEDICATED, SINGLE, SPLIT, config, node, pod

IMAGEFS = (Signal.IMAGEFS_AVAILABLE, Signal.IMAGEFS_INODES_FREE)
CONTAINERFS = (Signal.CONTAINERFS_AVAILABLE, Signal.CONTAINERFS_INODES_FREE)


def look(settings: EvictionConfig, observation: Observation, state: State | None = None, now: int = 0) -> Assessment:
    """An assessment that comes to something."""
    found = assess(state or State(), observation, settings, now)
    assert isinstance(found, Assessment)
    return found


def test_the_layout_is_looked_at_once_by_the_kubelet_and_again_by_standard() -> None:
    """Mounts change; only one of the two notices."""
    known = State(filesystems=SINGLE)
    seen = Observation(node=None, filesystems=DEDICATED)
    assert detect_filesystems(known, seen, config(policy=Policy.KUBELET)) == SINGLE
    assert detect_filesystems(known, seen, config()) == DEDICATED


def test_a_layout_once_known_survives_a_failed_look() -> None:
    """Until it can be read again."""
    unknown = Observation(node=None, filesystems=Filesystems(dedicated_image_fs=None))
    assert detect_filesystems(State(filesystems=DEDICATED), unknown, config()) == DEDICATED
    assert detect_filesystems(State(), unknown, config()) is None


def test_a_split_that_could_not_be_found_out_counts_as_none() -> None:
    """The kubelet ignores that error."""
    seen = Observation(node=None, filesystems=Filesystems(dedicated_image_fs=True, split_container_fs=None))
    assert detect_filesystems(State(), seen, config()) == DEDICATED


def test_derived_containerfs_thresholds_count_from_the_first_pass_in_standard_only() -> None:
    """docs/parity.md, row 19."""
    settings = config(hard={"nodefs.available": "1Gi"})
    seen = Observation(node=node(nodefs="2Gi of 9Gi", container_fs=node(nodefs="1Mi of 9Gi").fs))  # type: ignore[arg-type]
    assert [t.signal for t in look(settings, seen).due] == [Signal.CONTAINERFS_AVAILABLE]
    kubelet = replace(settings, policy=Policy.KUBELET)
    first = look(kubelet, seen)
    assert first.due == ()
    assert [t.signal for t in look(kubelet, seen, first.state).due] == [Signal.CONTAINERFS_AVAILABLE]


def test_due_thresholds_stand_in_configuration_order() -> None:
    """Whatever was met first."""
    settings = config(hard={"pid.available": "50", "nodefs.available": "1Gi"})
    seen = Observation(node=node(pids="1 of 100", nodefs="1Mi of 9Gi"))
    assert [t.signal.value for t in look(settings, seen).due] == ["pid.available", "nodefs.available"]


def test_a_threshold_taken_away_by_a_reload_is_forgotten() -> None:
    """Its minimum reclaim holds nobody hostage."""
    old = config(hard={"memory.available": "1Gi"}, min_reclaim={"memory.available": "2Gi"})
    state = look(old, Observation(node=node(memory="500Mi of 4Gi"))).state
    new = config(hard={"nodefs.available": "1Gi"})
    assert look(new, Observation(node=node(memory="2Gi of 4Gi")), state).due == ()


def test_every_threshold_says_how_it_stands() -> None:
    """Met, kept by its minimum reclaim, unobserved, or fine."""
    settings = config(
        hard={"memory.available": "1Gi", "pid.available": "10", "nodefs.available": "1Gi"},
        min_reclaim={"memory.available": "1Gi"},
    )
    first = look(settings, Observation(node=node(memory="1Mi of 4Gi", nodefs="2Gi of 9Gi")))
    second = look(settings, Observation(node=node(memory="1500Mi of 4Gi", nodefs="2Gi of 9Gi")), first.state)
    by_signal = {f.threshold.signal.value: f for f in second.findings if isinstance(f, ThresholdFinding)}
    assert by_signal["memory.available"].kept_by_min_reclaim
    assert not by_signal["memory.available"].met
    assert by_signal["nodefs.available"].grace_left is None
    assert next(f.signal for f in second.findings if isinstance(f, SignalUnobserved)) is Signal.PID_AVAILABLE


def test_missing_stats_and_ignored_settings_are_said() -> None:
    """Once for the settings, every time for the stats."""
    settings = config(hard={"containerfs.available": "1Gi", "nodefs.available": "1Gi"})
    seen = Observation(node=node(nodefs="2Gi of 9Gi"), pods=(pod("a"),))
    first = look(settings, seen)
    assert [type(f) for f in first.findings if isinstance(f, ContainerFsIgnored | StatsMissing)] == [
        ContainerFsIgnored,
        StatsMissing,
    ]
    second = look(settings, seen, first.state)
    assert [type(f) for f in second.findings if isinstance(f, ContainerFsIgnored | StatsMissing)] == [StatsMissing]


def test_a_failed_reading_still_remembers_the_layout() -> None:
    """It was found out before the summary failed."""
    found = assess(State(), Observation(node=None, filesystems=DEDICATED), config(), 0)
    assert isinstance(found, NothingKnown)
    assert found.state == State(filesystems=DEDICATED)


def test_the_configured_thresholds_hold_those_of_containerfs() -> None:
    """Two signals, hard and soft."""
    assert len(configured_thresholds(config(hard={"nodefs.available": "1Gi"}), SINGLE)) == 5


@pytest.mark.parametrize(
    ("signal", "threshold_", "numbers"),
    [
        (Signal.SWAP_AVAILABLE, {"swap.available": "1Gi"}, {"swap": "1Mi of 4Gi"}),
        (
            Signal.NODEFS_INODES_FREE,
            {"nodefs.inodesFree": "100"},
            {"nodefs": "9Gi of 9Gi", "nodefs_inodes": "9 of 900"},
        ),
    ],
    ids=["swapoff", "a filesystem that counts no inodes"],
)
def test_a_condition_ends_with_its_signal_and_not_with_its_reading(
    signal: Signal, threshold_: dict[str, str], numbers: dict[str, Any]
) -> None:
    """Of a signal that is gone nothing can be short; condition and taint stayed for twelve hours with memory free."""
    settings = config(hard=threshold_, transition="30s")
    state = look(settings, Observation(node=node(**numbers))).state
    assert len(state.node_conditions) == 1
    unread, gone = Observation(node=node()), Observation(node=node(), absent=frozenset({signal}))
    later = look(settings, unread, state, now=3600 * SECOND)
    assert later.state.node_conditions == state.node_conditions
    assert SignalUnobserved(signal=signal) in later.findings
    soon = look(settings, gone, later.state, now=3620 * SECOND)
    assert (soon.state.node_conditions, soon.due) == (state.node_conditions, ())
    assert SignalUnobserved(signal=signal, absent=True) in soon.findings
    assert signal not in soon.state.last_seen
    over = look(settings, gone, soon.state, now=3631 * SECOND)
    assert over.state.node_conditions == ()
    assert over.state.thresholds_first_observed_at == {}


@pytest.mark.parametrize("restarted", [False, True], ids=["running", "over a restart"])
@pytest.mark.parametrize("gone", [False, True], ids=["read from the one disk", "no runtime any more"])
def test_a_condition_of_containerfs_ends_when_a_split_layout_becomes_a_single_one(gone: bool, restarted: bool) -> None:
    """Writable layers are on the one disk then, whose threshold is not met; nothing is short of the filesystem that is gone."""
    settings = config(hard={"nodefs.available": "1Gi"}, soft={"imagefs.available": ("2Gi", "30s")}, transition="30s")
    short, plenty = node(nodefs="1Mi of 9Gi").fs, "8Gi of 9Gi"
    assert short is not None
    split = Observation(node=node(nodefs=plenty, imagefs=plenty, container_fs=short), filesystems=SPLIT)
    state = look(settings, split).state
    assert state.node_conditions == (NodeCondition.DISK_PRESSURE,)
    assert [t.signal for t in state.thresholds_first_observed_at] == [Signal.CONTAINERFS_AVAILABLE]
    if restarted:
        state = decode_state(json.loads(json.dumps(encode_state(state))))
    if gone:
        single = Observation(node=node(nodefs=plenty), filesystems=SINGLE, absent=frozenset({*CONTAINERFS, *IMAGEFS}))
    else:
        one = node(nodefs=plenty).fs
        assert one is not None
        single = Observation(node=node(nodefs=plenty, imagefs=plenty, container_fs=one), filesystems=SINGLE)
    soon = look(settings, single, state, now=29 * SECOND)
    assert (soon.state.node_conditions, soon.due) == ((NodeCondition.DISK_PRESSURE,), ())
    over = look(settings, single, soon.state, now=31 * SECOND)
    assert (over.state.node_conditions, over.state.thresholds_first_observed_at) == ((), {})


def test_a_disk_without_a_threshold_is_never_led() -> None:
    """Containerfs has an entry that compares nothing where nodefs and imagefs have no threshold (`Operator.NONE`)."""
    settings = replace(config(hard={"memory.available": "100Mi"}), disk_lead=FastFill.AUTO)
    stats = node(memory="4Gi of 8Gi", nodefs="1Mi of 9Gi")
    filling = replace(stats.fs or FsStats(), fill_rate=100 << 20)
    found = look(settings, Observation(node=replace(stats, fs=filling, image_fs=filling, container_fs=filling)))
    assert (found.due, found.state.node_conditions) == ((), ())
