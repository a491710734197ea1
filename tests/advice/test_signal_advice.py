"""What is advised for one signal of the evictions that nodes recorded."""

from dataclasses import replace

from evictd.advice.enough import round_up
from evictd.advice.evidence import OutsidePods, node_evidence
from evictd.advice.proposal import advise
from evictd.advice.signal_advice import LEAST_EVICTIONS
from evictd.core.model.signal import Resource
from evictd.core.units.duration import SECOND
from tests.advice.test_proposal import AGAIN, KEPT, MI, copies, reading, with_capacity


def test_a_shortage_that_comes_back_asks_for_a_minimum_reclaim() -> None:
    [advice] = advise([node_evidence("n", AGAIN)], 99).signals
    assert (advice.min_reclaim, advice.came_back, advice.one_more) == (round_up(210 * MI), round_up(210 * MI), None)


def test_no_minimum_reclaim_is_proposed_that_would_have_cost_a_pod() -> None:
    """From 46 incidents it advised 5.5Gi, with which an innocent pod went in three of them."""
    for left, costs in ((600, True), (1900, False), (110, False)):  # with 110Mi the threshold alone is met
        quiet = node_evidence(
            "quiet", [reading(0, 110, evict="hog", rate=1, behind="web"), reading(2, left, gone="hog")]
        )
        [advice] = advise([node_evidence("n", AGAIN), quiet], 99).signals
        assert (advice.hard, advice.came_back) == (500 * MI, 224 * MI)
        assert (advice.one_more is not None, advice.min_reclaim == 0) == (costs, costs), left


def test_no_minimum_reclaim_is_proposed_beyond_half_of_the_capacity() -> None:
    """Of one journal it advised 5.5Gi for a node of 8Gi, which `evictd check` refuses as MinimumReclaimTooLarge."""
    small = [with_capacity(each, 600) for each in AGAIN]
    [advice] = advise([node_evidence("small", small)], 99).signals
    assert (advice.min_reclaim, advice.came_back, advice.no_room) == (0, round_up(210 * MI), "small")


def test_a_threshold_covers_what_is_used_up_before_the_decision_too() -> None:
    """It advised 576Mi where a disk fell 700Mi from the crossing to the decision, and claimed that all would be early enough.

    Five seconds after the crossing a cycle saw it: with a higher threshold the wait for a cycle can be ten.
    """
    slow = [reading(0, 900), reading(10, 100, evict="a"), reading(11, 900, gone="a")]
    [advice] = advise(copies(node_evidence("n", slow), 2), 99).signals
    assert advice.hard == round_up((800 + 80) * MI + KEPT)
    assert (advice.enough, advice.too_late, advice.not_covered) == (2, 2, ())
    assert advice.earlier == (advice.hard - 500 * MI) * SECOND // (80 * MI)


def test_no_lower_threshold_is_said_to_leave_more_than_a_higher_one_did() -> None:
    """Of evictions at a disk that was full already it claimed so much of a threshold 17 times lower."""
    full = node_evidence("full", [reading(0, 0, evict="a", rate=0), reading(1, 4000, gone="a")])
    early = node_evidence("early", [reading(0, 480, evict="a", rate=1), reading(1, 4000, gone="a")])
    [advice] = advise([full, early], 99).signals
    assert advice.hard <= 500 * MI
    assert (advice.enough, advice.episodes - advice.too_late, advice.not_covered) == (1, 1, ("full",))


def test_no_lower_threshold_is_proposed_than_one_with_which_an_eviction_was_too_late() -> None:
    """It advised 3.25Gi of a disk that had run full with 10Gi, as enough for the worst that was recorded."""
    full = node_evidence("full", [reading(0, 0, evict="a"), reading(1, 4000, gone="a")])
    early = node_evidence("early", [reading(0, 480, evict="a", rate=1), reading(1, 4000, gone="a")])
    [advice] = advise([full, *copies(early, LEAST_EVICTIONS)], 99).signals
    assert (advice.hard, advice.kept, advice.proposed, advice.not_covered) == (500 * MI, True, True, ("full",))
    [advice] = advise(copies(full, LEAST_EVICTIONS), 99).signals
    assert (advice.enough_evidence, advice.covers, advice.proposed) == (True, False, False)
    [advice] = advise(copies(early, LEAST_EVICTIONS), 99).signals
    assert (advice.kept, advice.covers, advice.keeps, advice.raised) == (False, True, True, False)


def test_one_value_is_proposed_only_where_it_fits_every_node() -> None:
    """For a fleet with a node of 1Gi it advised half of that, with which pods went there that did not exceed their requests."""
    [small, large] = [
        node_evidence(
            name, [with_capacity(each, capacity) for each in (reading(0, 480, evict="a", rate=int(rate * MI)), gone)]
        )
        for name, capacity, rate in (("small", 1024, 1), ("large", 8192, 100))
        for gone in [reading(6, 4000, gone="a")]
    ]
    [memory] = advise([*copies(large, LEAST_EVICTIONS), small], 100).signals
    assert (memory.apart, memory.enough_evidence, memory.proposed) == ((1024 * MI, 8192 * MI), True, False)
    [memory] = advise(copies(large, LEAST_EVICTIONS), 100).signals
    assert (memory.apart, memory.proposed) == (None, True)


def test_what_is_advised_fits_every_node_that_it_comes_from() -> None:
    """A reserve of a tenth at most, and no more than half of the least capacity, which `evictd check` refuses."""
    nodes = [
        node_evidence(
            name, [with_capacity(each, capacity) for each in (reading(0, 80, evict="a", rate=int(rate * MI)), gone)]
        )
        for name, capacity, rate in (("small", 200, 5), ("large", 8192, 30))
        for gone in [reading(10, 100, gone="a")]
    ]
    assert [node.episodes[0].needed for node in nodes] == [70 * MI, 400 * MI]
    [memory] = advise(nodes, 100).signals
    assert (memory.hard, memory.limited_by, memory.not_covered) == (100 * MI, "small", ("large",))
    [memory] = advise(nodes[:1], 100).signals
    assert (memory.keeps, memory.limited_by, memory.not_covered) == (True, "", ())


def test_the_advice_says_what_it_would_have_changed() -> None:
    nodes = [
        node_evidence(f"n{rate}", [reading(0, 480, evict="a", rate=int(rate * MI)), reading(10, 4000, gone="a")])
        for rate in (10, 40, 60)
    ]
    [memory] = advise(nodes, 60).signals
    assert (memory.hard, memory.episodes, memory.too_late, memory.enough) == (512 * MI, 3, 2, 2)
    assert memory.earlier == 32 * MI * SECOND // (10 * MI)


def test_no_threshold_is_proposed_for_a_leak_outside_pods() -> None:
    """With 320Mi and a minimum reclaim of 1Gi twice as many pods that did not grow were evicted, and no fewer killed."""
    fill = node_evidence("n", [reading(0, 480, evict="a", rate=90 * MI), reading(1, 4000, gone="a")])
    outside = OutsidePods(node="n", wall="", amount=3000 * MI, capacity=8192 * MI, least=500 * MI)
    leak, steady = (
        replace(fill, outside_pods={Resource.MEMORY: replace(outside, least=least)}) for least in (500 * MI, 2900 * MI)
    )
    for nodes, leaks in (
        (copies(leak, LEAST_EVICTIONS), True),
        (copies(steady, LEAST_EVICTIONS), False),
        ([*copies(leak, LEAST_EVICTIONS), replace(steady, node="steady")], False),
        (copies(fill, LEAST_EVICTIONS), False),
    ):
        [memory] = advise(nodes, 99).signals
        assert (bool(memory.leaked), memory.proposed) == (leaks, not leaks)
