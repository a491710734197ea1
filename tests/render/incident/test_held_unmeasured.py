"""Whether a pod that was not measured held what was missing."""

from dataclasses import replace

from evictd.render.incident.held_unmeasured import exceeded_unmeasured, held_unmeasured
from evictd.render.incident.verdict import EvictionVerdict, Need
from tests.render.recorded_incident import incident


def test_a_pod_that_was_not_measured_held_what_was_missing_where_its_end_alone_can_have_relieved_the_node() -> None:
    no_pod = EvictionVerdict(need=Need.NO_POD_HELPS, pod="default/hog-old", played=0)
    found = replace(incident(), measured=False, verdict=no_pod)
    assert held_unmeasured(found)
    assert not held_unmeasured(replace(found, measured=True))
    assert not held_unmeasured(replace(found, known_for=10)), "too short a time to say so"
    assert not held_unmeasured(replace(found, verdict=replace(no_pod, need=Need.ANOTHER_POD)))


def test_it_exceeded_its_request_as_measured_before() -> None:
    no_pod = EvictionVerdict(need=Need.NO_POD_HELPS, pod="default/hog-old", played=0)
    found = replace(incident(), measured=False, verdict=no_pod)
    assert exceeded_unmeasured(found)
    assert not exceeded_unmeasured(replace(found, measured=True))
    within = tuple(replace(row, request=1 << 40) for row in found.ranking)
    assert not exceeded_unmeasured(replace(found, ranking=within))
