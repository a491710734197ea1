"""TestMakeSignalObservations: numbers become signals, missing ones do not."""

import pytest

from evictd.core.model.observation import Observation, signal_observations
from evictd.core.model.signal import Signal
from evictd.core.model.stats import FsStats, MemoryStats, NodeStats, RlimitStats
from evictd.core.units.quantity import Format
from tests.playbook import node, pod, usage


def test_every_signal_from_its_own_numbers() -> None:
    """Available and capacity; memory's capacity is available plus working set."""
    numbers = NodeStats(
        memory=MemoryStats(time=1, available_bytes=30, working_set_bytes=10),
        pods_memory=MemoryStats(time=2, available_bytes=-5, working_set_bytes=25),
        fs=FsStats(time=3, available_bytes=1, capacity_bytes=2, inodes_free=3, inodes=4),
        image_fs=FsStats(time=4, available_bytes=5, capacity_bytes=6, inodes_free=7, inodes=8),
        container_fs=FsStats(time=5, available_bytes=9, capacity_bytes=10, inodes_free=11, inodes=12),
        rlimit=RlimitStats(time=6, max_pid=100, current=40),
    )
    got = {s.value: (o.available.value(), o.capacity.value(), o.time) for s, o in signal_observations(numbers).items()}
    assert got == {
        "memory.available": (30, 40, 1),
        "allocatableMemory.available": (-5, 20, 2),
        "nodefs.available": (1, 2, 3),
        "nodefs.inodesFree": (3, 4, 3),
        "imagefs.available": (5, 6, 4),
        "imagefs.inodesFree": (7, 8, 4),
        "containerfs.available": (9, 10, 5),
        "containerfs.inodesFree": (11, 12, 5),
        "pid.available": (60, 100, 6),
    }


def test_of_a_pending_pod_without_any_statistics_nothing_runs() -> None:
    """A pod whose init container runs is pending as well, but has statistics."""
    pulling, running = pod("pulling", phase="Pending"), pod("running", phase="Running")
    seen = Observation(node=None, pods=(pulling, running))
    assert (seen.runs_nothing(pulling), seen.runs_nothing(running)) == (True, False)
    started = Observation(node=None, pods=(pulling,), pod_stats={"pulling": usage(pulling)})
    assert not started.runs_nothing(pulling)


def test_a_missing_number_leaves_its_signal_out() -> None:
    """Absent, never zero."""
    assert signal_observations(NodeStats()) == {}
    partial = NodeStats(memory=MemoryStats(available_bytes=1), fs=FsStats(inodes=4, inodes_free=1))
    assert list(signal_observations(partial)) == [Signal.NODEFS_INODES_FREE]


@pytest.mark.parametrize(
    "half",
    [
        NodeStats(rlimit=RlimitStats(max_pid=100)),
        NodeStats(rlimit=RlimitStats(current=40)),
        NodeStats(memory=MemoryStats(available_bytes=1)),
        NodeStats(memory=MemoryStats(working_set_bytes=1)),
        NodeStats(pods_memory=MemoryStats(available_bytes=1)),
        NodeStats(fs=FsStats(available_bytes=1, inodes_free=1)),
        NodeStats(image_fs=FsStats(capacity_bytes=1, inodes=1)),
    ],
)
def test_one_number_of_two_is_no_observation(half: NodeStats) -> None:
    assert signal_observations(half) == {}


def test_counters_carry_their_format() -> None:
    """Bytes binary, inodes and PIDs decimal."""
    found = signal_observations(node(nodefs="1Gi of 2Gi", nodefs_inodes="1k of 2k", pids="1k of 2k"))
    assert [observation.available.format for observation in found.values()] == [
        Format.BINARY_SI,
        Format.DECIMAL_SI,
        Format.DECIMAL_SI,
    ]
