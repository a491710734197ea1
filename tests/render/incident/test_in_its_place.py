"""The pod that would have gone in the place of another one."""

from dataclasses import replace

from evictd.core.model.signal import Resource
from evictd.render.history.recorded_ranking import IncidentRow
from evictd.render.incident.in_its_place import grew_instead, in_its_place
from evictd.render.incident.verdict import EvictionVerdict, Grower, Need
from tests.render.recorded_incident import incident

MI = 1 << 20


def row(number: int, **changes: object) -> IncidentRow:
    plain = IncidentRow(
        number=number, pod=f"a/{number}", usage=310 * MI, request=300 * MI, priority=0, protected=False, chosen=False
    )
    return replace(plain, **changes)  # type: ignore[arg-type]


def test_a_pod_behind_the_next_one_is_explained() -> None:
    """One pod was named the next, and another one was said to have gone in the place of the first (world 39)."""
    rows = (row(1, chosen=True), row(2), row(3), row(4, usage=None))
    assert in_its_place("a/2", rows, Resource.MEMORY) == "a/2 (310Mi)"
    passed = "a/3 (310Mi; a/2, which ranks before it, would have been passed over)"
    assert in_its_place("a/3", rows, Resource.MEMORY) == passed
    assert in_its_place("a/9", rows, Resource.MEMORY) == "a/9"
    for changes in ({"protected": True}, {"skipped": "InFlight"}):
        assert in_its_place("a/3", (rows[0], row(2, **changes), rows[2]), Resource.MEMORY) == "a/3 (310Mi)"


def test_the_pod_that_grew_would_have_gone_where_the_evicted_one_did_not_grow() -> None:
    web, own = Grower(pod="default/web", rate=9), Grower(pod="default/hog-old", rate=3)
    verdict = EvictionVerdict(need=Need.ANOTHER_POD, pod="default/hog-old", growers=(web,), played=0)
    found = replace(incident(), with_request="default/web", verdict=verdict)
    assert grew_instead(found)
    assert not grew_instead(replace(found, with_request="default/other"))
    assert not grew_instead(replace(found, verdict=replace(verdict, growers=(web, own))))
    host = replace(verdict, growers=(Grower(pod="", rate=9),))
    assert not grew_instead(replace(found, with_request="", verdict=host))
    assert not grew_instead(replace(found, verdict=None))
