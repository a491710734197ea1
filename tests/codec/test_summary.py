"""The stats summary in and out."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evictd.codec.summary import decode_summary, encode_summary
from evictd.core.stats import MemoryStats, NodeStats, PodStats, RlimitStats
from evictd.errors import InputError
from tests.playbook import pod
from tests.strategies import node_stats, pod_stats

SAMPLE = Path(__file__).parents[1] / "data" / "samples" / "stats-summary.json"


def test_a_real_summary_is_read() -> None:
    """A kubelet's own, of a node with six pods and more."""
    node, pods = decode_summary(SAMPLE.read_bytes())
    assert node.memory == MemoryStats(
        time=1795226351 * 10**9,
        available_bytes=24266432512,
        usage_bytes=1646899200,
        working_set_bytes=1010081792,
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


@given(st.integers(-(2**62), 2**62))
def test_an_available_below_zero_is_unwrapped(available: int) -> None:
    """Unsigned on the wire, negative in truth (spec 3.1)."""
    node = NodeStats(memory=MemoryStats(available_bytes=available, working_set_bytes=1))
    plain = encode_summary(node, {})
    assert plain["node"]["memory"]["availableBytes"] >= 0
    assert decode_summary(plain)[0] == node


@pytest.mark.parametrize(
    "document",
    ["{}", '{"node": {"memory": {"time": "yesterday"}}}', '{"node": {"fs": {"inodes": "many"}}}', "x", '{"node": NaN}'],
)
def test_garbage_is_one_clear_line(document: str) -> None:
    """With the path where there is one."""
    with pytest.raises(InputError, match=r"^summary: ") as caught:
        decode_summary(document)
    assert "\n" not in str(caught.value)
