"""How high a soft threshold for memory has to be."""

from evictd.advice.evidence import NodeEvidence
from evictd.advice.soft import SOFT_GRACE, HardActs, hard_acts, soft_need, time_to_hard
from evictd.config.kernel_share import below_kernel_share
from evictd.config.lint_model import Surroundings
from evictd.config.soft_after_hard import soft_after_hard
from evictd.core.model.config import MemoryFormula
from evictd.core.model.signal import Signal
from evictd.core.units.duration import SECOND
from evictd.core.units.quantity import of_bytes
from tests.playbook import threshold

GI, MI = 1 << 30, 1 << 20
MEMORY = Signal.MEMORY_AVAILABLE
NONE = HardActs(0, 0, "")


def node(gibibytes: int, unallocatable: int = 0) -> NodeEvidence:
    """A node of so many GiB, on which so many MiB were recorded as available to nobody."""
    return NodeEvidence(node="n", capacity={MEMORY: gibibytes * GI}, unallocatable=unallocatable * MI)


def test_what_no_process_can_allocate_is_added() -> None:
    """176Mi were advised beside a hard threshold of 104Mi, which acts first: 128Mi of them can be used by nobody."""
    assert soft_need(MEMORY, [node(8, 128), node(8, 90)], 176 * MI, NONE) == (304 * MI, 128 * MI)
    assert soft_need(MEMORY, [], 176 * MI, NONE) == (176 * MI, 0)


def test_it_is_above_what_the_check_calls_never_met() -> None:
    for gibibytes in (1, 2, 4, 8):
        amount, hidden = soft_need(
            MEMORY, [node(gibibytes)], 50 * MI, hard_acts(MEMORY, [node(gibibytes)], 0, keeps=True)
        )
        assert hidden == amount - 1
        soft = threshold("memory.available", str(amount), grace="30s")
        assert below_kernel_share(soft, MemoryFormula.AUTO, gibibytes * GI) is None
    assert hard_acts(MEMORY, [node(64)], 0, keeps=True).at == 0, "it is not known of larger nodes"


def test_the_hard_one_acts_after_it_on_each_node() -> None:
    """592Mi were advised beside 500Mi for nodes of 64 and 4 GiB: `evictd check` warned of SoftAfterHard on that of 4."""
    nodes, hard = [node(64), node(4)], threshold("memory.available", "500Mi")
    amount, _ = soft_need(MEMORY, nodes, 560 * MI, hard_acts(MEMORY, nodes, 500 * MI, keeps=False))
    for soft, warns in ((amount, False), (592 * MI, True)):
        thresholds = [hard, threshold("memory.available", str(soft), grace="30s")]
        on_each = [
            Surroundings(capacities={MEMORY: of_bytes(each.capacity[MEMORY])}, formula=MemoryFormula.AUTO)
            for each in nodes
        ]
        assert any(list(soft_after_hard(thresholds, around)) for around in on_each) is warns


def test_a_higher_hard_one_that_a_node_keeps_counts() -> None:
    """2Gi were advised for a node that has a hard threshold of 10Gi and no eviction."""
    disk, high = Signal.NODEFS_AVAILABLE, NodeEvidence(node="high", hard={Signal.NODEFS_AVAILABLE: 10 * GI})
    assert hard_acts(disk, [node(8), high], GI, keeps=True) == (10 * GI, 0, "high")
    assert hard_acts(disk, [node(8), high], GI, keeps=False).at == GI


def test_a_disk_has_no_such_part() -> None:
    assert soft_need(Signal.NODEFS_AVAILABLE, [node(8, 128)], MI, NONE) == (MI, 0)
    assert hard_acts(Signal.NODEFS_AVAILABLE, [node(8, 128)], MI, keeps=True).at == MI


def test_a_decision_for_a_disk_waits_until_pods_are_measured() -> None:
    assert time_to_hard(MEMORY, 30) == SOFT_GRACE + 30 * SECOND
    assert time_to_hard(Signal.NODEFS_INODES_FREE, 30) == SOFT_GRACE + (10 + 30) * SECOND
