"""What is advised of the evictions that nodes recorded."""

from dataclasses import replace

from evictd.advice import LEAST_EVICTIONS, RESERVE, NodeEvidence, OutsidePods, advise, node_evidence, round_up
from evictd.codec.reading_record import Chosen, RecordedCycle, SignalLevel
from evictd.core.model.signal import Resource, Signal
from evictd.core.units.duration import MINUTE, SECOND

MI = 2**20
MEMORY = Signal.MEMORY_AVAILABLE
KEPT = RESERVE[Resource.MEMORY]


def reading(at: int, left: int, *, evict: str = "", rate: int = 0, gone: str = "", hard: bool = True) -> RecordedCycle:
    """A reading of 8 GiB with a hard threshold of 500Mi."""
    chosen = (Chosen(uid=evict, pod=f"default/{evict}", signal=MEMORY, hard=hard, fill_rate=rate),) if evict else ()
    levels = {MEMORY: SignalLevel(available=left * MI, capacity=8192 * MI, hard=500 * MI)}
    return RecordedCycle(at=at * SECOND, wall=f"at {at}", levels=levels, chosen=chosen, gone=frozenset({gone} - {""}))


def test_what_a_stop_uses_up_is_the_fall_or_the_rate_times_the_time() -> None:
    [fell] = node_evidence("n", [reading(0, 480, evict="a"), reading(2, 80), reading(4, 4000, gone="a")]).episodes
    assert (fell.used, fell.took, fell.too_late) == (400 * MI, 4 * SECOND, True)
    [filled] = node_evidence("n", [reading(0, 480, evict="a", rate=50 * MI), reading(4, 4000, gone="a")]).episodes
    assert (filled.used, filled.rate, filled.too_late) == (200 * MI, 50 * MI, False)
    assert filled.needed == 200 * MI + KEPT


def test_a_rate_of_two_readings_close_together_counts_where_none_was_measured() -> None:
    [episode] = node_evidence("n", [reading(0, 580), reading(10, 480, evict="a"), reading(12, 4000, gone="a")]).episodes
    assert episode.rate == 10 * MI


def test_a_victim_whose_end_was_not_recorded_and_another_boot_end_an_episode() -> None:
    [lost] = node_evidence("n", [reading(0, 480, evict="a", rate=MI), reading(40_000, 10)]).episodes
    assert (lost.used, lost.took) == (0, 0)
    [boot] = node_evidence("n", [reading(100, 480, evict="a"), reading(3, 10, gone="a")]).episodes
    assert boot.used == 0


def test_the_advice_is_enough_for_the_asked_share_and_names_the_others() -> None:
    nodes = [
        replace(
            node_evidence(f"n{i:02}", [reading(0, 480, evict="a", rate=i * MI), reading(10, 4000, gone="a")]),
            outside_pods={Resource.MEMORY: OutsidePods(node=f"n{i:02}", wall="", amount=i * MI)},
        )
        for i in range(1, 101)
    ]
    [memory] = advise(nodes, 90).signals
    assert memory.hard == round_up(900 * MI + KEPT) == 1024 * MI
    assert memory.not_covered == tuple(f"n{i:02}" for i in (100, *range(93, 100)))
    assert (memory.now, memory.episodes, memory.too_late) == ((500 * MI, 500 * MI), 100, 100 - 38)
    assert memory.worst.node == "n100"
    [reserved] = advise(nodes, 90).reserved
    assert (reserved.resource, reserved.amount) == (Resource.MEMORY, round_up(90 * MI))
    assert reserved.worst.node == "n100"
    assert reserved.not_covered == ("n100", "n97", "n98", "n99")
    assert advise(nodes, 100).signals[0].not_covered == ()
    assert advise([NodeEvidence(node="calm", readings=5)], 99).signals == ()


def test_the_most_outside_pods_is_found_with_its_reading() -> None:
    seen = [
        replace(reading(at, 4000), outside_pods={Resource.PIDS: pids, Resource.MEMORY: MI})
        for at, pids in enumerate((200, 350, 300))
    ]
    found = node_evidence("n", [*seen, reading(9, 4000)]).outside_pods
    assert found[Resource.PIDS] == OutsidePods(node="n", wall="at 1", amount=350)
    assert found[Resource.MEMORY].wall == "at 0"


def test_a_shortage_that_comes_back_asks_for_a_minimum_reclaim() -> None:
    again = [
        reading(0, 480, evict="a"), reading(2, 700, gone="a"), reading(60, 490, evict="b"), reading(62, 900, gone="b"),
    ]  # fmt: skip
    assert node_evidence("n", again).came_back == {MEMORY: 210 * MI}
    [advice] = advise([node_evidence("n", again)], 99).signals
    assert advice.min_reclaim == round_up(210 * MI)
    later = [*again[:2], replace(again[2], at=20 * MINUTE), replace(again[3], at=21 * MINUTE)]
    assert node_evidence("n", later).came_back == {}


def test_what_is_advised_fits_every_node_that_it_comes_from() -> None:
    """A reserve of a tenth at most, and no more than half of the least capacity, which `evictd check` refuses."""
    nodes = [
        node_evidence(
            name, [with_capacity(each, capacity) for each in (reading(0, 80, evict="a", rate=rate * MI), gone)]
        )
        for name, capacity, rate in (("small", 200, 5), ("large", 8192, 30))
        for gone in [reading(10, 100, gone="a")]
    ]
    assert [node.episodes[0].needed for node in nodes] == [70 * MI, 400 * MI]
    [memory] = advise(nodes, 100).signals
    assert (memory.hard, memory.limited_by, memory.not_covered) == (100 * MI, "small", ("large",))
    [memory] = advise(nodes[:1], 100).signals
    assert (memory.hard, memory.limited_by, memory.not_covered) == (72 * MI, "", ())


def with_capacity(cycle: RecordedCycle, mebibytes: int) -> RecordedCycle:
    return replace(cycle, levels={MEMORY: replace(cycle.levels[MEMORY], capacity=mebibytes * MI)})


def test_the_advice_says_what_it_would_have_changed() -> None:
    nodes = [
        node_evidence(f"n{rate}", [reading(0, 480, evict="a", rate=rate * MI), reading(10, 4000, gone="a")])
        for rate in (10, 40, 60)
    ]
    [memory] = advise(nodes, 60).signals
    assert (memory.hard, memory.episodes, memory.too_late, memory.enough) == (512 * MI, 3, 2, 2)
    assert memory.earlier == 32 * MI * SECOND // (10 * MI)


def copies(node: NodeEvidence, number: int) -> list[NodeEvidence]:
    return [replace(node, node=f"n{each}") for each in range(number)]


def test_lead_and_grace() -> None:
    """A leak that outruns a quick stop needs an earlier begin; soft evictions say how long pods take."""
    quick = node_evidence("n", [reading(0, 480, evict="a", rate=900 * MI), reading(1, 4000, gone="a")])
    assert advise(copies(quick, LEAST_EVICTIONS), 99).lead
    soft = node_evidence("n", [reading(0, 900, evict="a", rate=MI, hard=False), reading(22, 4000, gone="a")])
    found = advise(copies(soft, LEAST_EVICTIONS), 99)
    assert (found.lead, found.max_pod_grace_seconds, found.soft_ends) == (False, 25, LEAST_EVICTIONS)
    assert found.signals[0].soft == round_up(found.signals[0].hard + 55 * MI)


def test_nothing_is_proposed_from_few_evictions() -> None:
    quick = node_evidence("n", [reading(0, 480, evict="a", rate=900 * MI), reading(1, 4000, gone="a")])
    soft = node_evidence("n", [reading(0, 900, evict="a", rate=MI, hard=False), reading(22, 4000, gone="a")])
    few = LEAST_EVICTIONS - 1
    assert not advise(copies(quick, few), 99).lead
    assert advise(copies(soft, few), 99).max_pod_grace_seconds is None
    assert not advise(copies(soft, few), 99).signals[0].proposed
    assert advise(copies(soft, LEAST_EVICTIONS), 99).signals[0].proposed


def test_a_victim_whose_end_was_not_recorded_asks_for_no_grace_period() -> None:
    """The ten minutes for which its end was looked for were advised as evictionMaxPodGracePeriod."""
    lost = [reading(0, 480, evict="a", hard=False), *(reading(10 * i, 480 - 4 * i) for i in range(1, 60))]
    assert advise(copies(node_evidence("n", lost), LEAST_EVICTIONS), 99).max_pod_grace_seconds is None


def test_of_a_dry_run_only_the_fill_rates_count() -> None:
    """Its pods stay: what is used up after a decision, and between two, says nothing of an eviction."""
    dry = [reading(10 * i, 480 - 4 * i, evict="a", rate=MI, hard=False) for i in range(60)]
    dry = [replace(each, chosen=(replace(each.chosen[0], stays=True),)) for each in dry]
    found = advise([node_evidence("n", dry)], 99)
    assert (found.signals[0].hard, found.signals[0].min_reclaim) == (round_up(KEPT), 0)
    assert found.signals[0].soft == round_up(round_up(KEPT) + 30 * MI)
    assert found.max_pod_grace_seconds is None


def test_evictions_for_stalls_are_counted_and_give_no_threshold() -> None:
    stalled = reading(0, 480, evict="a")
    stalled = replace(stalled, chosen=(replace(stalled.chosen[0], signal=Signal.PODS_MEMORY_FULL_10),))
    found = advise([node_evidence("n", [stalled, reading(5, 4000, gone="a")])], 99)
    assert (found.stalls, found.signals) == (1, ())


def test_rounding_up_adds_an_eighth_at_the_most() -> None:
    for amount in (0, 1, 15, 17, 1000, 812 * MI, 2**40 + 1):
        assert amount <= round_up(amount) <= amount + amount // 8 + 1
