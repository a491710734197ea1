"""The least amount that is enough for the asked share of the nodes."""

from dataclasses import replace

from evictd.advice.enough import covers, least_hard, needs_with, round_up
from evictd.advice.episode import Episode
from evictd.advice.evidence import node_evidence
from evictd.core.units.duration import SECOND
from tests.advice.test_proposal import KEPT, MEMORY, MI, reading


def fitted(mebibytes: int) -> Episode:
    """The eviction of a pod that was killed without grace, at this rate."""
    return Episode(
        node="", wall="", pod="", signal=MEMORY, hard=True, available=100 * MI, limit=100 * MI, rate=mebibytes * MI,
        used=mebibytes * MI // 5, took=SECOND // 5, ended=True, fitted=True,
    )  # fmt: skip


def test_the_least_threshold_is_enough_for_the_grace_period_that_it_leaves_time_for() -> None:
    """Two leaks, of 80 and 300Mi a second: 176Mi were enough for both without grace, and give it to the slower one."""
    slow, fast = [fitted(80)], [fitted(300)]
    assert least_hard([fast], 100) == round_up(60 * MI + KEPT)
    assert least_hard([slow, fast], 100) == round_up(96 * MI + KEPT)
    assert least_hard([slow, fast], 50) == round_up(60 * MI + KEPT), "for half of the nodes"
    assert needs_with([slow, fast, []], 208 * MI) == [60 * MI + KEPT, 96 * MI + KEPT]
    kept = [replace(slow[0], fitted=False)]
    assert least_hard([kept, fast], 100) == round_up(60 * MI + KEPT)


def test_the_least_threshold_is_not_below_one_that_is_given() -> None:
    assert least_hard([[fitted(80)]], 100, 120 * MI) == round_up(96 * MI + KEPT)
    assert least_hard([[fitted(80)]], 100, 300 * MI) == 300 * MI
    assert least_hard([], 100) == 0


def test_rounding_up_adds_an_eighth_at_the_most() -> None:
    for amount in (0, 1, 15, 17, 1000, 812 * MI, 2**40 + 1):
        assert amount <= round_up(amount) <= amount + amount // 8 + 1


def test_evictions_with_nothing_left_do_not_speak_against_what_is_enough_for_the_others() -> None:
    """Six of seven evictions needed 1.75Gi, which was played with success; `enough for no node` was said for the seventh."""
    late, empty = (
        node_evidence("n", [reading(0, left, evict="a", rate=30 * MI), reading(10, 4000, gone="a")]).episodes[0]
        for left in (350, 0)
    )
    assert covers([late, late, empty], 512 * MI)
    assert not covers([late, late, empty], 500 * MI), "with as much nothing was left"
    assert not covers([late, empty], 512 * MI), "half of them tell too little"
    assert not covers([late, late, empty], 300 * MI)
    assert not covers([empty], 512 * MI)
