"""Which threshold of the same disk acts before one that would be proposed."""

from evictd.advice.evidence import NodeEvidence, node_evidence
from evictd.advice.proposal import LEAST_EVICTIONS, Advice, advise
from evictd.advice.same_disk import acts_first
from evictd.codec.reading_record import Chosen, RecordedCycle, SignalLevel
from evictd.core.model.signal import Signal
from evictd.core.units.duration import SECOND
from tests.advice.test_proposal import copies

GI = 1 << 30
IMAGES, NODE = Signal.IMAGEFS_AVAILABLE, Signal.NODEFS_AVAILABLE


def node(of_node: int = 20, kept: int = 2) -> NodeEvidence:
    """A node on which 15 % of a disk of 20Gi for images were met, beside a threshold of nodefs."""
    levels = {
        IMAGES: SignalLevel(available=2 * GI + GI // 2, capacity=20 * GI, hard=3 * GI),
        NODE: SignalLevel(available=2 * GI + GI // 2, capacity=of_node * GI, hard=kept * GI),
    }
    chosen = (Chosen(uid="a", pod="default/a", signal=IMAGES, hard=True),)
    begun = RecordedCycle(at=0, wall="", levels=levels, rates={IMAGES: 20 << 20}, chosen=chosen)
    return node_evidence("n", [begun, RecordedCycle(at=SECOND, wall="", levels=levels, gone=frozenset({"a"}))])


def advised(**disks: int) -> Advice:
    return advise(copies(node(**disks), LEAST_EVICTIONS), 99)


def test_a_threshold_of_images_that_is_never_met_beside_that_of_nodefs_is_not_proposed() -> None:
    """`imagefs.available 704Mi` was proposed beside `keep your evictionHard of nodefs.available` of 2Gi."""
    advice = advised()
    [images] = advice.signals
    assert images.enough_evidence
    assert (images.proposed, images.acts_first) == (False, (NODE, 2 * GI))
    assert advice.kept_hard == (NODE, IMAGES), "it keeps its own one"
    assert advice.max_pod_grace_seconds is None


def test_it_is_proposed_where_it_is_met_first_or_on_a_disk_of_its_own() -> None:
    assert advised(kept=0).signals[0].proposed
    assert advised(of_node=40).signals[0].proposed


def test_a_threshold_that_is_proposed_itself_or_that_not_each_node_has_is_none_that_is_kept() -> None:
    assert acts_first(IMAGES, GI, [node(), node(kept=1)], ()) == (NODE, GI)
    assert acts_first(IMAGES, GI, [node()], {NODE}) is None
    assert acts_first(IMAGES, GI, [node(), node(of_node=40)], ()) is None
    assert acts_first(Signal.MEMORY_AVAILABLE, 1, [node()], ()) is None


def test_a_lower_threshold_of_the_pods_memory_never_acts_beside_the_copy_of_that_of_memory() -> None:
    """`allocatableMemory.available 288Mi` was proposed beside `keep your evictionHard of memory.available` of 819Mi."""
    pods, memory = Signal.ALLOCATABLE_MEMORY_AVAILABLE, Signal.MEMORY_AVAILABLE
    levels = {pods: SignalLevel(available=2 * GI, capacity=20 * GI, hard=3 * GI, derived=True)}
    chosen = (Chosen(uid="a", pod="default/a", signal=pods, hard=True),)
    found = node_evidence("n", [RecordedCycle(at=0, wall="", levels=levels, chosen=chosen)])
    assert acts_first(pods, GI, [found], ()) == (memory, 3 * GI)
    assert acts_first(pods, GI, [found], {memory}) is None
    assert acts_first(pods, 3 * GI, [found], ()) is None
    own = {pods: SignalLevel(available=2 * GI, capacity=20 * GI, hard=3 * GI)}
    assert (
        acts_first(pods, GI, [node_evidence("n", [RecordedCycle(at=0, wall="", levels=own, chosen=chosen)])], ())
        is None
    )
