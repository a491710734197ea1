"""Which evictions speak for a lower hard threshold."""

from dataclasses import replace

from evictd.advice.evidence import node_evidence
from evictd.advice.floor import Floor, NotLower, floor_of
from evictd.advice.proposal import LEAST_EVICTIONS, advise
from tests.advice.test_proposal import KEPT, MEMORY, MI, copies, reading

FILL = [reading(0, 1846), reading(4, 900)]
"""A fill of 236Mi a second that ends before the hard threshold of 500Mi."""
SOFT = [*FILL, reading(40, 846, evict="a", hard=False), reading(44, 846), reading(48, 1900, gone="a")]
HARD = [reading(100, 510), reading(101, 490, evict="b", rate=20 * MI), reading(102, 1900, gone="b")]


def test_without_a_hard_eviction_none_lower_is_proposed() -> None:
    """200Mi were to become 104Mi, `24 of 24 leave the reserve`, where the next fill of the same rate would have run through."""
    [advice] = advise(copies(node_evidence("n", SOFT), LEAST_EVICTIONS), 99).signals
    assert (advice.hard, advice.by_hard) == (500 * MI, 0)
    assert advice.not_lower == Floor(
        amount=500 * MI, node="n0", why=NotLower.NO_HARD, rate=(1846 - 900) * MI // 4, capacity=8192 * MI
    )


def test_the_fastest_fill_counts_beside_slow_hard_evictions() -> None:
    [slow] = advise(copies(node_evidence("n", HARD), LEAST_EVICTIONS), 99).signals
    assert (slow.hard, slow.not_lower) == (144 * MI, None)
    [advice] = advise(copies(node_evidence("n", [*SOFT, *HARD]), LEAST_EVICTIONS), 99).signals
    assert advice.not_lower is not None
    assert (advice.not_lower.why, advice.not_lower.rate) == (NotLower.FAST, (1846 - 900) * MI // 4)
    assert 236 * MI + KEPT <= advice.hard < 500 * MI


def test_without_an_eviction_there_is_no_floor() -> None:
    node = node_evidence("n", SOFT)
    assert floor_of(MEMORY, [replace(node, episodes=())], 99) == Floor()


def test_where_the_kernel_killed_none_lower_is_proposed() -> None:
    """A kill between two cycles freed memory before any threshold was seen to be met, and 500Mi became 144Mi."""
    killed = [replace(reading(0, 4000), killed={"default/a": 1}), *HARD]
    [advice] = advise(copies(node_evidence("n", killed), LEAST_EVICTIONS), 99).signals
    assert (advice.hard, advice.too_late) == (500 * MI, 0)
    assert advice.not_lower is not None
    assert advice.not_lower.why is NotLower.KILLED
