"""One eviction as a journal tells it: what was used up until the pod was gone, and whether that is known."""

from dataclasses import replace

import pytest

from evictd.advice.episode import Episode, longest_wait, other_first, shortages_of, still_met
from evictd.advice.evidence import node_evidence
from evictd.advice.proposal import advise
from evictd.advice.signal_advice import LEAST_EVICTIONS
from evictd.codec.records.ranked_row import Overtaken
from evictd.codec.records.reading_record import Chosen, RecordedCycle, SignalLevel
from evictd.core.model.signal import Signal
from evictd.core.units.duration import SECOND
from tests.advice.test_proposal import KEPT, MEMORY, MI, copies, reading

SOFT = (reading(0, 424, evict="a", hard=False), reading(5, 7000, gone="a"))
"""A soft eviction of which the journal has the decision and the end."""


def one(*readings: RecordedCycle) -> Episode:
    [episode] = node_evidence("n", readings).episodes
    return episode


def test_what_was_not_measured_is_no_evidence() -> None:
    """104Mi were proposed, `6 of 6 evictions leave the reserve`, where 300Mi were set: the truth was 10Mi a second."""
    episode = one(*SOFT)
    assert (episode.measured, episode.known, episode.used, episode.leaves_reserve(8000 * MI)) == (
        False,
        False,
        0,
        False,
    )
    [advice] = advise(copies(node_evidence("n", SOFT), LEAST_EVICTIONS), 99).signals
    assert (advice.proposed, advice.shortages, advice.unmeasured) == (False, 0, LEAST_EVICTIONS)
    known = node_evidence("k", [reading(0, 480, evict="a", rate=MI), reading(5, 7000, gone="a")])
    [advice] = advise([*copies(known, LEAST_EVICTIONS), node_evidence("n", SOFT)], 99).signals
    assert (advice.hard, advice.not_lower is not None, advice.proposed) == (500 * MI, True, True)
    assert (advice.enough, advice.enough_before) == (LEAST_EVICTIONS, LEAST_EVICTIONS)


def test_a_decision_that_waited_for_a_measurement_needs_the_longest_wait() -> None:
    """1.25Gi were proposed instead of 1Gi; with it the eviction began at the same measurement, as late as before."""
    disk = Signal.NODEFS_AVAILABLE

    def seen(at: int, left: int, *, hard: bool = True, waits: bool = False, evict: bool = False) -> RecordedCycle:
        chosen = (Chosen(uid="a", pod="default/a", signal=disk, hard=hard, fill_rate=180 * MI),) if evict else ()
        levels = {disk: SignalLevel(available=left * MI, capacity=50 << 30, hard=1024 * MI)}
        awaited = frozenset({disk}) if waits else frozenset[Signal]()
        return RecordedCycle(at=at * SECOND, wall=f"at {at}", levels=levels, chosen=chosen, awaited=awaited)

    def course(*, waits: bool, hard: bool = True) -> list[RecordedCycle]:
        gone = replace(seen(5, 39_000), gone=frozenset({"a"}))
        return [seen(0, 2000), seen(1, 882, waits=waits), seen(4, 342, evict=True, hard=hard), gone]

    waited, at_once = one(*course(waits=True)), one(*course(waits=False))
    assert (waited.fell, at_once.fell, at_once.fell_at_most) == (682 * MI, 682 * MI, 682 * MI)
    assert waited.fell_at_most == 1800 * MI
    assert waited.needed == 1800 * MI + waited.used + 500 * MI
    assert not waited.leaves_reserve(1280 * MI)
    assert not one(*course(waits=True, hard=False)).waits, "a soft threshold is met long before"
    over = [seen(0, 2000), seen(1, 1000, waits=True), seen(2, 2000), *course(waits=False)[1:]]
    assert not one(*over).waits, "it waited in a shortage before"
    enough = replace(waited, available=900 * MI)
    assert not enough.too_late
    assert enough.leaves_reserve(1024 * MI), "as it did"


@pytest.mark.parametrize("hard", [True, False])
def test_an_eviction_for_a_disk_is_no_evidence_for_a_lower_hard_threshold(hard: bool) -> None:
    """576Mi were proposed instead of 1.25Gi; the soft threshold was then not met in time, and 357Mi were left."""
    disk, pod = Signal.NODEFS_AVAILABLE, Chosen(uid="a", pod="default/a", signal=Signal.NODEFS_AVAILABLE, hard=hard)
    level = SignalLevel(available=5600 * MI, capacity=50 << 30, hard=1280 * MI)
    begun = RecordedCycle(at=0, wall="", levels={disk: level}, rates={disk: 36 * MI}, chosen=(pod,))
    gone = RecordedCycle(
        at=SECOND, wall="", levels={disk: replace(level, available=39_000 * MI)}, gone=frozenset({"a"})
    )
    [advice] = advise(copies(node_evidence("n", [begun, gone]), LEAST_EVICTIONS), 99).signals
    assert (advice.hard, advice.keeps) == (1280 * MI, True)


def test_less_than_the_reserve_is_too_late_whatever_was_used_up() -> None:
    assert one(reading(0, 99, evict="a"), reading(5, 7000, gone="a")).known


def test_the_readings_between_two_records_are_known_from_the_later_one() -> None:
    between = ((15.0, 519 * MI), (4.0, 414 * MI), (1.0, 384 * MI), (0.2, 7000 * MI))
    episode = one(SOFT[0], replace(SOFT[1], earlier={MEMORY: between}))
    assert (episode.measured, episode.used, episode.rate) == (True, 40 * MI, 0)


def test_a_measured_rate_of_zero_is_a_measurement() -> None:
    episode = one(replace(SOFT[0], rates={MEMORY: 0}), SOFT[1])
    assert (episode.measured, episode.used, episode.needed) == (True, 0, KEPT)


def test_a_lead_counts_only_where_it_would_have_begun_earlier() -> None:
    """`memory.lead: Auto` was proposed at 100Mi a second for 100Mi; with it the run was the same, and it was proposed again."""
    fast = one(reading(0, 480, evict="a", rate=900 * MI), reading(1, 4000, gone="a"))
    assert fast.led_by == 1350 * MI - 500 * MI
    slow = one(reading(0, 180, evict="a", rate=100 * MI), reading(1, 4000, gone="a"))
    assert (slow.too_late, slow.led_by) == (True, 0)
    assert replace(fast, leads=True).led_by == 0


def test_shortages_without_evidence_do_not_count() -> None:
    first = one(*SOFT)
    known = replace(first, measured=True)
    again = replace(known, again=True)
    assert shortages_of([first, again, again, known, first, first]) == 2


def test_the_end_of_the_condition_ends_a_shortage() -> None:
    """Six leaks, ten minutes apart, were `6 evictions in 1 shortage`, and no threshold was proposed."""
    both = [reading(0, 480, evict="a", rate=MI), reading(1, 4000, gone="a")]
    later = [replace(each, at=each.at + 590 * SECOND) for each in both]
    calm = replace(reading(301, 4000), conditions=frozenset())
    assert [each.again for each in node_evidence("n", [*both, *later]).episodes] == [False, True]
    assert [each.again for each in node_evidence("n", [*both, calm, *later]).episodes] == [False, False]
    short = replace(calm, conditions=frozenset({"MemoryPressure"}))
    assert [each.again for each in node_evidence("n", [*both, short, *later]).episodes] == [False, True]


def test_only_a_decision_for_a_disk_waits_until_pods_are_measured() -> None:
    waits = {each for each in Signal if longest_wait(each)}
    assert {Signal.NODEFS_AVAILABLE, Signal.IMAGEFS_INODES_FREE} <= waits
    assert not waits & {Signal.MEMORY_AVAILABLE, Signal.PID_AVAILABLE}
    assert longest_wait(Signal.NODEFS_INODES_FREE) == 10 * SECOND


def test_a_threshold_that_leaves_time_for_a_grace_period_needs_more() -> None:
    """176Mi were said to leave the reserve at 80Mi a second: the pod had a second of grace with it, and 80Mi were left."""
    chosen = Chosen(uid="a", pod="default/a", signal=MEMORY, hard=True, fill_rate=80 * MI, fitted=True)
    episode = one(replace(reading(0, 100), chosen=(chosen,)), reading(1, 7000, gone="a"))
    episode = replace(episode, took=SECOND // 5, used=16 * MI, limit=100 * MI)
    assert [episode.used_with(hard * MI) // MI for hard in (100, 119, 120, 300)] == [16, 16, 96, 96]
    assert episode.needed == 16 * MI + KEPT
    assert [episode.leaves_reserve(hard * MI) for hard in (115, 116, 119, 120, 176, 195, 196)] == [
        False, True, True, False, False, False, True,
    ]  # fmt: skip
    in_time = replace(episode, available=119 * MI, limit=119 * MI)
    assert not in_time.too_late
    assert not in_time.leaves_reserve(176 * MI), "it would get a grace period"
    assert replace(episode, fitted=False).used_with(300 * MI) == 16 * MI
    slow = replace(episode, took=2 * SECOND)
    assert (slow.used_with(239 * MI), slow.used_with(240 * MI)) == (16 * MI, 96 * MI)


def test_what_is_left_of_memory_is_what_a_process_can_allocate() -> None:
    """By the kubelet's formula 300Mi were left of which 200Mi were the kernel's own: 72Mi used up left no reserve."""
    readings = (reading(0, 300, evict="a", rate=36 * MI), reading(2, 4000, gone="a"))
    needed = 72 * MI + KEPT
    kernels, kubelets = one(*readings), one(*(replace(each, overcounted=200 * MI) for each in readings))
    assert (kernels.too_late, kernels.needed, kernels.left) == (False, needed, 300 * MI)
    assert (kubelets.too_late, kubelets.needed, kubelets.left) == (True, needed + 200 * MI, 100 * MI)


def test_a_threshold_that_acts_while_the_pod_used_less_evicts_another_one() -> None:
    """Soft 320Mi was proposed for a leak, and evicted a pod that did not grow in its place."""
    leak = replace(
        one(reading(0, 100, evict="a", rate=2 * MI), reading(1, 900, gone="a")),
        fell=0,
        overtaken=Overtaken(101 * MI, "default/web"),
    )
    assert other_first([leak], 200 * MI) is None
    assert other_first([leak], 202 * MI) is leak
    assert other_first([replace(leak, fell=MI)], 202 * MI) is None
    assert other_first([leak], 260 * MI, 30 * SECOND) is None
    assert other_first([leak], 320 * MI, 30 * SECOND) is leak
    assert other_first([replace(leak, rate=0)], 320 * MI, 30 * SECOND) is None
    assert other_first([replace(leak, overtaken=Overtaken())], 320 * MI) is None


def test_a_threshold_above_what_an_eviction_left_evicts_one_more_pod() -> None:
    """240Mi were proposed for a node on which 212Mi were available after its first eviction."""
    full = one(reading(0, 480, evict="a", rate=1), reading(1, 700, gone="a"))
    assert still_met([full], 700 * MI) is None
    assert still_met([full], 701 * MI) is full
    assert still_met([replace(full, recovered=400 * MI)], 701 * MI) is None, "the recorded threshold was met still too"
    assert still_met([replace(full, recovered=None)], 701 * MI) is None
