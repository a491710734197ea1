"""Checks what was before an eviction when a proposed threshold would have been met."""

from dataclasses import replace

from evictd.core.model.signal import Resource
from evictd.core.units.duration import MINUTE
from evictd.render.history.history import EventKind
from evictd.render.incident.verdict import EvictionVerdict, Grower, Need
from evictd.render.incident.within_lead import LEAD_SECONDS, evicted_within_lead, fall_within_lead, was_within_request
from tests.render.recorded_incident import incident


def test_a_pod_was_within_its_request_by_what_it_took_since() -> None:
    found = incident()
    assert found.victim is not None
    assert found.victim.usage is not None
    grower = Grower(pod=found.event.pod, rate=1 << 20)
    verdict = EvictionVerdict(need=Need.NEEDED, pod=found.event.pod, growers=(grower,), played=5 * MINUTE)
    near = replace(found.victim, request=found.victim.usage - (LEAD_SECONDS << 20))
    judged = replace(found, verdict=verdict, ranking=(near,))
    assert was_within_request(judged, Resource.MEMORY)
    assert not was_within_request(judged, Resource.PIDS)
    assert not was_within_request(replace(judged, verdict=None), Resource.MEMORY)


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
