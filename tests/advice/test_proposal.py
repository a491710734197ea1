"""What is advised of the evictions that nodes recorded."""

from dataclasses import replace

import pytest

from evictd.advice.enough import round_up
from evictd.advice.episode import RESERVE
from evictd.advice.evidence import NodeEvidence, OutsidePods, node_evidence
from evictd.advice.proposal import advise
from evictd.advice.signal_advice import LEAST_EVICTIONS
from evictd.codec.records.reading_record import Chosen, RecordedCycle, SignalLevel
from evictd.core.model.signal import Resource, Signal
from evictd.core.units.duration import SECOND

MI = 2**20
MEMORY = Signal.MEMORY_AVAILABLE
KEPT = RESERVE[Resource.MEMORY]


def reading(
    at: int, left: int, *, evict: str = "", rate: int = 0, gone: str = "", hard: bool = True, behind: str = ""
) -> RecordedCycle:
    """A reading of 8 GiB with a hard threshold of 500Mi; `behind` is the pod behind the evicted one in the ranking."""
    pod = Chosen(uid=evict, pod=f"default/{evict}", signal=MEMORY, hard=hard, fill_rate=rate, next_uid=behind)
    chosen = (pod,) if evict else ()
    levels = {MEMORY: SignalLevel(available=left * MI, capacity=8192 * MI, hard=500 * MI)}
    return RecordedCycle(at=at * SECOND, wall=f"at {at}", levels=levels, chosen=chosen, gone=frozenset({gone} - {""}))


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
    assert (reserved.resource, reserved.amount) == (Resource.MEMORY, round_up((90 + 1024) * MI))
    assert reserved.worst.node == "n100"
    assert advise(nodes, 100).signals[0].not_covered == ()
    assert advise([NodeEvidence(node="calm", readings=5)], 99).signals == ()


AGAIN = (
    reading(0, 480, evict="a", rate=1, behind="b"), reading(2, 700, gone="a"), reading(60, 490, evict="b"),
    reading(62, 1900, gone="b"),
)  # fmt: skip
"""A shortage that came back: 210Mi were used up again until the pod went that was next in the ranking."""


def with_capacity(cycle: RecordedCycle, mebibytes: int) -> RecordedCycle:
    return replace(cycle, levels={MEMORY: replace(cycle.levels[MEMORY], capacity=mebibytes * MI)})


def copies(node: NodeEvidence, number: int) -> list[NodeEvidence]:
    return [replace(node, node=f"n{each}") for each in range(number)]


def test_lead_and_grace() -> None:
    """A leak that outruns a quick stop needs an earlier begin; soft evictions say how long pods take."""
    quick = node_evidence("n", [reading(0, 480, evict="a", rate=900 * MI), reading(1, 4000, gone="a")])
    assert advise(copies(quick, LEAST_EVICTIONS), 99).lead
    soft = node_evidence("n", [reading(0, 900, evict="a", rate=3 * MI, hard=False), reading(42, 4000, gone="a")])
    found = advise(copies(soft, LEAST_EVICTIONS), 99)
    assert (found.lead, found.max_pod_grace_seconds, found.grace.ends) == (False, 45, LEAST_EVICTIONS)
    assert found.signals[0].soft == round_up(found.signals[0].hard + 3 * 75 * MI)


@pytest.mark.parametrize(
    ("took", "rate", "begins", "hard", "lead"),
    [(2, 205, 500, 512, False), (2, 240, 600, 640, False), (1, 390, 585, 512, True)],
)
def test_no_lead_is_proposed_that_changes_little_or_that_the_proposed_threshold_makes_up_for(
    took: int, rate: int, begins: int, hard: int, lead: bool
) -> None:
    """`memory.lead: Auto ... begins when 102Mi are left, instead of 100Mi`, beside a higher proposed threshold."""
    late = node_evidence("n", [reading(0, 480, evict="a", rate=rate * MI), reading(took, 4000, gone="a")])
    [episode], found = late.episodes, advise(copies(late, LEAST_EVICTIONS), 99)
    assert (episode.limit + episode.led_by, found.signals[0].hard) == (begins * MI, hard * MI)
    assert found.lead is lead


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
    """Its pods stay: what is used up after a decision, and between two, says nothing of an eviction. A stop of 5 s is counted."""
    dry = [reading(10 * i, 480 - 4 * i, evict="a", rate=3 * MI, hard=False) for i in range(60)]
    dry = [replace(each, chosen=(replace(each.chosen[0], stays=True),)) for each in dry]
    found = advise(copies(node_evidence("n", dry), LEAST_EVICTIONS), 99)
    assert (found.signals[0].hard, found.signals[0].min_reclaim) == (500 * MI, 0), "no hard eviction speaks for less"
    assert found.signals[0].soft == round_up((500 + 234) * MI + 1), "above where the hard one acts on 8 GiB"
    assert (found.max_pod_grace_seconds, found.grace.ends) == (30, 0)


def test_evictions_for_stalls_are_counted_and_give_no_threshold() -> None:
    stalled = reading(0, 480, evict="a")
    stalled = replace(stalled, chosen=(replace(stalled.chosen[0], signal=Signal.PODS_MEMORY_FULL_10),))
    found = advise([node_evidence("n", [stalled, reading(5, 4000, gone="a")])], 99)
    assert (found.stalls, found.signals) == (1, ())


def test_a_threshold_that_rests_on_one_eviction_has_beside_it_that_of_the_others() -> None:
    """1Gi was proposed from six evictions, of which five needed less than the 500Mi that were set."""
    rates = {"fast": 900, "fast too": 900, "a": 0.1, "b": 0.1, "c": 0.1, "d": 0.1, "e": 0.1}
    both = [
        node_evidence(name, [reading(0, 480, evict="a", rate=int(rate * MI)), reading(1, 4000, gone="a")])
        for name, rate in rates.items()
    ]
    [memory] = advise(both[1:], 99).signals
    assert (memory.hard, memory.without_worst) == (round_up(900 * MI + KEPT), 500 * MI)
    [memory] = advise(both, 99).signals
    assert memory.without_worst == memory.hard


def test_a_derived_threshold_is_not_kept() -> None:
    """`keep your evictionHard of allocatableMemory.available` was said of one that nobody had set."""
    derived = Signal.ALLOCATABLE_MEMORY_AVAILABLE
    for is_derived in (True, False):
        first, last = reading(0, 480, evict="a"), reading(10, 4000, gone="a")
        level = SignalLevel(available=MI, capacity=8192 * MI, hard=500 * MI, derived=is_derived)
        both = [replace(each, levels={**each.levels, derived: level}) for each in (first, last)]
        assert (derived in advise([node_evidence("n", both)], 99).kept_hard) is not is_derived


def test_a_derived_soft_threshold_is_not_kept() -> None:
    """`keep your evictionSoft of containerfs.available` was said of one that nobody had set."""
    derived = Signal.CONTAINERFS_AVAILABLE
    for is_derived in (True, False):
        first, last = reading(0, 480, evict="a"), reading(10, 4000, gone="a")
        level = SignalLevel(available=MI, capacity=8192 * MI, soft=500 * MI, soft_derived=is_derived)
        both = [replace(each, levels={**each.levels, derived: level}) for each in (first, last)]
        assert (derived in advise([node_evidence("n", both)], 99).kept_soft) is not is_derived


def test_the_loop_of_one_owner_is_known() -> None:
    """117 evictions of one DaemonSet's pods read as the evidence of 117 accidents."""
    loop = [
        replace(
            reading(100 * i, 480, evict=f"a{i}"),
            chosen=tuple(
                replace(each, owner="default/DaemonSet/a") for each in reading(100 * i, 480, evict=f"a{i}").chosen
            ),
        )
        for i in range(6)
    ]
    [advice] = advise([node_evidence("n", loop)], 99).signals
    assert advice.most_of_owner == (("n",), "default/DaemonSet/a", 6)
    [fleet] = advise([node_evidence(name, loop) for name in "cba"], 99).signals
    assert fleet.most_of_owner == (("a", "b", "c"), "default/DaemonSet/a", 18), "it was said of one node alone"
    [few] = advise([node_evidence("n", loop[:4])], 99).signals
    assert few.most_of_owner is None


def test_a_large_node_s_own_threshold_is_not_cut_to_half_of_a_small_node() -> None:
    """A node of 512Gi with 25Gi evicted by its soft threshold alone: a fleet with a node of 600Mi was advised 300Mi."""
    soft = [
        with_capacity(replace(each, levels={MEMORY: replace(each.levels[MEMORY], hard=25_600 * MI)}), 524_288)
        for each in (reading(0, 46_000, evict="a", rate=MI, hard=False), reading(2, 60_000, gone="a"))
    ]
    small = [with_capacity(each, 600) for each in (reading(0, 50, evict="a", rate=1), reading(2, 400, gone="a"))]
    [advice] = advise([node_evidence("large", soft), node_evidence("small", small)], 99).signals
    assert (advice.apart, advice.limited_by) == ((600 * MI, 524_288 * MI), "small")
    assert not advice.not_lower


def test_no_hard_threshold_is_raised_beyond_what_a_node_ever_has() -> None:
    """For a fleet with nodes of 1Gi it advised 500Mi, where 361Mi were available at most: 14 pods were lost instead of 4."""
    small = [
        with_capacity(replace(each, levels={MEMORY: replace(each.levels[MEMORY], hard=150 * MI)}), 1024)
        for each in (reading(0, 120, evict="a", rate=1), reading(2, 361, gone="a"))
    ]
    large = copies(node_evidence("large", [reading(0, 0, evict="a"), reading(1, 4000, gone="a")]), LEAST_EVICTIONS)
    fleet = [*large, node_evidence("fast", [reading(0, 480, evict="a", rate=1), reading(1, 4000, gone="a")])]
    [alone] = advise(fleet, 99).signals
    assert (alone.hard, alone.proposed) == (500 * MI, True)
    [mixed] = advise([*fleet, node_evidence("small", small)], 99).signals
    assert (mixed.hard, mixed.apart, mixed.proposed) == (500 * MI, None, False)
    assert mixed.unfit is not None
    assert mixed.unfit.node == "small"
    assert Signal.MEMORY_AVAILABLE in advise([*fleet, node_evidence("small", small)], 99).kept_hard


def test_a_threshold_that_was_never_late_is_kept() -> None:
    """10Gi of a disk became 768Mi, from one slow writer; with a fast one nothing was left. 144Mi that sufficed became 160Mi."""
    for rate, limit, left in ((3, 500, 500), (44.6, 144, 200)):
        [memory] = advise([set_to(limit, left, rate, node) for node in "abcde"], 99).signals
        assert (memory.keeps, memory.proposed, memory.raised, memory.hard) == (True, True, False, limit * MI)
    assert MEMORY in advise([set_to(500, 500, 3, node) for node in "abcde"], 99).kept_hard


def test_nodes_with_other_thresholds_that_were_never_late_keep_each_its_own() -> None:
    fleet = [set_to(150, 150, 3, "low"), *(set_to(500, 500, 3, node) for node in "abcd")]
    [memory] = advise(fleet, 99).signals
    assert (memory.keeps, memory.now, memory.unfit, memory.other_first) == (True, (150 * MI, 500 * MI), None, None)


def test_no_lower_threshold_is_proposed_than_nodes_have_where_another_one_was_late() -> None:
    fleet = [set_to(100, 100, 3, "late"), *(set_to(500, 500, 3, node) for node in "abcd")]
    [memory] = advise(fleet, 99).signals
    assert (memory.keeps, memory.not_lower, memory.hard) == (False, True, 500 * MI)


def test_no_lower_threshold_is_proposed_than_a_node_without_an_eviction_for_the_signal_has() -> None:
    """A node that evicts by the copy of its 200Mi for the memory of all pods lost both: 144Mi was proposed, and 4 of 10 late."""
    quiet = node_evidence("quiet", [with_hard(reading(0, 4000), 200)])
    late = [set_to(120, 119, 40, node) for node in "abcde"]
    [memory] = advise([*late, quiet], 99).signals
    assert (memory.raised, memory.hard, memory.not_lower, memory.now) == (True, 200 * MI, True, (120 * MI, 200 * MI))
    [memory] = advise([*late, replace(quiet, derived=frozenset({MEMORY}))], 99).signals
    assert (memory.hard, memory.now) == (144 * MI, (120 * MI, 120 * MI)), "the copy stays beside an own one"
    kept = [set_to(500, 500, 3, node) for node in "abcde"]
    [memory] = advise([*kept, quiet], 99).signals
    assert (memory.keeps, memory.now) == (True, (500 * MI, 500 * MI)), "the range that was never late"


def with_hard(cycle: RecordedCycle, limit: int) -> RecordedCycle:
    return replace(cycle, levels={MEMORY: replace(cycle.levels[MEMORY], hard=limit * MI)})


def set_to(limit: int, left: int, rate: float, node: str) -> NodeEvidence:
    """A node with this hard threshold, and an eviction at so much left; a second later the pod is gone."""
    cycles = (reading(0, left, evict="a", rate=int(rate * MI)), reading(1, 4000, gone="a"))
    return node_evidence(node, [with_hard(each, limit) for each in cycles])
