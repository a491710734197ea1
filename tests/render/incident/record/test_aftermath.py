"""What the records after an eviction tell."""

import msgspec
import pytest

from evictd.codec.records.journal_record import RecordedEffect, RecordedThreshold
from evictd.core.model.signal import Signal
from evictd.core.units.duration import SECOND
from evictd.render.history.evictions import evictions_of, find_eviction
from evictd.render.incident.record.aftermath import (
    AFTER,
    MetAfter,
    clear_after,
    freed_after,
    met_after,
    met_since,
    seconds_between,
    siblings_of,
    successors_of,
    time_of,
)
from tests.render.recorded_incident import recorded


def test_new_pods_of_the_owner_are_found_with_their_times() -> None:
    records = recorded()
    event = find_eviction(evictions_of(records), "last")
    assert successors_of(records[1], records[2:], event) == (("default/hog-new", 12.0),)


def test_a_new_pod_counts_however_late_it_is_first_recorded() -> None:
    """No new pod was said to be seen of an owner whose next pod filled the node again, 20 minutes later."""
    records = recorded()
    event = find_eviction(evictions_of(records), "last")
    late = [msgspec.structs.replace(each, wall="2026-01-01T01:00:30Z") for each in records[2:]]
    (found,) = successors_of(records[1], late, event)
    assert found[0] == "default/hog-new"
    assert found[1] > AFTER / SECOND


def test_a_new_pod_has_the_time_at_which_its_record_met_a_threshold_again() -> None:
    """`2m16s later a threshold was met again` stood above `first recorded 2m15s later`, both of one record."""
    first, *later = recorded()[1:]
    event = find_eviction(evictions_of(recorded()), "last")
    exact = [msgspec.structs.replace(each, now=each.now - SECOND * 2 // 5) for each in later]
    assert [round(after, 1) for _, after in successors_of(first, exact, event)] == [11.6]


def test_the_clock_of_one_boot_tells_the_time_between_two_records_of_one_second() -> None:
    first, second = recorded()[1:3]
    soon = msgspec.structs.replace(first, now=first.now + SECOND // 5)
    assert seconds_between(first, soon) == 0.2
    assert (
        seconds_between(first, msgspec.structs.replace(second, now=7))
        == (time_of(second.wall) - time_of(first.wall)) / SECOND
    )


def test_a_damaged_time_is_no_error() -> None:
    assert time_of("yesterday") == 0


@pytest.mark.parametrize(
    ("met", "clear", "expected"),
    [
        ((False, False, False), None, MetAfter()),
        ((True, False, False), 3.0, MetAfter()),
        ((False, False, True), None, MetAfter(again=400.0)),
        ((True, True, True), None, MetAfter(still=400.0)),
        ((True, True, True), 3.7, MetAfter(again=12.0)),
        ((True, True, False), 380.0, MetAfter(still=380.0)),
        ((True, False, False), 3.7, MetAfter()),
        ((True, True, False), None, MetAfter()),
    ],
    ids=[
        "never",
        "until its bytes came back",
        "again",
        "on",
        "again without a record in between",
        "for minutes",
        "calm cycles have no record",
        "unknown",
    ],
)
def test_a_threshold_is_met_again_only_after_it_was_clear(
    met: tuple[bool, ...], clear: float | None, expected: MetAfter
) -> None:
    """One was said to be met again in the second in which a disk's bytes had not come back yet."""
    records = recorded()
    event = find_eviction(evictions_of(records), "last")
    since = [
        met_since(records[1], each, Signal.MEMORY_AVAILABLE) if is_met else None
        for each, is_met in zip(records[2:], met, strict=True)
    ]
    assert met_after(records[1], records[2:], since, event.uid, clear) == expected


def test_a_threshold_is_met_since_its_crossing_and_not_since_the_end_of_its_grace_period() -> None:
    """`relieved the node for 1m13s` was said of a soft threshold that was met again 12 s after the end of the pod."""
    record, later = recorded()[1:3]
    met = ((RecordedThreshold(signal=Signal.MEMORY_AVAILABLE.value), record.now + 5 * SECOND),)
    state = msgspec.structs.replace(later.state, thresholds_first_observed_at=met)
    soft = msgspec.structs.replace(later, wall="2026-01-01T00:00:42Z", now=record.now + 12 * SECOND, state=state)
    assert met_since(record, soft, Signal.MEMORY_AVAILABLE) == 5.0
    assert met_since(record, soft, Signal.PID_AVAILABLE) == 12.0


def test_other_pods_of_its_owner_are_its_siblings() -> None:
    records = recorded()
    event = find_eviction(evictions_of(records), "last")
    assert siblings_of(records[1], event) == frozenset()
    assert siblings_of(records[3], event) == {"default/hog-new"}


def test_a_later_record_says_since_when_a_supply_is_clear() -> None:
    """A threshold of a disk was said to stay met for five minutes: until its condition ended."""
    records = recorded()
    state = msgspec.structs.replace(records[3].state, clear_since={"nodefs.available": records[1].now + 2 * SECOND})
    later = [records[2], msgspec.structs.replace(records[3], state=state)]
    assert clear_after(records[1], later, Signal.IMAGEFS_AVAILABLE) == 2.0
    assert clear_after(records[1], later, Signal.PID_AVAILABLE) is None
    assert clear_after(records[1], later, None) is None


def test_what_its_end_gave_back_is_the_most_that_a_later_record_has_of_it() -> None:
    """An incident had 2.01Gi, by the first reading that the journal kept, and the history 2.97Gi."""
    record, *_ = recorded()
    later = [
        msgspec.structs.replace(
            record,
            state=msgspec.structs.replace(
                record.state, effects={supply: (RecordedEffect(uid="uid-hog", freed=freed),)}
            ),
        )
        for supply, freed in (("nodefs.available", 0), ("nodefs.available", 3), ("nodefs.inodesFree", 9))
    ]
    assert freed_after(later, Signal.IMAGEFS_AVAILABLE, "uid-hog") == 3
    assert freed_after(later, Signal.IMAGEFS_AVAILABLE, "uid-web") == 0
    assert freed_after(later, Signal.MEMORY_AVAILABLE, "uid-hog") == 0
    assert freed_after(later, None, "uid-hog") == 0
