"""What the journal of one node knows of how early its thresholds would have had to be."""

from dataclasses import replace

from evictd.advice.evidence import OutsidePods, documented_line, node_evidence
from evictd.advice.proposal import advise
from evictd.codec.records.reading_record import RecordedCycle, SignalLevel
from evictd.core.model.signal import Resource, Signal
from evictd.core.units.duration import MINUTE, SECOND
from tests.advice.test_proposal import AGAIN, KEPT, MEMORY, MI, reading


def test_what_a_stop_uses_up_is_the_fall_or_the_rate_times_the_time() -> None:
    [fell] = node_evidence("n", [reading(0, 480, evict="a"), reading(2, 80), reading(4, 4000, gone="a")]).episodes
    assert (fell.used, fell.took, fell.too_late) == (400 * MI, 4 * SECOND, True)
    [filled] = node_evidence("n", [reading(0, 480, evict="a", rate=50 * MI), reading(4, 4000, gone="a")]).episodes
    assert (filled.used, filled.rate, filled.too_late) == (200 * MI, 50 * MI, False)
    assert filled.needed == 200 * MI + KEPT


def test_the_time_for_which_a_budget_refuses_is_not_that_of_a_stop() -> None:
    """Six refusals counted as evictions, each with the time until the budget agreed."""
    tries = [reading(10 * i, 500 - 50 * i, evict="a", hard=False) for i in range(4)]
    waits = [tries[0], *(replace(each, refused=frozenset({"a"})) for each in tries[1:]), reading(31, 4000, gone="a")]
    [episode] = node_evidence("n", waits).episodes
    assert (episode.wall, episode.took, episode.ended) == ("at 30", SECOND, True)
    other = [tries[0], replace(reading(1, 490), refused=frozenset({"b"})), *tries[1:2], reading(31, 4000, gone="a")]
    assert len(node_evidence("n", other).episodes) == 2


def test_a_grace_period_that_was_shortened_does_not_say_how_long_a_pod_takes_to_end() -> None:
    """The time was proposed because of a pod that ignored SIGTERM, and was killed when its grace period was shortened."""
    soft = [reading(0, 900, evict="a", hard=False), reading(38, 90, gone="a")]
    cut = [soft[0], replace(reading(37, 90), shortened=frozenset({"a"})), soft[1]]
    assert [episode.shortened for readings in (soft, cut) for episode in node_evidence("n", readings).episodes] == [
        False,
        True,
    ]
    nodes = [node_evidence(f"n{number}", cut) for number in range(6)]
    whole = [node_evidence(f"n{number}", soft) for number in range(6)]
    assert advise(whole, 99).max_pod_grace_seconds == 40
    assert advise(nodes, 99).max_pod_grace_seconds != 40


def test_a_hard_threshold_needs_only_the_part_of_a_soft_eviction_that_a_hard_one_takes() -> None:
    [soft] = node_evidence("n", [reading(0, 900, evict="a", hard=False, rate=MI), reading(20, 90, gone="a")]).episodes
    assert (soft.used, soft.used_if_hard, soft.too_late) == (810 * MI, 810 * MI * 5 // 20, True)
    assert soft.needed == soft.used_if_hard + KEPT
    [hard] = node_evidence("n", [reading(0, 900, evict="a", rate=MI), reading(20, 90, gone="a")]).episodes
    assert hard.used_if_hard == hard.used


def test_a_rate_of_two_readings_close_together_counts_where_none_was_measured() -> None:
    [episode] = node_evidence("n", [reading(0, 580), reading(10, 480, evict="a"), reading(12, 4000, gone="a")]).episodes
    assert episode.rate == 10 * MI


def test_a_victim_whose_end_was_not_recorded_and_another_boot_end_an_episode() -> None:
    [lost] = node_evidence("n", [reading(0, 480, evict="a", rate=MI), reading(40_000, 10)]).episodes
    assert (lost.used, lost.took, lost.estimated) == (5 * MI, 0, True)
    [boot] = node_evidence("n", [reading(100, 480, evict="a"), reading(3, 10, gone="a")]).episodes
    assert boot.used == 0


def test_the_most_outside_pods_is_found_with_its_reading() -> None:
    seen = [
        replace(reading(at, 4000), outside_pods={Resource.PIDS: pids, Resource.MEMORY: MI})
        for at, pids in enumerate((200, 350, 300))
    ]
    found = node_evidence("n", [*seen, reading(9, 4000)]).outside_pods
    assert found[Resource.PIDS] == OutsidePods(node="n", wall="at 1", amount=350, least=200)
    assert found[Resource.MEMORY].wall == "at 0"


def test_what_falls_from_the_crossing_to_the_decision_is_needed_too() -> None:
    crossed = [reading(0, 900), reading(100, 400), reading(104, 300, evict="a", rate=1)]
    [episode] = node_evidence("n", crossed).episodes
    assert (episode.fell, episode.limit, episode.needed) == (200 * MI, 500 * MI, (200 + 5 * 25) * MI + KEPT)
    [met_before] = node_evidence("n", crossed[1:]).episodes
    assert (met_before.fell, met_before.too_late) == (100 * MI, False)
    [booted] = node_evidence("n", [reading(200, 900), *crossed[1:]]).episodes
    assert booted.fell == 100 * MI
    [soft] = node_evidence("n", [crossed[0], reading(104, 300, evict="a", hard=False)]).episodes
    assert (soft.fell, soft.limit) == (0, 0)
    dry = [reading(0, 900), *(reading(10 * i, 490 - 10 * i, evict="a") for i in range(1, 4))]
    dry = [replace(each, chosen=tuple(replace(pod, stays=True) for pod in each.chosen)) for each in dry]
    assert [each.fell for each in node_evidence("n", dry).episodes] == [20 * MI, 0, 0]


def test_a_shortage_came_back_where_the_next_pod_of_the_ranking_went_after_it_was_over() -> None:
    assert node_evidence("n", AGAIN).came_back == {MEMORY: 210 * MI}
    assert [each.recovered for each in node_evidence("n", AGAIN).episodes] == [None, 1900 * MI]
    later = [*AGAIN[:2], replace(AGAIN[2], at=20 * MINUTE), replace(AGAIN[3], at=21 * MINUTE)]
    assert node_evidence("n", later).came_back == {}
    [first, *_] = node_evidence("n", later).episodes
    assert first.recovered == 700 * MI
    never_over = [AGAIN[0], reading(2, 450, gone="a"), reading(60, 300, evict="b")]
    assert node_evidence("n", never_over).came_back == {}
    # A pod that was created after the eviction could not have gone with it.
    created = [*AGAIN[:2], reading(60, 490, evict="new"), reading(62, 900, gone="new")]
    found = node_evidence("n", created)
    assert (found.came_back, [each.recovered for each in found.episodes]) == ({}, [700 * MI, 900 * MI])


def test_a_signal_without_a_threshold_is_evidence_where_it_was_close_to_a_useful_one() -> None:
    """Of a disk that was full and had no threshold nothing was said."""

    def disk(at: int, left: int, signal: Signal = Signal.NODEFS_AVAILABLE) -> RecordedCycle:
        return replace(reading(at, 4000), uncovered={signal: SignalLevel(available=left, capacity=100)})

    full = [disk(0, 40), disk(10, 5), disk(20, 0), disk(5000, 9)]
    [found] = node_evidence("n", full).uncovered
    assert (found.signal, found.line, found.available, found.wall) == (Signal.NODEFS_AVAILABLE, "10%", 0, "at 20")
    assert (found.below, found.occasions, found.readings) == (3, 2, 4)
    [close] = node_evidence("n", [disk(0, 15)]).uncovered
    assert (close.below, close.occasions) == (0, 0)
    assert node_evidence("n", [disk(0, 16)]).uncovered == ()
    assert [each.line for each in node_evidence("n", [disk(0, 4, Signal.PID_AVAILABLE)]).uncovered] == ["5%"]
    level = SignalLevel(available=40, capacity=100, hard=10)
    covered = replace(reading(30, 4000), levels={Signal.NODEFS_AVAILABLE: level})
    assert node_evidence("n", [*full, covered]).uncovered == ()  # a threshold was set since


def test_memory_without_a_threshold_ran_out_where_the_kernel_killed() -> None:
    """In 33 of 33 worlds nothing was said of `memory.available`: what a killed pod held is free again in each reading."""
    level = {MEMORY: SignalLevel(available=4096 * MI, capacity=8192 * MI)}
    calm = replace(reading(0, 4000), levels={}, uncovered=level)
    [found] = node_evidence("n", [calm, replace(calm, killed={"default/a": 1}, wall="then")]).uncovered
    assert (found.line, found.below, found.killed, found.wall) == ("500Mi", 0, 1, "then")
    assert node_evidence("n", [calm]).uncovered == ()


def test_the_threshold_that_would_cover_memory_depends_on_its_size() -> None:
    found = [
        node_evidence(
            name,
            [
                replace(
                    reading(0, 4000), levels={}, uncovered={MEMORY: SignalLevel(available=0, capacity=size * 1024 * MI)}
                )
            ],
        )
        for name, size in (("small", 2), ("large", 8))
    ]
    assert [each.uncovered[0].line for each in found] == ["150Mi", "500Mi"]
    assert [(each.worst.line, each.nodes) for each in advise(found, 99).missing] == [
        ("150Mi", ("small",)),
        ("500Mi", ("large",)),
    ]


def test_the_files_of_a_victim_that_has_just_ended_are_no_use_outside_pods() -> None:
    """93Gi of a disk of 100Gi were called in use outside pods, of which 73Gi were an evicted pod's that were being removed."""
    used = {Resource.EPHEMERAL_STORAGE: 93, Resource.MEMORY: 7}
    calm = replace(reading(0, 4000), outside_pods={Resource.EPHEMERAL_STORAGE: 20, Resource.MEMORY: 5})
    removing = replace(reading(1, 4000, gone="a"), outside_pods=used)
    still = replace(reading(2, 4000), outside_pods={Resource.EPHEMERAL_STORAGE: 93})
    found = node_evidence("n", [calm, removing, still])
    assert {each: use.amount for each, use in found.outside_pods.items()} == {
        Resource.EPHEMERAL_STORAGE: 20,
        Resource.MEMORY: 7,
    }
    assert found.outside_readings == {Resource.EPHEMERAL_STORAGE: 1, Resource.MEMORY: 2}


def test_a_shortage_that_never_cleared_is_one() -> None:
    """A pause of ten minutes between two evictions made two shortages of one."""
    wait = [reading(at, 400) for at in range(60, 900, 60)]
    same = [reading(0, 480, evict="a"), reading(2, 450, gone="a"), *wait, reading(900, 400, evict="b")]
    assert [each.again for each in node_evidence("n", same).episodes] == [False, True]
    clear = [*same[:5], reading(450, 900), *same[9:]]
    assert [each.again for each in node_evidence("n", clear).episodes] == [False, False]


def test_after_a_grace_period_only_the_readings_just_before_give_a_rate() -> None:
    """The growth had been over for half a minute; it was said to use up 21.8Mi a second."""
    soft = [reading(0, 2400), reading(60, 1100, evict="a", hard=False), reading(61, 1500, gone="a")]
    assert node_evidence("n", soft).episodes[0].rate == 0
    recorded = replace(soft[1], rates={MEMORY: 3 * MI})
    assert node_evidence("n", [soft[0], recorded, soft[2]]).episodes[0].rate == 3 * MI


def test_an_eviction_after_a_kill_by_the_kernel_is_too_late() -> None:
    """`6 of 6 evictions leave the reserve; 6 did` was said of five before which the kernel had killed."""
    begun, decided, gone = reading(0, 117), reading(10, 233, evict="a", hard=False), reading(11, 4000, gone="a")
    kill = {"default/a": 1}
    for readings in (
        (begun, replace(decided, killed=kill), gone),
        (begun, decided, replace(gone, killed=kill)),
        (replace(begun, killed=kill), decided, gone),
    ):
        [episode] = node_evidence("n", readings).episodes
        assert (episode.killed, episode.left, episode.too_late) == (True, 0, True)
        assert not episode.leaves_reserve(8192 * MI)
    before = (replace(begun, killed=kill), reading(5, 4000), decided, gone)
    for calm in ((begun, decided, gone), before):
        [episode] = node_evidence("n", calm).episodes
        assert (episode.killed, episode.too_late) == (False, False), "that shortage was over"


def test_a_crossing_that_began_no_cycle_needs_the_longest_wait_for_the_next_one() -> None:
    """`with 120Mi, 5 of 5 leave the reserve` held for none: the same cycle decided, with the same amount left."""
    gone = reading(11, 4000, gone="a")
    calm, late = reading(0, 600), reading(10, 437, evict="a", rate=17 * MI)
    [episode] = node_evidence("n", [calm, late, gone]).episodes
    assert (episode.waits, episode.fell, episode.fell_at_most) == (10 * SECOND, 63 * MI, 170 * MI)
    assert not episode.leaves_reserve(200 * MI)
    for readings in (
        [calm, reading(9, 490, evict="a", rate=17 * MI), gone],  # at once
        [late, gone],  # not seen to be crossed
        [calm, reading(7, 499), late, gone],  # something else waited
    ):
        [episode] = node_evidence("n", readings).episodes
        assert not episode.waits


def test_a_node_of_4_gib_reports_less_and_has_the_amount_of_that_size() -> None:
    """`advise` began with 150Mi on a machine of 4 GiB, which reports 3.85Gi, and `check` and docs/tuning.md with 500Mi."""
    lines = [documented_line(Signal.MEMORY_AVAILABLE, mebibytes << 20) for mebibytes in (3839, 3840, 3943, 4096)]
    assert lines == ["150Mi", "500Mi", "500Mi", "500Mi"]
