"""What the records after an eviction tell."""

import msgspec
import pytest

from evictd.core.units.duration import SECOND
from evictd.render.aftermath import AFTER, MetAfter, met_after, next_eviction, siblings_of, successors_of, time_of
from evictd.render.incident import evictions_of, find_eviction
from tests.render.test_incident import recorded


def test_new_pods_of_the_owner_are_found_with_their_times() -> None:
    records = recorded()
    event = find_eviction(evictions_of(records), "last")
    assert successors_of(records[1], records[2:], event, time_of(event.at)) == (("default/hog-new", 12.0),)


def test_the_next_eviction_is_found_by_the_clock_that_goes_on() -> None:
    """750Mi were said to come back of a pod of 250Mi: two others were evicted within the same second."""
    records = recorded()
    assert next_eviction(records[1], records[2:]) == AFTER / SECOND
    soon = msgspec.structs.replace(records[1], now=records[1].now + SECOND // 5)
    assert next_eviction(records[1], [soon, *records[2:]]) == 0.2
    booted = msgspec.structs.replace(records[1], now=7, wall="2026-01-01T00:00:40Z")
    assert next_eviction(records[1], [booted]) == 10.0


def test_a_damaged_time_is_no_error() -> None:
    assert time_of("yesterday") == 0


@pytest.mark.parametrize(
    ("met", "expected"),
    [
        ((False, False, False), MetAfter()),
        ((True, False, False), MetAfter()),
        ((False, False, True), MetAfter(again=400.0)),
        ((True, True, True), MetAfter(still=400.0)),
        ((True, True, False), MetAfter(still=400.0)),
    ],
    ids=["never", "until its bytes came back", "again", "on", "for minutes"],
)
def test_a_threshold_is_met_again_only_after_it_was_clear(met: tuple[bool, ...], expected: MetAfter) -> None:
    """One was said to be met again in the second in which a disk's bytes had not come back yet."""
    records = recorded()
    event = find_eviction(evictions_of(records), "last")
    assert met_after(records[2:], met, event.uid, time_of(event.at)) == expected


def test_other_pods_of_its_owner_are_its_siblings() -> None:
    records = recorded()
    event = find_eviction(evictions_of(records), "last")
    assert siblings_of(records[1], event) == frozenset()
    assert siblings_of(records[3], event) == {"default/hog-new"}
