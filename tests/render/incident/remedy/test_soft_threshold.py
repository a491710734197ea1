"""Checks what an earlier or a smaller soft threshold would have done, and how far the hard one was when the pod went."""

from dataclasses import replace

import pytest

from evictd.core.model.signal import Resource, Signal
from evictd.core.units.duration import MINUTE, SECOND
from evictd.render.history.history import EventKind
from evictd.render.incident.needed import verdict_text
from evictd.render.incident.record.incident import Incident
from evictd.render.incident.record.verdict import EvictionVerdict, Grower, Need
from evictd.render.incident.remedy.soft_threshold import (
    LEAD_SECONDS,
    above_hard_text,
    evicted_within_lead,
    fall_within_lead,
    hidden_from_soft,
    lead_and_grace,
    longer_grace_text,
    smaller_soft_text,
    soft_threshold_avoidance,
    was_within_request,
    went_for_soft,
)
from tests.render.recorded_incident import incident
from tests.stories import GI


def test_a_pod_was_within_its_request_by_what_it_took_since() -> None:
    found = incident()
    assert found.victim is not None
    assert found.victim.usage is not None
    grower = Grower(pod=found.event.pod, rate=1 << 20)
    verdict = EvictionVerdict(need=Need.NEEDED, pod=found.event.pod, growers=(grower,), played=5 * MINUTE)
    near = replace(found.victim, request=found.victim.usage - (LEAD_SECONDS << 20))
    judged = replace(found, verdict=verdict, ranking=(near,))
    assert was_within_request(judged, Resource.MEMORY, LEAD_SECONDS)
    assert not was_within_request(judged, Resource.MEMORY, LEAD_SECONDS - 1)
    assert not was_within_request(judged, Resource.PIDS, LEAD_SECONDS)
    assert not was_within_request(replace(judged, verdict=None), Resource.MEMORY, LEAD_SECONDS)


def test_a_proposed_threshold_is_met_for_its_whole_grace_period_before_the_hard_one() -> None:
    """800Mi, met 47 s before the hard one, was proposed without a grace period; with one of 60s the hard one acted (world 26)."""
    unset = replace(incident(), levels=(("hard", GI),), soft=None, soft_grace=None, unallocatable=GI // 16)
    assert lead_and_grace(unset) == (60, 30)
    assert lead_and_grace(replace(unset, soft_grace=90 * SECOND)) == (120, 90)
    assert lead_and_grace(for_soft()) == (60, 0), "it waited already"
    slow = replace(unset, points=((-60.0, GI + GI // 2), (0.0, GI)), available=GI)
    (text,) = soft_threshold_avoidance(slow, Resource.MEMORY).not_by
    assert text.startswith(
        "a soft threshold of 1.56Gi with a grace period of 30s: at 8.53Mi a second it would have been met 60 s"
    )
    assert hidden_from_soft(slow) == GI // 16, "what no process can allocate counts"
    assert hidden_from_soft(replace(slow, signal=Signal.NODEFS_AVAILABLE)) == 0


def test_an_eviction_just_before_is_returned() -> None:
    found = incident()
    other = replace(found.event, uid="other", kind=EventKind.EVICTED)
    assert evicted_within_lead(replace(found, before=(other,))) is other
    assert evicted_within_lead(replace(found, before=(replace(other, at="2025-12-31T00:00:00Z"),))) is None


def test_in_a_sudden_fall_a_higher_limit_is_met_hardly_earlier() -> None:
    """From the 56Mi of the half minute after it, a threshold 100Mi higher was said to be met 60 s earlier."""
    sudden = replace(
        incident(), levels=(("soft", 900),), points=((-40.0, 4000), (-32.0, 4000), (-30.0, 890), (0.0, 800))
    )
    assert fall_within_lead(sudden, 1000) == (4000, 2.0)
    assert fall_within_lead(sudden, 4001) is None
    slow = replace(sudden, points=((-90.0, 1000), (-60.0, 960), (-30.0, 910), (0.0, 800)))
    assert fall_within_lead(slow, 1000) is None
    assert fall_within_lead(replace(sudden, points=()), 1000) is None


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


def burst() -> Incident:
    """A pod that took 3Gi within a minute and has taken no more for 20 s, beside a grace period of 30 s."""
    points = (
        (-60.0, 5 * GI),
        (-50.0, 4 * GI),
        (-40.0, 3 * GI),
        (-30.0, 5 * GI // 2),
        *((each, 2 * GI) for each in (-20.0, -10.0, 0.0)),
    )
    found = for_soft(Grower(pod="default/web", rate=GI // 32))
    return replace(found, points=points, soft_grace=30 * SECOND)


def test_a_burst_that_ended_within_the_grace_period_is_told_from_a_leak() -> None:
    """Only a limit was proposed, which kills the job in every burst, though 1012Mi was left in the last three readings."""
    smaller, longer = soft_threshold_avoidance(burst(), Resource.MEMORY).by
    assert smaller.endswith("and nothing grew any more in the 20s before")
    assert longer == (
        "a soft grace period of 1m30s (it was 30s): no pod would have gone if what grew is given back within 1m30s, "
        "which the journal cannot show"
    )
    assert not soft_threshold_avoidance(burst(), Resource.MEMORY).not_by


def test_a_longer_grace_period_is_proposed_only_for_growth_that_ended_within_it() -> None:
    assert not longer_grace_text(replace(burst(), soft_grace=10 * SECOND)), "the growth had ended before"
    assert not longer_grace_text(replace(burst(), soft_grace=None))
    assert not longer_grace_text(replace(burst(), points=((-40.0, 3 * GI), (0.0, 2 * GI)))), "it grows on"


def test_the_amount_to_configure_is_above_the_hard_threshold_and_what_no_process_can_allocate() -> None:
    """A soft threshold of 525Mi was proposed beside a hard one of 500Mi, and `evictd check` warned of it (SoftAfterHard)."""
    found = for_soft(available=GI + GI // 64)
    found = replace(found, points=((-30.0, GI + GI // 64), (0.0, GI + GI // 64)))
    assert hidden_from_soft(found) == GI // 4
    assert smaller_soft_text(found).startswith("a soft threshold of at most 1.26Gi ")


def test_no_threshold_is_proposed_of_which_the_check_would_warn() -> None:
    """On a full node of 4 GiB 653Mi were proposed beside a hard threshold of 500Mi; `evictd check` wants 740Mi or more."""
    mi = GI // 1024
    found = replace(
        for_soft(available=503 * mi),
        levels=(("soft", 874 * mi), ("hard", 500 * mi)),
        soft=GI,
        capacity=4 * GI,
        points=((-30.0, 503 * mi), (0.0, 503 * mi)),
    )
    assert hidden_from_soft(found) == 150 * mi
    assert smaller_soft_text(found) == ""
    enough = replace(found, available=600 * mi, points=((-30.0, 600 * mi), (0.0, 600 * mi)))
    assert smaller_soft_text(enough).startswith("a soft threshold of at most 74")


@pytest.mark.parametrize(
    "found",
    [
        replace(
            for_soft(Grower(pod="default/web", rate=1)), points=((-40.0, 3 * GI), (-20.0, 5 * GI // 2), (0.0, 2 * GI))
        ),
        replace(for_soft(), points=((-40.0, 3 * GI), (0.0, 2 * GI))),
        for_soft(available=GI),
        incident(),
    ],
    ids=["a pod grows", "the node fills", "the hard one is near", "evicted for the hard one"],
)
def test_no_other_threshold_is_proposed(found: Incident) -> None:
    assert smaller_soft_text(found) == ""


def for_soft_of_above_hard(available: int = 2 * GI, *levels: tuple[str, int]) -> Incident:
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
    found = for_soft_of_above_hard(2 * GI, ("hard", GI))
    assert above_hard_text(found) == "the hard threshold, 1Gi, was not met: 1Gi was left above it"
    assert verdict_text(found).startswith("its end was needed for the soft threshold")
    assert verdict_text(found).endswith("; the hard threshold, 1Gi, was not met: 1Gi was left above it")


@pytest.mark.parametrize(
    "found",
    [
        incident(),
        for_soft_of_above_hard(GI // 2, ("hard", GI)),
        replace(for_soft_of_above_hard(2 * GI, ("hard", GI)), points=((0.0, 2 * GI), (17.0, GI - 1)), gone_after=18.0),
    ],
    ids=["for the hard one", "the hard one was met as well", "it was met before the pod's end (world 16)"],
)
def test_an_eviction_for_the_hard_threshold_is_needed_without_a_condition(found: Incident) -> None:
    assert (went_for_soft(found), above_hard_text(found)) == (False, "")


def test_only_the_soft_threshold_is_named_where_the_record_has_no_hard_one() -> None:
    assert (went_for_soft(for_soft_of_above_hard()), above_hard_text(for_soft_of_above_hard())) == (True, "")


def test_a_soft_threshold_above_half_of_the_memory_is_named_only_where_one_is_set() -> None:
    """`A soft threshold of 76Gi on a node of 16Gi` was listed under what would not have avoided nearly each eviction."""
    found = incident()
    (text,) = soft_threshold_avoidance(found, Resource.MEMORY).not_by
    assert "it would have to be 11Gi, more than all of the 8Gi" in text
    assert soft_threshold_avoidance(replace(found, soft=None), Resource.MEMORY).not_by == ()
