"""Decoding and encoding of the stats summary."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evictd.codec.summary import decode_summary, encode_summary
from evictd.core.model.stats import (
    FsStats,
    IOStats,
    MemoryStats,
    NodeStats,
    PodStats,
    PressureStall,
    PSIStats,
    RlimitStats,
)
from evictd.errors import InputError
from tests.playbook import pod
from tests.strategies import node_stats, pod_stats

SAMPLE = Path(__file__).parents[1] / "data" / "samples" / "stats-summary.json"


def test_a_real_summary_is_read() -> None:
    """Recorded from a kubelet with more than six pods."""
    node, pods = decode_summary(SAMPLE.read_bytes())
    assert node.memory == MemoryStats(
        time=1795226351 * 10**9,
        available_bytes=24266432512,
        usage_bytes=1646899200,
        working_set_bytes=1010081792,
        psi=PSIStats(PressureStall(0.0, 0.0, 0.0, 0), PressureStall(0.0, 0.0, 0.0, 0)),
    )
    assert node.pods_memory is not None
    assert node.rlimit == RlimitStats(time=1795226353 * 10**9, max_pid=32768, current=239)
    one = pods["5e9658e3-b3cc-45b0-b802-558a26a01ed2"]
    assert (one.name, one.containers[0].rootfs) == ("a", (8192, 5))
    assert one.ephemeral_storage == (12288, 7)


def test_a_real_summary_survives_being_written() -> None:
    """Through JSON text and back."""
    node, pods = decode_summary(SAMPLE.read_bytes())
    assert decode_summary(json.dumps(encode_summary(node, pods))) == (node, pods)


@given(node_stats(5), pod_stats(pod("p")))
def test_any_stats_survive_being_written(node: NodeStats, stats: PodStats) -> None:
    """Absent numbers stay absent."""
    assert decode_summary(encode_summary(node, {stats.uid: stats})) == (node, {stats.uid: stats})


def test_read_only_is_kept_and_a_writable_filesystem_is_encoded_as_the_kubelets() -> None:
    """In scenarios and journals alike."""
    node = NodeStats(fs=FsStats(available_bytes=1, read_only=True), image_fs=FsStats(available_bytes=1))
    plain = encode_summary(node, {})["node"]
    assert (plain["fs"]["readOnly"], "readOnly" in plain["runtime"]["imageFs"]) == (True, False)
    assert decode_summary({"node": plain})[0] == node


@given(st.integers(-(2**62), 2**62))
def test_an_available_below_zero_is_unwrapped(available: int) -> None:
    """Unsigned on the wire, negative in meaning."""
    node = NodeStats(memory=MemoryStats(available_bytes=available, working_set_bytes=1))
    plain = encode_summary(node, {})
    assert plain["node"]["memory"]["availableBytes"] >= 0
    assert decode_summary(plain)[0] == node


@pytest.mark.parametrize(
    "document",
    ["{}", '{"node": {"memory": {"time": "yesterday"}}}', '{"node": {"fs": {"inodes": "many"}}}', "x", '{"node": NaN}'],
)
def test_garbage_is_an_error_of_one_line(document: str) -> None:
    """With the path if there is one."""
    with pytest.raises(InputError, match=r"^summary: ") as caught:
        decode_summary(document)
    assert "\n" not in str(caught.value)


def test_the_averages_of_a_stall_are_percentages() -> None:
    """Its total is in nanoseconds on the wire; the kernel's is in microseconds."""
    line = {"total": 5000, "avg10": 31.2, "avg60": 7, "avg300": 0}
    node, _ = decode_summary({"node": {"memory": {"psi": {"full": line}}}})
    assert node.memory is not None
    assert node.memory.psi == PSIStats(PressureStall(31.2, 7.0, 0.0, 5), None)
    for average in (-1, 101, float("nan")):
        with pytest.raises(InputError):
            decode_summary({"node": {"io": {"psi": {"some": {**line, "avg10": average}}}}})


def test_stalls_survive_in_nanoseconds() -> None:
    node = NodeStats(io=IOStats(time=0, psi=PSIStats(full=PressureStall(31.2, 7.0, 0.0, 5))))
    plain = encode_summary(node, {})
    assert plain["node"]["io"]["psi"] == {"full": {"total": 5000, "avg10": 31.2, "avg60": 7.0, "avg300": 0.0}}
    assert decode_summary(plain) == (node, {})


def test_stalls_that_are_absent_stay_absent() -> None:
    assert encode_summary(NodeStats(io=None, memory=MemoryStats(psi=None)), {})["node"] == {"memory": {}}
    node, _ = decode_summary({"node": {"memory": {}, "io": {}}})
    assert (node.memory, node.io, node.pods_io) == (MemoryStats(), IOStats(), None)


@pytest.mark.parametrize("average", [-0.1, 100.1])
def test_an_average_that_is_no_percentage_is_refused(average: float) -> None:
    with pytest.raises(InputError, match="no percentages"):
        decode_summary({"node": {"io": {"psi": {"some": {"avg300": average}}}}})


def test_the_nodes_swap_survives() -> None:
    swap = {"time": "2026-01-01T00:00:00Z", "swapAvailableBytes": 3, "swapUsageBytes": 5}
    node, pods = decode_summary({"node": {"swap": swap}})
    assert node.swap is not None
    assert (node.swap.available_bytes, node.swap.usage_bytes) == (3, 5)
    assert decode_summary(encode_summary(node, pods)) == (node, pods)
    assert decode_summary({"node": {"swap": {**swap, "swapAvailableBytes": 0, "swapUsageBytes": 0}}})[0].swap is None


def test_a_pods_swap_survives() -> None:
    row = {"podRef": {"name": "a", "namespace": "b", "uid": "u"}, "memory": {}, "swap": {"swapUsageBytes": 5}}
    node, pods = decode_summary({"node": {}, "pods": [row]})
    assert pods["u"].memory == MemoryStats(swap_bytes=5)
    assert decode_summary(encode_summary(node, pods)) == (node, pods)


def test_file_pages_the_kernels_estimate_and_stalls_survive() -> None:
    memory = {"workingSetBytes": 9, "cleanFileBytes": 5, "memAvailableBytes": 7, "stalled": 150}
    node, pods = decode_summary({"node": {"memory": memory}})
    assert node.memory == MemoryStats(working_set_bytes=9, clean_file_bytes=5, mem_available_bytes=7, stalled=150)
    assert decode_summary(encode_summary(node, pods)) == (node, pods)
