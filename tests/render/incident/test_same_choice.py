"""Checks the reason for which a request would have changed nothing."""

from dataclasses import replace

import pytest

from evictd.core.model.signal import Resource
from evictd.render.history.recorded_ranking import IncidentRow
from evictd.render.incident.incident import Incident
from evictd.render.incident.same_choice import why_the_same
from tests.render.recorded_incident import incident
from tests.stories import GI


def other(name: str, usage: int, *, request: int = 0, priority: int = 0, skipped: str = "") -> IncidentRow:
    """A pod beside the evicted one."""
    return IncidentRow(
        number=0,
        pod=f"default/{name}",
        usage=usage,
        request=request,
        priority=priority,
        protected=False,
        chosen=False,
        skipped=skipped,
    )


def beside(*others: IncidentRow) -> Incident:
    """The recorded incident, in which 1.5Gi was missing and 85.3Mi a second was lost, beside these pods."""
    found = incident()
    rows = tuple(row for row in found.ranking if row.chosen or row.protected)
    return replace(found, ranking=(*rows, *others), pods=len(rows) + len(others))


def why(found: Incident) -> str:
    """Return the reason."""
    assert found.victim is not None
    return why_the_same(found, found.victim, Resource.MEMORY)


def test_the_reason_is_what_the_pods_that_rank_before_it_held() -> None:
    """The report had `because of what it holds`, although a pod without a request ranked before it."""
    assert why(beside(other("database", GI), other("web", GI // 4))) == (
        "the other pods above their requests held 1.25Gi together, less than the 1.5Gi that was missing"
    )


def test_the_growth_counts_that_comes_while_they_go() -> None:
    assert why(beside(other("database", 2 * GI))) == (
        "the other pods above their requests held 2Gi together, which is too little. Their end should relieve the node for 40 s: "
        "1.5Gi was missing, and 3.33Gi grows in that time"
    )


def test_the_time_that_counts_is_not_that_of_their_end() -> None:
    """`while these 2 end (40 s each)` stood in the report of a pod whose grace period was 1 s."""
    assert why(beside(other("database", 2 * GI), other("web", GI))).endswith(
        "Their end should relieve the node for 80 s (40 s for each of these 2): 1.5Gi was missing, and 6.67Gi grows in that time"
    )


def test_no_sum_is_named_that_is_not_known() -> None:
    found = beside(other("database", GI))
    for unknown in (replace(found, pods=30), replace(found, levels=())):
        assert why(unknown) == "the end of the other pods above their requests would not have been enough"


def test_no_sum_is_named_that_would_have_been_enough() -> None:
    assert why(beside(other("database", 7 * GI))) == (
        "the end of the other pods above their requests would not have been enough"
    )


def test_without_another_pod_above_its_request_it_is_first_by_priority() -> None:
    within = other("web", GI, request=2 * GI, priority=10)
    assert why(beside(within)) == "no other pod exceeded its request and none had a lower priority"


def test_pods_of_lower_priority_held_too_little() -> None:
    within = other("web", GI, request=2 * GI, priority=-10)
    assert why(beside(within)) == (
        "no other pod exceeded its request; those of lower priority held 1Gi together, less than the 1.5Gi that was missing"
    )


@pytest.mark.parametrize("skipped", ["InFlight", "Budget", "NotMeasured"])
def test_a_pod_that_could_not_go_is_no_alternative(skipped: str) -> None:
    """It was said of a pod with no other beside it that its priority was the reason."""
    assert why(beside(other("web", GI, skipped=skipped))) == "no other pod could go"
