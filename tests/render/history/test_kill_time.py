"""Between which readings the kernel killed processes."""

import msgspec

from evictd.codec.journal_record import JournalRecord, RecordedKill
from evictd.core.units.duration import SECOND
from evictd.render.history.history import EventKind, history
from evictd.render.history.kill_time import between_readings
from tests.render.recorded_incident import recorded


def found_after(seconds: int | None, wall: str = "2026-01-01T11:50:29Z") -> JournalRecord:
    """A record with a kill, so long after the cycle before."""
    whole = recorded()[-1]
    last = None if seconds is None else whole.now - seconds * SECOND
    state = msgspec.structs.replace(whole.state, last_cycle_at=last)
    extra = msgspec.structs.replace(
        whole.extra, kernel_killed=(RecordedKill(where="default/static", uid="uid-static", count=1),)
    )
    return msgspec.structs.replace(whole, wall=wall, state=state, extra=extra)


def test_a_kill_was_between_the_last_reading_and_the_one_that_found_it() -> None:
    """A kill was dated 10 s after the time from which on no threshold was met, which it was the cause of (world 15)."""
    between = "; it was between 11:50:19 and 11:50:29"
    record = found_after(10)
    assert between_readings(record) == between
    (killed,) = (each for each in history([record]) if each.kind is EventKind.KERNEL)
    assert killed.text.endswith(f"not at a limit of the pod{between}")


def test_it_is_not_said_where_the_time_of_the_last_reading_is_not_known_or_a_moment_before() -> None:
    assert between_readings(found_after(None)) == ""
    assert between_readings(found_after(0)) == ""
    assert between_readings(found_after(10, wall="damaged")) == ""
