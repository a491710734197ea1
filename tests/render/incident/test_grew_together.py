"""Pods that made a node short together."""

from dataclasses import replace

from evictd.render.incident.avoidance import avoidance
from evictd.render.incident.grew_together import grew_together, together_text
from evictd.render.incident.incident import Incident
from evictd.render.incident.now import now_text
from evictd.render.incident.verdict import EvictionVerdict, Grower, Need
from tests.render.recorded_incident import incident
from tests.stories import GI

MIB = 1 << 20


def beside(*growers: Grower) -> Incident:
    """The recorded incident, with another pod beyond its request, and a verdict in which these grew."""
    found = replace(incident(), host_filled=False, elsewhere=3 * GI)
    web = next(row for row in found.ranking if row.pod == "default/web")
    rows = (*found.ranking, replace(web, pod="default/api", number=web.number + 1))
    verdict = EvictionVerdict(need=Need.ANOTHER_POD, pod=found.event.pod, growers=growers, played=0)
    return replace(found, ranking=rows, verdict=verdict)


WEB, API = Grower(pod="default/web", rate=40 * MIB), Grower(pod="default/api", rate=40 * MIB)


def test_they_are_named_instead_of_the_host() -> None:
    """Two pods grew by 328Mi a second, and less use outside pods was proposed, which stood still."""
    found = beside(WEB, API)
    assert grew_together(found) == (WEB, API)
    first, *others = avoidance(found).by
    assert first == f"less growth of {together_text(found)}"
    assert together_text(found).startswith("default/web, default/api: they took 8")
    assert not any("outside pods" in each for each in others)


def test_none_is_named_where_one_the_host_or_the_evicted_pod_did() -> None:
    assert not grew_together(beside(WEB))
    assert not grew_together(beside(WEB, API, Grower(pod="default/hog-old", rate=40 * MIB)))
    assert not grew_together(beside(Grower(pod="", rate=200 * MIB), WEB, API))
    assert not grew_together(replace(beside(WEB, API), host_filled=True))
    assert not grew_together(replace(beside(WEB, API), verdict=None))
    assert together_text(beside(WEB)) == ""


def test_none_is_named_that_grew_within_its_request() -> None:
    found = beside(WEB, API)
    assert not grew_together(replace(found, ranking=tuple(replace(row, request=9 * GI) for row in found.ranking)))


def test_those_that_were_evicted_later_are_to_be_mended() -> None:
    """Nothing was to do but to reserve what belongs to no pod."""
    found = beside(WEB, API)
    gone = tuple(replace(found.event, pod=each.pod, uid=each.pod, owner="DaemonSet/api") for each in (WEB, API))
    now = now_text(replace(found, after=gone, running=frozenset(), clear_text=""))
    assert now.startswith("mend or limit what DaemonSet/api runs: default/web, default/api grew by 8")
    assert "a second together and were evicted after this pod" in now
    alone = tuple(replace(each, owner="") for each in gone)
    now = now_text(replace(found, after=alone, running=frozenset(), clear_text=""))
    assert now.startswith("mend or limit default/web, default/api: they grew by 8")


def test_the_owner_of_a_pod_that_did_not_grow_is_not_to_be_mended() -> None:
    """Seven pods of an owner that came back were evicted beside four that grew, and "StatefulSet/log mended" was proposed."""
    found = beside(WEB, API)
    back = replace(found, of_owner=7, successors=(("default/hog-new", 2.0),))
    assert not any("mended" in each for each in avoidance(back).by)
    assert any("mended" in each for each in avoidance(replace(back, verdict=None)).by)
