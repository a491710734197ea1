"""Checks which limit is proposed for a pod that grew within its request, and what is said of the one that exceeded its own."""

from dataclasses import replace
from typing import Any

from evictd.codec.times import rfc3339
from evictd.core.units.duration import MINUTE
from evictd.render.history.history import EventKind, HistoryEvent
from evictd.render.incident.record.aftermath import time_of
from evictd.render.incident.record.incident import Incident
from evictd.render.incident.record.verdict import EvictionVerdict, Grower, Need
from evictd.render.incident.remedy.avoidance import avoidance
from evictd.render.incident.remedy.avoided import Avoidance
from evictd.render.incident.remedy.now import now_text
from evictd.render.incident.remedy.within_limit import exceeded_later, excess_remedy, within_limit
from tests.render.recorded_incident import incident
from tests.stories import GI

WEB = "default/web"


def leaking(**changes: Any) -> Incident:
    """The recorded pod holds 2Gi more than it requests, and `default/web` grew to within its request for ten minutes."""
    web = Grower(pod=WEB, rate=85 << 20, grown=600 * (85 << 20), over=10 * MINUTE)
    verdict = EvictionVerdict(need=Need.ANOTHER_POD, pod="default/hog-old", growers=(web,), played=0)
    found = replace(incident(), host_filled=False, verdict=verdict, known_for=10)
    rows = tuple(replace(row, request=4 * GI if row.chosen else 6 * GI) for row in found.ranking)
    return replace(found, ranking=rows, with_request=found.event.pod, **changes)


def grown(found: Incident, **changes: Any) -> Incident:
    assert found.verdict is not None
    web = replace(found.verdict.growers[0], **changes)
    return replace(found, verdict=replace(found.verdict, growers=(web,)))


def test_a_leak_within_a_request_is_to_be_limited() -> None:
    """Nothing would have avoided it, by the report; a limit of the pod that leaked within its request did, played again."""
    limit = "a request and a limit of at most 3.48Gi of memory for it would have been enough"
    said = f"if {WEB} leaks, which grew within its request (5Gi of 6Gi): {limit}"
    assert within_limit(leaking()) == Avoidance(by=(said,))
    assert avoidance(leaking()).by == (said,)
    assert within_limit(leaking(host_filled=True)) == Avoidance()


def test_a_pod_that_only_started_is_no_leak() -> None:
    found = leaking()
    for changed in (
        grown(found, over=MINUTE),
        grown(found, grown=1),
        grown(found, grown=None),
        grown(found, rate=1),
        replace(found, ranking=tuple(replace(row, protected=not row.chosen) for row in found.ranking)),
    ):
        assert within_limit(changed) == Avoidance()


def test_a_pod_grew_since_the_kernel_last_killed_its_processes() -> None:
    """A leak that the kernel had ended three times had no limit: its growth was compared with that of 35 minutes."""
    found = grown(leaking(), over=100 * MINUTE)
    assert within_limit(found) == Avoidance()
    at = rfc3339(time_of(found.event.at) - 8 * MINUTE)
    kill = HistoryEvent(at=at, kind=EventKind.KERNEL, pod=WEB, text="")
    assert within_limit(replace(found, before=(kill,))) == within_limit(leaking())
    assert within_limit(replace(found, before=(replace(kill, pod="default/other"),))) == Avoidance()
    late = replace(kill, at=rfc3339(time_of(found.event.at) - MINUTE))
    assert within_limit(replace(found, before=(kill, late))) == Avoidance(), "it may have started only"


def test_what_is_to_be_done_now_is_not_what_would_not_have_avoided_it() -> None:
    """`let it request what it uses` stood beside `a request of 1.23Gi would not have`."""
    grew = f"{WEB} grew by 85.3Mi a second and still runs: if it grows on, the node is short again"
    excess = "default/hog-old held 2Gi more than it requested"
    said = f"{excess}, and a request of just that would not have kept it; {grew}; limit it if it leaks"
    assert excess_remedy(leaking()) == said
    assert now_text(leaking()).endswith(f"; {said}")
    other = f"{excess}: let it request a tenth more than it uses, or limit it; {grew}"
    assert excess_remedy(grown(replace(leaking(), with_request=WEB), over=0)) == other


def test_a_pod_that_grew_past_its_request_later_is_to_be_mended() -> None:
    """The report on the first pod said that nothing was to do, that on the leak to mend or limit it."""
    went = HistoryEvent(at="2026-01-01T00:05:00Z", kind=EventKind.EVICTED, pod=WEB, uid="uid-web", text="")
    past = replace(went, evidence={"because": {"usage": str(7 * GI), "request": str(6 * GI)}})
    assert not exceeded_later(went)
    assert exceeded_later(past)
    found = leaking(running=frozenset(), after=(past,), still_met=False, pressed=False)
    found = replace(found, known_for=300)
    assert f"mend or limit {WEB}" in now_text(found)
    assert "mend" not in now_text(replace(found, after=(went,)))
