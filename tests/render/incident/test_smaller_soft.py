"""Checks when a smaller soft threshold is said to have avoided an eviction."""

from dataclasses import replace

import pytest

from evictd.core.units.duration import MINUTE
from evictd.render.incident.incident import Incident
from evictd.render.incident.smaller_soft import hidden_from_soft, smaller_soft_text
from evictd.render.incident.verdict import EvictionVerdict, Grower, Need
from tests.render.recorded_incident import incident
from tests.stories import GI

STILL = ((-40.0, 3 * GI), (-30.0, 2 * GI), (-5.0, 2 * GI), (0.0, 2 * GI))


def for_soft(*growers: Grower, available: int = 2 * GI) -> Incident:
    """An eviction for a soft threshold of 3Gi beside a hard one of 1Gi."""
    found = incident()
    because = {**found.event.evidence["because"], "threshold": {"gracePeriodNanoseconds": MINUTE}}
    return replace(
        found,
        event=replace(found.event, evidence={**found.event.evidence, "because": because}),
        levels=(("soft", 3 * GI), ("hard", GI)),
        soft=13 * GI // 4,
        available=available,
        points=STILL,
        verdict=EvictionVerdict(need=Need.NEEDED, pod=found.event.pod, growers=growers, played=5 * MINUTE),
    )


def test_what_was_left_when_growth_had_ended_is_proposed() -> None:
    """A threshold of 1Gi that evicts no pod was not named where 1.1Gi was left for 18 minutes (world 44)."""
    assert smaller_soft_text(for_soft()) == (
        "a soft threshold of at most 2.24Gi (it was 3.25Gi): 1.99Gi or more was left (2.24Gi less what no process can allocate), "
        "and nothing grew any more"
    )


def test_the_amount_to_configure_is_above_the_hard_threshold_and_what_no_process_can_allocate() -> None:
    """A soft threshold of 525Mi was proposed beside a hard one of 500Mi, and `evictd check` warned of it (SoftAfterHard)."""
    found = for_soft(available=GI + GI // 64)
    found = replace(found, points=((-30.0, GI + GI // 64), (0.0, GI + GI // 64)))
    assert hidden_from_soft(found) == GI // 4
    assert smaller_soft_text(found).startswith("a soft threshold of at most 1.26Gi ")


@pytest.mark.parametrize(
    "found",
    [
        for_soft(Grower(pod="default/web", rate=1)),
        replace(for_soft(), points=((-40.0, 3 * GI), (0.0, 2 * GI))),
        for_soft(available=GI),
        incident(),
    ],
    ids=["a pod grows", "the node fills", "the hard one is near", "evicted for the hard one"],
)
def test_no_other_threshold_is_proposed(found: Incident) -> None:
    assert smaller_soft_text(found) == ""
