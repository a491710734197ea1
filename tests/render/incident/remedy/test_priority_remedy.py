"""Which priority would have ranked an evicted pod behind another one."""

from dataclasses import replace

from evictd.core.model.signal import Resource
from evictd.render.history.cause.recorded import IncidentRow
from evictd.render.history.history import EventKind, HistoryEvent
from evictd.render.incident.record.incident import Incident
from evictd.render.incident.record.verdict import EvictionVerdict, Grower, Need
from evictd.render.incident.remedy.avoidance import avoidance
from evictd.render.incident.remedy.priority_remedy import priority_text
from tests.render.recorded_incident import incident
from tests.stories import GI


def beside(priority: int) -> tuple[Incident, IncidentRow]:
    """The recorded incident of a pod of priority 0 within its request, and the others have this priority."""
    found = replace(incident(), host_filled=False, points=())  # nothing grows
    rows = tuple(
        replace(row, request=row.usage or 0, priority=row.priority if row.chosen else priority) for row in found.ranking
    )
    return replace(found, ranking=rows), next(row for row in rows if row.chosen)


def test_it_is_above_that_of_the_other_pod() -> None:
    """A priority above -10 was proposed beside a pod of priority 100, and with -9 the same pod went."""
    found, victim = beside(100)
    text = "a priority above 100: default/web (5Gi), whose priority 100 is higher, would have ranked before it"
    assert priority_text(found, victim, Resource.MEMORY) == (text, False)
    assert text in avoidance(found).not_by
    grower = Grower(pod="default/web", rate=1 << 20)
    verdict = EvictionVerdict(need=Need.ANOTHER_POD, pod=victim.pod, growers=(grower,), played=0)
    assert priority_text(replace(found, verdict=verdict), victim, Resource.MEMORY) == (text, True)


def test_it_is_no_advice_where_the_other_pod_did_not_grow() -> None:
    """Of pods alike a priority was said to have avoided the eviction, with which the next one goes."""
    found, victim = beside(0)
    text = "a priority above 0: default/web (5Gi) would have ranked before it"
    assert priority_text(found, victim, Resource.MEMORY) == (text, False)
    assert text in avoidance(found).not_by


def test_no_pod_holds_what_is_missing() -> None:
    found, victim = beside(0)
    small = tuple(replace(row, usage=row.usage if row.chosen else 1) for row in found.ranking)
    assert priority_text(replace(found, ranking=small), victim, Resource.MEMORY) == ("", False)


def test_it_is_not_computed_where_a_budget_refused_the_eviction_first() -> None:
    """It was computed of the last request, when the pods held more than at the first one."""
    found, victim = beside(100)
    refusal = HistoryEvent(at="", kind=EventKind.REFUSED, uid=found.event.uid, text="")
    assert priority_text(replace(found, before=(refusal,)), victim, Resource.MEMORY) == ("", False)


def test_it_is_advice_for_a_pod_that_exceeds_its_request_as_well_beside_one_that_grew() -> None:
    """It was computed only of pods within their requests: with a priority above that of a job that grew, no web pod went."""
    found, victim = beside(100)
    rows = tuple(replace(row, request=GI) for row in found.ranking)
    grower = Grower(pod="default/web", rate=1 << 20)
    verdict = EvictionVerdict(need=Need.ANOTHER_POD, pod=victim.pod, growers=(grower,), played=0)
    found = replace(found, ranking=rows, verdict=verdict)
    text = "a priority above 100: default/web (5Gi), whose priority 100 is higher, would have ranked before it"
    assert text in avoidance(found).by
    within = tuple(row if row.chosen else replace(row, request=row.usage or 0) for row in rows)
    assert text not in "".join(avoidance(replace(found, ranking=within)).by), (
        "it ranks behind this one with any priority"
    )
    own = replace(verdict, growers=(Grower(pod=victim.pod, rate=1 << 20),))
    assert text not in "".join(avoidance(replace(found, verdict=own)).by)
