"""What a request would have done with which no pod would have gone at that moment."""

from dataclasses import replace

from evictd.core.model.signal import Resource
from evictd.core.units.duration import MINUTE
from evictd.render.incident.no_pod_then import no_pod_then
from evictd.render.incident.verdict import EvictionVerdict, Grower, Need
from tests.render.recorded_incident import incident
from tests.stories import GI

_NO_POD = "evictd would have ended no pod at that moment"


def test_a_pod_that_grows_passes_its_request() -> None:
    """A pause held while it was within its request, and it went 60 ms later (world 01)."""
    found = incident()
    assert no_pod_then(found, Resource.MEMORY) == f"{_NO_POD}; which one it would have ended later is not known"
    grower = Grower(pod=found.event.pod, rate=GI)
    verdict = EvictionVerdict(need=Need.NEEDED, pod=found.event.pod, growers=(grower,), played=5 * MINUTE)
    found = replace(found, verdict=verdict)
    assert no_pod_then(found, Resource.MEMORY) == f"{_NO_POD}; had it grown on, it would have gone all the same later"
    assert no_pod_then(replace(found, past_request=True), Resource.MEMORY) == (
        "it would have gone all the same, within a second, because it grew past that request at 1Gi a second"
    )
