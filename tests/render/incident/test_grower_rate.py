"""Checks the rate of a pod that one report has."""

from dataclasses import replace

import pytest

from evictd.core.units.duration import MINUTE
from evictd.render.incident.arrivals import NewPods
from evictd.render.incident.grower_rate import grower_rate
from evictd.render.incident.verdict import EvictionVerdict, Grower, Need
from tests.render.recorded_incident import incident

MI = 1 << 20
FELL = 89478485
"""By how much a second the signal of the recorded incident fell."""


@pytest.mark.parametrize(
    ("rates", "rate"),
    [
        ((40 * MI,), FELL),
        ((10 * MI,), 10 * MI),
        ((40 * MI, 40 * MI), FELL // 2),
        ((20 * MI, 20 * MI), 20 * MI),
    ],
    ids=["alone", "of something else as well", "together", "of something else together"],
)
def test_pods_grew_by_what_the_signal_fell_by(rates: tuple[int, ...], rate: int) -> None:
    """One report had 12.8 and 13.8Mi a second for the same growth (world 42), another 46.9 and 40.8."""
    growers = tuple(Grower(pod=f"default/{number}", rate=each) for number, each in enumerate(rates))
    verdict = EvictionVerdict(need=Need.NEEDED, pod="default/hog-old", growers=growers, played=5 * MINUTE)
    assert grower_rate(replace(incident(), verdict=verdict), growers[0]) == rate


def test_the_rate_of_the_line_of_the_eviction_is_taken_where_it_agrees() -> None:
    found, grower = incident(), Grower(pod="default/hog-old", rate=80 * MI)
    because = {**found.event.evidence["because"], "fillRate": FELL + MI}
    found = replace(found, event=replace(found.event, evidence={**found.event.evidence, "because": because}))
    verdict = EvictionVerdict(need=Need.NEEDED, pod="default/hog-old", growers=(grower,), played=5 * MINUTE)
    assert grower_rate(replace(found, verdict=verdict), grower) == FELL + MI
    assert grower_rate(replace(found, verdict=None), grower) == grower.rate


def test_what_pods_held_that_came_is_no_part_of_the_growth_of_another() -> None:
    """9.4Mi a second were written of a pod that grew by 8Mi, while six others came."""
    grower = Grower(pod="default/hog-old", rate=60 * MI)
    verdict = EvictionVerdict(need=Need.NEEDED, pod="default/hog-old", growers=(grower,), played=5 * MINUTE)
    came = NewPods(before=6, over=MINUTE, held=1500 * MI)
    found = replace(incident(), verdict=verdict)
    assert grower_rate(found, grower) == FELL
    assert grower_rate(replace(found, arrivals=came), grower) == 60 * MI
    assert grower_rate(replace(found, arrivals=replace(came, held=MI)), grower) == FELL, "next to nothing"


def test_a_pod_that_came_itself_and_grew_as_fast_as_the_signal_fell_has_the_same_rate() -> None:
    """A report had `grew by 6.4Mi a second` beside a threshold `at 6.3Mi a second`."""
    grower = Grower(pod="default/hog-old", rate=FELL * 105 // 100)
    verdict = EvictionVerdict(need=Need.NEEDED, pod="default/hog-old", growers=(grower,), played=5 * MINUTE)
    found = replace(incident(), verdict=verdict, arrivals=NewPods(before=1, over=MINUTE, held=1500 * MI))
    assert grower_rate(found, grower) == FELL
