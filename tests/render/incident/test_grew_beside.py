"""A pod that grew beside what filled the disk and belongs to no pod."""

from dataclasses import replace

import pytest

from evictd.core.model.signal import Signal
from evictd.render.incident.avoidance import avoidance
from evictd.render.incident.grew_beside import grew_beside_text
from evictd.render.incident.incident import Incident
from evictd.render.incident.now import now_text
from evictd.render.incident.summary import summary_text
from evictd.render.incident.verdict import EvictionVerdict, Grower, Need
from tests.render.recorded_incident import incident


@pytest.fixture(scope="module")
def found() -> Incident:
    """A cache without a bound grew by 15Mi a second beside a hostPath volume that grew by 120Mi."""
    growers = (Grower(pod="", rate=120 << 20), Grower(pod="default/hog-old", rate=15 << 20))
    verdict = EvictionVerdict(need=Need.NO_POD_HELPS, pod="default/hog-old", growers=growers, played=0)
    points = ((-60.0, 8100 << 20), (0.0, 0))
    disk = replace(incident(), signal=Signal.NODEFS_AVAILABLE, points=points, met=replace(incident().met, again=55.0))
    return replace(disk, host_filled=True, suspects={"default/hp": ""}, still_met=True, verdict=verdict)


def test_its_growth_is_named_and_it_is_to_be_mended_too(found: Incident) -> None:
    """The pod that grew without a bound was named neither as a cause nor in what is to do."""
    grew = "default/hog-old grew by 15Mi a second as well"
    assert grew_beside_text(found) == grew
    assert f"belongs to no pod or lies in a hostPath volume, and {grew}" in summary_text(found)
    assert now_text(found).endswith("delete the files in them; mend or limit what ReplicaSet/hog runs")
    assert avoidance(found).not_by[0].startswith("a request, a limit or a priority of this pod alone: ")


def test_a_pod_that_grew_little_or_within_its_request_is_not_named(found: Incident) -> None:
    assert found.verdict is not None
    little = replace(found.verdict, growers=(Grower(pod="", rate=200 << 20), found.verdict.growers[1]))
    within = tuple(replace(row, request=1 << 40) for row in found.ranking)
    for other in (
        replace(found, verdict=little),
        replace(found, ranking=within),
        replace(found, host_filled=False),
        replace(found, measured=False),
        replace(found, verdict=None),
    ):
        assert grew_beside_text(other) == ""
    assert now_text(replace(found, verdict=little)).endswith("delete the files in them")
