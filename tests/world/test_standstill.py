"""Checks in which spans usages stood still."""

from evictd.world.behaviours import Usage
from evictd.world.standstill import Standstills


def test_the_spans_of_each_usage_are_added_up() -> None:
    spans = Standstills()
    both = (Usage.LAYER, Usage.VOLUME)
    assert (spans.lasts(Usage.LAYER), spans.duration(Usage.LAYER, 0, 9)) == (False, 0)
    spans.begin(both, 10)
    spans.end(both, 20)
    spans.begin(both, 30)
    assert spans.lasts(Usage.VOLUME)
    assert not spans.lasts(Usage.MEMORY)
    spans_of_volume = {(0, 5): 0, (0, 15): 5, (12, 18): 6, (0, 25): 10, (15, 35): 10, (31, 40): 9}
    assert {each: spans.duration(Usage.VOLUME, *each) for each in spans_of_volume} == spans_of_volume
