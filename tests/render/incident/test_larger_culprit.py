"""A pod that grew slower than the fastest one, and held what was missing."""

from dataclasses import replace

from evictd.render.incident.avoidance import avoidance
from evictd.render.incident.larger_culprit import larger_culprit
from evictd.render.incident.verdict import EvictionVerdict, Grower, Need
from tests.render.recorded_incident import incident


def test_a_pod_whose_end_would_have_been_enough_is_named_before_one_that_grew_faster() -> None:
    """A new pod of 2Gi was named for the end of a cache, and not the one with 46.5Gi that had filled the disk."""
    growers = (Grower(pod="default/hog-new", rate=60 << 20), Grower(pod="default/web", rate=40 << 20))
    verdict = EvictionVerdict(
        need=Need.ANOTHER_POD, pod="default/hog-old", fewest=("default/web",), growers=growers, played=0
    )
    found = replace(incident(), host_filled=False, verdict=verdict)
    enough = "less growth of default/web: it held 5Gi, and its end would have been enough"
    assert larger_culprit(found) == (enough,)
    first, second, *_ = avoidance(found).by
    assert first == enough
    assert second.startswith("less growth of default/hog-new: it took ")
    several = replace(verdict, fewest=("default/hog-new", "default/web"))
    for other in (None, several, replace(verdict, need=Need.NEEDED)):
        assert larger_culprit(replace(found, verdict=other)) == ()
