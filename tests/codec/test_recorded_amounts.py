"""What a recorded summary says of the node's amounts."""

from dataclasses import replace

import msgspec

from evictd.codec.records.recorded_amounts import RecordedAmounts
from evictd.codec.summary import encode_summary
from evictd.core.model.signal import Resource, Signal
from evictd.core.model.stats import DiskUsage, FsStats, MemoryStats, NodeStats, PodStats, RlimitStats
from evictd.core.units.duration import SECOND

GI = 2**30


def amounts_of(node: NodeStats, *pods: PodStats) -> RecordedAmounts:
    return msgspec.convert(encode_summary(node, {each.uid: each for each in pods}), RecordedAmounts)


def test_what_belongs_to_no_pod_is_read_where_everything_was_measured() -> None:
    fs = FsStats(time=0, available_bytes=60 * GI, capacity_bytes=100 * GI)
    node = NodeStats(name="n", fs=fs, image_fs=fs, rlimit=RlimitStats(time=0, max_pid=1000, current=300))
    storage = DiskUsage(used_bytes=10 * GI, inodes_used=1)
    pod = PodStats(uid="a", name="a", namespace="d", ephemeral_storage=storage, process_count=200, disk_time=0)
    assert amounts_of(node, pod).outside_pods == {Resource.EPHEMERAL_STORAGE: 30 * GI, Resource.PIDS: 100}
    assert amounts_of(node, pod).capacity == {Resource.EPHEMERAL_STORAGE: 100 * GI, Resource.PIDS: 1000}
    not_walked = replace(pod, uid="b", disk_time=None, process_count=None)
    assert amounts_of(node, pod, not_walked).outside_pods == {}
    later = replace(node, fs=replace(fs, time=10 * SECOND))
    assert amounts_of(later, pod).outside_pods == {Resource.PIDS: 100}, "the pod may have written since it was walked"
    two_disks = replace(node, image_fs=replace(fs, capacity_bytes=200 * GI))
    assert amounts_of(two_disks, pod).outside_pods == {Resource.PIDS: 100}


def test_memory_that_the_formula_counts_and_no_process_can_allocate_is_read() -> None:
    def overcounted(kernels: int | None) -> int:
        memory = MemoryStats(time=0, available_bytes=GI, working_set_bytes=7 * GI, mem_available_bytes=kernels)
        return amounts_of(NodeStats(name="n", memory=memory)).overcounted

    assert (overcounted(GI // 4), overcounted(2 * GI), overcounted(None)) == (GI * 3 // 4, 0, 0)


def test_imagefs_is_measured_as_a_disk_of_its_own() -> None:
    fs = FsStats(time=0, available_bytes=60 * GI, capacity_bytes=100 * GI)
    node = NodeStats(name="n", fs=fs, image_fs=fs)
    assert amounts_of(node).available == {Signal.NODEFS_AVAILABLE: (60 * GI, 100 * GI)}
    own = replace(node, image_fs=replace(fs, capacity_bytes=200 * GI))
    assert amounts_of(own).available[Signal.IMAGEFS_AVAILABLE] == (60 * GI, 200 * GI)
