"""The sentence on a soft threshold that is proposed."""

from dataclasses import replace

from evictd.advice.evidence import node_evidence
from evictd.advice.proposal import LEAST_EVICTIONS, SignalAdvice, advise
from evictd.core.model.signal import Signal
from evictd.render.advice.soft import soft_lines
from tests.advice.test_proposal import MI, copies, reading


def advised(unallocatable: int) -> SignalAdvice:
    readings = [reading(0, 480, evict="a", rate=MI), reading(1, 4000, gone="a")]
    node = node_evidence("n", [replace(each, unallocatable=unallocatable * MI) for each in readings])
    [memory] = advise(copies(node, LEAST_EVICTIONS), 99).signals
    return memory


def test_what_processes_cannot_allocate_is_a_part_of_the_soft_threshold() -> None:
    """`soft 384Mi: at 2.13Mi a second, 30s and evictionMaxPodGracePeriod pass` gave 232Mi: 150Mi were left out."""
    [line] = soft_lines(advised(300))
    assert line.endswith("before the hard threshold is met; it counts up to 300Mi that processes cannot allocate")
    [line] = soft_lines(replace(advised(300), unallocatable=0))
    assert line.endswith("1Mi a second, 30s and evictionMaxPodGracePeriod pass before the hard threshold is met")


def test_the_wait_until_pods_are_measured_is_named_for_a_disk() -> None:
    [line] = soft_lines(replace(advised(0), signal=Signal.NODEFS_AVAILABLE, unallocatable=0))
    assert "30s, up to 10s until pods are measured, and evictionMaxPodGracePeriod pass" in line
