"""Whether the end of the pods that are being evicted is enough."""

import pytest

from evictd.render.status.leaving_pods import are_enough, is_too_little, leaves, may_have_grown
from evictd.render.status.remedies import remedies
from tests.daemon.status import status_of
from tests.render.snapshots import incident_snapshot


@pytest.mark.parametrize(("held", "little", "enough"), [(5, True, False), (9, False, True), (None, False, False)])
def test_what_the_leaving_pods_hold_is_compared_with_what_was_missing(
    held: int | None, little: bool, enough: bool
) -> None:
    rows = [{"pod": "a/b", "signal": "pid.available", "gone": False, "held": held, "missing": 7}]
    assert is_too_little(rows, "pid.available") is little
    assert are_enough(rows, "pid.available") is enough
    assert not is_too_little(rows, "memory.available")
    assert not are_enough(rows, "memory.available")
    assert leaves("a/b", rows)
    assert not leaves("a/b", [{**rows[0], "gone": True}])


def test_where_the_leaving_pod_is_enough_nothing_is_to_be_removed_elsewhere() -> None:
    """`Remove files outside pods` stood beside the eviction of the pod that held all of them."""
    files = incident_snapshot("09-inodes-of-a-volume", 240.1)
    assert remedies(status_of(files, files.at)) == []


def test_what_a_leaving_pod_without_statistics_took_is_not_outside_pods() -> None:
    """`What grew belongs to no pod` stood beside the eviction of the pod that grew."""
    leak = incident_snapshot("24-unmeasured-hog", 281.45)
    status = status_of(leak, leak.at)
    assert may_have_grown(status["leaving"], status["signals"][0])
    assert not may_have_grown([], status["signals"][0])
    assert remedies(status) == []
