"""The grace period that is right for pods that were not evicted too."""

from dataclasses import replace

import pytest

from evictd.advice.evidence import node_evidence
from evictd.advice.pod_grace import pod_grace
from evictd.advice.proposal import advise
from evictd.advice.signal_advice import LEAST_EVICTIONS
from tests.advice.test_proposal import MI, copies, reading

SOFT = [
    reading(0, 1846), reading(4, 900), reading(40, 846, evict="a", hard=False), reading(44, 846), reading(48, 1900, gone="a"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("took", "now", "seconds", "proposed"),
    [
        (8, 30, 30, None), (8, 20, 30, 30), (8, 60, 60, None), (8, 0, 30, 30), (42, 30, 45, 45), (42, 60, 60, None),
        (42, -1, 45, None),
    ],
)  # fmt: skip
def test_pods_that_ended_quickly_shorten_no_grace_period(
    took: int, now: int, seconds: int, proposed: int | None
) -> None:
    """10 replaced 30 because batch pods took 8 s; a database that takes 25 s would have been killed."""
    soft = [reading(0, 846, evict="a", hard=False), reading(4, 846), reading(took, 1900, gone="a")]
    nodes = copies(node_evidence("n", [replace(each, max_pod_grace=now) for each in soft]), LEAST_EVICTIONS)
    assert pod_grace(nodes, 99, LEAST_EVICTIONS).seconds == seconds
    assert advise(nodes, 99).max_pod_grace_seconds == proposed


def test_few_ends_say_nothing_of_how_long_pods_take() -> None:
    nodes = [node_evidence("n", [replace(each, max_pod_grace=10) for each in SOFT])]
    found = pod_grace(nodes, 99, LEAST_EVICTIONS)
    assert (found.seconds, found.took, found.ends, found.raises) == (30, 0, 1, False)


def test_a_recorded_pod_that_has_longer_is_named() -> None:
    """`evictionMaxPodGracePeriod: 30` was proposed for nodes with a pod of 120 s, of which it said nothing."""
    for own, cuts in ((120, (120, "default/db")), (30, None)):
        node = replace(node_evidence("n", SOFT), longest_grace=(own, "default/db"))
        assert pod_grace([node], 99, LEAST_EVICTIONS).cuts == cuts


def test_a_soft_threshold_counts_the_grace_period_that_nodes_have() -> None:
    leak = [reading(0, 480, evict="a", rate=MI), reading(1, 4000, gone="a")]
    for now, counts in ((30, 30), (90, 90)):
        nodes = copies(node_evidence("n", [replace(each, max_pod_grace=now) for each in leak]), LEAST_EVICTIONS)
        found = advise(nodes, 99)
        assert (found.max_pod_grace_seconds, found.signals[0].rate) == (counts, MI)
        assert found.signals[0].soft is not None
        assert found.signals[0].soft >= found.signals[0].hard + (30 + counts) * MI
