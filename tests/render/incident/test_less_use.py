"""Less use by the evicted pod, where it alone held what was missing."""

from dataclasses import replace

from evictd.core.model.signal import Resource
from evictd.render.incident.avoidance import avoidance
from evictd.render.incident.incident import Incident
from evictd.render.incident.less_use import OUTSIDE_GREW, less_use, outside_grows_on
from evictd.render.incident.verdict import EvictionVerdict, Grower, Need
from tests.render.recorded_incident import incident
from tests.world.worlds import GI, MI

USE = "less use by default/hog-old: it held 6Gi, and requested none"


def beside(rate: int, *growers: Grower, host_filled: bool = False) -> Incident:
    """The recorded incident of a pod that did not grow, on a node that something filled at this rate."""
    verdict = EvictionVerdict(need=Need.NEEDED, pod="default/hog-old", growers=growers, played=0)
    points = tuple((float(at), GI // 2 - at * rate) for at in (-80, -40, 0))
    return replace(incident(), host_filled=host_filled, verdict=verdict, points=points)


def test_less_use_is_no_remedy_while_what_belongs_to_no_pod_grows_on() -> None:
    """An agent of 700Mi was to hold 200Mi; while the host leaked, that put its eviction off by two minutes."""
    found = beside(4 * MI, Grower(pod="", rate=4 * MI), host_filled=True)
    assert outside_grows_on(found)
    assert not any(each.startswith(USE) for each in avoidance(found).by)
    assert f"{USE}; {OUTSIDE_GREW}" in avoidance(found).not_by
    growing = beside(8 * MI, Grower(pod="default/hog-old", rate=6 * MI), Grower(pod="", rate=2 * MI), host_filled=True)
    assert not any(USE in each for each in avoidance(growing).not_by), "the limit for this pod alone says so"


def test_less_use_is_a_remedy_where_nothing_outside_pods_grows_on() -> None:
    for found in (beside(0, host_filled=True), beside(4 * MI, Grower(pod="default/web", rate=4 * MI))):
        assert not outside_grows_on(found)
        assert USE in avoidance(found).by


def test_the_pod_held_what_was_missing_and_what_grows_in_a_minute() -> None:
    found = beside(4 * MI)
    assert found.victim is not None
    assert less_use(found, found.victim, Resource.MEMORY) == USE
    requested = replace(found.victim, request=2 * GI)
    assert less_use(found, requested, Resource.MEMORY).endswith("it held 6Gi, 4Gi more than it requested")
    assert less_use(found, replace(requested, request=5 * GI), Resource.MEMORY) == ""
    assert less_use(replace(found, available=None), found.victim, Resource.MEMORY) == ""
