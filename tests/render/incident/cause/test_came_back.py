"""What is said of a pod that only came back, after growth of others had made the node short."""

from dataclasses import replace

from evictd.render.incident.cause.came_back import at_the_first, came_back_cause, comes_again_text
from evictd.render.incident.record.verdict import EvictionVerdict, Grower, Need
from evictd.render.incident.remedy.avoided import Avoidance
from evictd.render.incident.remedy.now import now_text
from tests.render.recorded_incident import incident


def test_the_first_eviction_of_the_series_has_the_cause() -> None:
    verdict = EvictionVerdict(
        need=Need.NEEDED, pod="default/hog-old", growers=(Grower(pod="default/web", rate=1),), played=0
    )
    first = replace(incident(), verdict=verdict)
    found = replace(first, first=first, running=frozenset({"default/web"}))
    assert came_back_cause(found, first, "it grew").startswith("it grew (at ")
    assert "default/web holds what it took" in comes_again_text(found)
    assert comes_again_text(found) in now_text(found)
    assert comes_again_text(replace(found, running=frozenset())) == "", "what it held came back with its end"
    (text,) = at_the_first(first, Avoidance(by=("a limit",))).by
    assert text.startswith("at the eviction of default/hog-old at ")
    assert text.endswith(": a limit")
