"""Checks of which threshold an eviction is said to have been needed, and what was left above the hard one."""

from dataclasses import replace

import pytest

from evictd.core.units.duration import MINUTE
from evictd.render.incident.above_hard import above_hard_text, went_for_soft
from evictd.render.incident.incident import Incident
from evictd.render.incident.verdict import EvictionVerdict, Need
from evictd.render.incident.view import verdict_text
from tests.render.recorded_incident import incident
from tests.stories import GI


def for_soft(available: int = 2 * GI, *levels: tuple[str, int]) -> Incident:
    """An eviction for a soft threshold of 3Gi."""
    found = incident()
    because = {**found.event.evidence["because"], "threshold": {"gracePeriodNanoseconds": MINUTE}}
    return replace(
        found,
        event=replace(found.event, evidence={**found.event.evidence, "because": because}),
        levels=(("soft", 3 * GI), *levels),
        available=available,
        verdict=EvictionVerdict(need=Need.NEEDED, pod=found.event.pod, fewest=(found.event.pod,), played=5 * MINUTE),
    )


def test_what_was_left_above_the_hard_threshold_is_said() -> None:
    """`its end was needed` was said of a pod although 228Mi was left above the hard threshold (world 25)."""
    found = for_soft(2 * GI, ("hard", GI))
    assert above_hard_text(found) == "the hard threshold, 1Gi, was not met: 1Gi was left above it"
    assert verdict_text(found).startswith("its end was needed for the soft threshold")
    assert verdict_text(found).endswith("; the hard threshold, 1Gi, was not met: 1Gi was left above it")


@pytest.mark.parametrize(
    "found",
    [
        incident(),
        for_soft(GI // 2, ("hard", GI)),
        replace(for_soft(2 * GI, ("hard", GI)), points=((0.0, 2 * GI), (17.0, GI - 1)), gone_after=18.0),
    ],
    ids=["for the hard one", "the hard one was met as well", "it was met before the pod's end (world 16)"],
)
def test_an_eviction_for_the_hard_threshold_is_needed_without_a_condition(found: Incident) -> None:
    assert (went_for_soft(found), above_hard_text(found)) == (False, "")


def test_only_the_soft_threshold_is_named_where_the_record_has_no_hard_one() -> None:
    assert (went_for_soft(for_soft()), above_hard_text(for_soft())) == (True, "")
