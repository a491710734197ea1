"""What the kubelet has to reserve."""

from dataclasses import replace

import pytest

from evictd.advice.evidence import NodeEvidence, OutsidePods, node_evidence
from evictd.advice.proposal import advise
from evictd.advice.reservation import LEAST_READINGS, fits_half, highest_threshold, reservation
from evictd.codec.records.reading_record import RecordedCycle
from evictd.core.model.signal import Resource, Signal
from evictd.render.advice.settings import other_lines
from tests.advice.test_proposal import MEMORY, MI, reading

GI = 1 << 30


def using(name: str, mebibytes: int, capacity: int) -> NodeEvidence:
    outside = OutsidePods(node=name, wall="", amount=mebibytes * MI, capacity=capacity * MI)
    readings = {Resource.MEMORY: LEAST_READINGS}
    return NodeEvidence(node=name, outside_pods={Resource.MEMORY: outside}, outside_readings=readings)


def test_no_reservation_is_above_half_of_the_least_capacity() -> None:
    """It advised 104Gi of a disk of 100Gi, and 6.5Gi of memory for a fleet with a node of 1Gi."""
    [fits] = advise([using("large", 512, 8192), using("small", 64, 1024)], 100).reserved
    assert (fits.proposed, fits.amount) == (True, 512 * MI)
    [too_large] = advise([using("large", 700, 8192), using("small", 64, 1024)], 100).reserved
    assert (too_large.proposed, too_large.enough_evidence, too_large.smallest.node) == (False, True, "small")
    assert not advise([using("large", 6000, 8192)], 100).reserved[0].proposed
    assert advise([replace(using("old", 6000, 0))], 100).reserved[0].proposed


def test_what_grows_outside_pods_is_not_reserved() -> None:
    """3Gi of 8Gi were to be reserved for a process of the host that leaked them."""
    leaks, steady = using("leaks", 3072, 8192), using("steady", 500, 8192)
    grew = replace(leaks.outside_pods[Resource.MEMORY], least=200 * MI)
    leaks = replace(leaks, outside_pods={Resource.MEMORY: grew})
    advice = advise([leaks], 100)
    assert not advice.reserved[0].proposed
    assert any(
        "none proposed: what is used outside pods grew from 200Mi to 3Gi" in line for line in other_lines(advice)
    )
    [reserved] = advise([leaks, steady], 100).reserved
    assert (reserved.proposed, reserved.amount) == (True, 512 * MI), "of the other node"
    constant = replace(leaks, outside_pods={Resource.MEMORY: replace(grew, least=2600 * MI)})
    assert advise([constant], 100).reserved[0].proposed


def test_the_least_used_outside_pods_is_that_of_all_readings() -> None:
    used = [replace(reading(at, 4000), outside_pods={Resource.MEMORY: amount * MI}) for at, amount in ((0, 9), (1, 7))]
    found = node_evidence("n", used).outside_pods[Resource.MEMORY]
    assert (found.amount, found.least) == (9 * MI, 7 * MI)


def test_nothing_in_use_outside_pods_is_no_reservation() -> None:
    none = replace(
        node_evidence("n", [reading(0, 4000)]),
        outside_pods={Resource.PIDS: OutsidePods(node="n", wall="", amount=0)},
        outside_readings={Resource.PIDS: LEAST_READINGS},
    )
    [reserved] = advise([none], 99).reserved
    assert (reserved.amount, reserved.enough_evidence, reserved.proposed) == (0, True, False)


def test_it_covers_the_highest_threshold_of_memory_too() -> None:
    """With the use outside pods alone, pods within their requests met the advised soft threshold: two of them were evicted."""
    found = reservation(Resource.MEMORY, [using("n", 1100, 8192)], 99, {"n": 1366 * MI})
    assert (found.amount, found.threshold, found.with_threshold) == (2560 * MI, 1366 * MI, 0)
    assert (found.needs, found.not_covered, found.proposed) == ((2466 * MI,), (), True)
    kept = replace(using("n", 1000, 8192), hard={MEMORY: 500 * MI})
    assert advise([kept], 99).reserved[0].amount == 1536 * MI, "a threshold that is kept counts too"


def test_it_covers_the_highest_threshold_of_the_one_disk_too() -> None:
    """Beside a soft imagefs.available of 18Gi it advised the 32Gi in use outside pods: a pod within its request was evicted."""
    disk, nodefs, imagefs = Resource.EPHEMERAL_STORAGE, Signal.NODEFS_AVAILABLE, Signal.IMAGEFS_AVAILABLE
    node = NodeEvidence(
        node="n",
        outside_pods={disk: OutsidePods(node="n", wall="", amount=32 * GI, capacity=100 * GI)},
        outside_readings={disk: LEAST_READINGS},
        hard={nodefs: 10 * GI, imagefs: 15 * GI},
    )
    [found] = advise([node], 99).reserved
    assert (found.amount, found.threshold) == (48 * GI, 15 * GI)
    [soft] = advise([replace(node, soft={imagefs: 18 * GI}, unallocatable=GI)], 99).reserved
    assert (soft.proposed, soft.amount, soft.threshold) == (True, 50 * GI, 18 * GI), "it is not rounded above the half"
    [text] = [
        each for each in other_lines(advise([replace(node, readings=1)], 99)) if "for ephemeral-storage: " in each
    ]
    assert "; 15Gi are for the highest threshold of nodefs.available and imagefs.available, or pods " in text


def test_where_the_threshold_is_too_much_for_a_small_node_the_use_outside_pods_is_reserved() -> None:
    found = reservation(Resource.MEMORY, [using("n", 300, 1024)], 99, {"n": 350 * MI})
    assert (found.amount, found.threshold, found.with_threshold) == (320 * MI, 0, 704 * MI)
    assert (found.needs, found.proposed) == ((300 * MI,), True)
    assert not fits_half(704 * MI, found.smallest)
    assert fits_half(512 * MI, found.smallest)


@pytest.mark.parametrize(
    ("hard", "soft", "keeps_soft", "highest"),
    [
        (None, None, True, 854),
        (None, None, False, 500),
        (600, None, True, 854),
        (600, None, False, 600),
        (600, 1536, False, 1366),
    ],
)
def test_what_no_process_can_allocate_is_not_reserved_twice(
    hard: int | None, soft: int | None, *, keeps_soft: bool, highest: int
) -> None:
    node = NodeEvidence(node="n", hard={MEMORY: 500 * MI}, soft={MEMORY: 854 * MI}, unallocatable=170 * MI)
    amounts = [None if each is None else each * MI for each in (hard, soft)]
    assert highest_threshold(node, MEMORY, *amounts, keeps_soft=keeps_soft) == highest * MI


def test_unused_images_which_reclaim_frees_are_not_reserved() -> None:
    """100Gi were proposed for 30Gi of the system, a threshold of 30Gi, and images of which reclaim freed 36Gi."""
    disk = Resource.EPHEMERAL_STORAGE

    def seen(at: int, used: int, *, freed: int = 0, unused: int | None = None) -> RecordedCycle:
        known = None if unused is None else unused * GI
        used_outside, capacity = {disk: used * GI}, {disk: 200 * GI}
        found = replace(reading(at, 4000), outside_pods=used_outside, capacity=capacity, freed_images=freed * GI)
        return replace(found, unused_images=known)

    def most(*readings: RecordedCycle) -> tuple[int, bool]:
        found = node_evidence("n", readings).outside_pods[disk]
        return found.amount // GI, found.with_images

    freed = (seen(0, 66), seen(1, 68), seen(2, 32, freed=36))
    assert most(*freed) == (32, False)
    assert most(*freed, seen(3, 33, freed=36)) == (33, True), "of these nothing was freed"
    assert most(*freed, seen(3, 40, freed=36), seen(4, 30, freed=10)) == (32, False)
    assert most(seen(0, 68, unused=36)) == (32, False)
    assert most(seen(0, 68)) == (68, True)
    for readings, text in ((freed, "without unused images was 32Gi"), (freed[:2], ", images included, was 68Gi")):
        node = replace(node_evidence("n", readings), outside_readings={disk: LEAST_READINGS})
        assert any(text in line for line in other_lines(advise([node], 100)))
