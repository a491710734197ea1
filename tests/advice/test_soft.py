"""How high a soft threshold for memory has to be."""

from evictd.advice.evidence import NodeEvidence
from evictd.advice.soft import SOFT_GRACE, soft_need, time_to_hard
from evictd.config.kernel_share import below_kernel_share
from evictd.core.model.config import MemoryFormula
from evictd.core.model.signal import Signal
from evictd.core.units.duration import SECOND
from tests.playbook import threshold

GI, MI = 1 << 30, 1 << 20
MEMORY = Signal.MEMORY_AVAILABLE


def node(gibibytes: int, unallocatable: int = 0) -> NodeEvidence:
    """A node of so many GiB, on which so many MiB were recorded as available to nobody."""
    return NodeEvidence(node="n", capacity={MEMORY: gibibytes * GI}, unallocatable=unallocatable * MI)


def test_what_no_process_can_allocate_is_added() -> None:
    """176Mi were advised beside a hard threshold of 104Mi, which acts first: 128Mi of them can be used by nobody."""
    assert soft_need(MEMORY, [node(8, 128), node(8, 90)], 176 * MI) == (304 * MI, 128 * MI)
    assert soft_need(MEMORY, [], 176 * MI) == (176 * MI, 0)


def test_it_is_above_what_the_check_calls_never_met() -> None:
    for gibibytes in (1, 2, 4, 8):
        amount, hidden = soft_need(MEMORY, [node(gibibytes)], 50 * MI)
        assert hidden == amount - 1
        soft = threshold("memory.available", str(amount), grace="30s")
        assert below_kernel_share(soft, MemoryFormula.AUTO, gibibytes * GI) is None
    assert soft_need(MEMORY, [node(64)], 50 * MI) == (50 * MI, 0), "it is not known of larger nodes"


def test_a_disk_has_no_such_part() -> None:
    assert soft_need(Signal.NODEFS_AVAILABLE, [node(8, 128)], MI) == (MI, 0)


def test_a_decision_for_a_disk_waits_until_pods_are_measured() -> None:
    assert time_to_hard(MEMORY, 30) == SOFT_GRACE + 30 * SECOND
    assert time_to_hard(Signal.NODEFS_INODES_FREE, 30) == SOFT_GRACE + (10 + 30) * SECOND
