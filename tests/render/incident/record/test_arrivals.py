"""Checks which pods are said to have come around an eviction."""

from dataclasses import replace

from evictd.core.units.duration import SECOND
from evictd.render.incident.record.arrivals import NewPods, arrivals_after
from tests.render.recorded_incident import incident, recorded


def test_pods_that_came_are_counted() -> None:
    assert NewPods().text == ""
    assert NewPods(before=1, over=35 * SECOND).text == "1 pod came in the 35s before it"
    assert NewPods(before=7, over=35 * SECOND, after=2).text == "2 other pods came in the 5m0s after it"
    assert NewPods(after=1).text == "1 other pod came in the 5m0s after it"


def test_a_pod_that_replaces_the_evicted_one_is_no_other_pod() -> None:
    event, records = incident().event, recorded()
    number = next(n for n, each in enumerate(records) if each.wall == event.at)
    assert arrivals_after(records[number], records[number + 1 :], event) == NewPods()
    assert arrivals_after(records[number], records[number + 1 :], replace(event, owner="")) == NewPods(after=1)
