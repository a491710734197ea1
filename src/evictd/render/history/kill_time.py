"""Says between which readings the kernel killed processes: a kill has the time of the reading that found it."""

from evictd.codec.journal_record import JournalRecord
from evictd.codec.times import parse_time, rfc3339
from evictd.core.units.duration import SECOND
from evictd.errors import InvalidValueError
from evictd.render.attribution import clock_text


def between_readings(record: JournalRecord) -> str:
    """Return the times of the last cycle and of this one, as a clause; empty where they are not known or a second apart."""
    last = record.state.last_cycle_at
    if last is None or record.now - last <= SECOND:
        return ""
    try:
        earlier = rfc3339(parse_time(record.wall) - (record.now - last))
    except InvalidValueError:  # a damaged time
        return ""
    return f"; it was between {clock_text(earlier)} and {clock_text(record.wall)}"
