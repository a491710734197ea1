"""Reads the ranking of one cycle, its amounts and its times from its record, which may be damaged."""

from collections.abc import Iterator, Mapping
from typing import Any

from evictd.codec.records.journal_record import JournalRecord, uid_of
from evictd.codec.times import parse_time, rfc3339
from evictd.core.frozen import frozen
from evictd.core.model.signal import Signal, signal_named
from evictd.core.units.duration import SECOND
from evictd.core.units.quantity import parse_quantity
from evictd.errors import InvalidValueError
from evictd.render.attribution import clock_text
from evictd.render.text import clean

Plain = Mapping[str, Any]


@frozen
class IncidentRow:
    """One pod of the ranking at that moment."""

    number: int
    pod: str
    usage: int | None
    request: int
    priority: int
    protected: bool
    chosen: bool
    skipped: str = ""
    """Why it was passed over, as `SkipReason`."""


def ranking_of(record: JournalRecord, signal: Signal | None) -> Plain:
    """Return the recorded ranking for a signal, a row that is damaged as an empty one; no rows without one."""
    rankings = (each for each in record.findings if each.get("kind") == "Ranking")
    found = next((each for each in rankings if signal is not None and each.get("signal") == signal.value), {})
    rows = found.get("rows")
    return {**found, "rows": [each if _is_row(each) else {} for each in rows] if isinstance(rows, list) else []}


def _is_row(plain: object) -> bool:
    """Whether it is an object whose amounts, if it has them, are numbers."""
    amounts = ("usage", "request", "priority")
    return isinstance(plain, dict) and all(isinstance(plain.get(name), int | None) for name in amounts)


def ranked_pods(record: JournalRecord, signal: Signal | None) -> int:
    """Return how many pods were ranked; the journal keeps the first twenty."""
    found = ranking_of(record, signal)
    pods = found.get("pods")
    return pods if isinstance(pods, int) else len(found["rows"])


def ranking_rows(record: JournalRecord, signal: Signal | None, uid: str) -> Iterator[IncidentRow]:
    """Yield the recorded rows; `uid` is that of the evicted pod. Damaged rows are left out."""
    skipped = {
        uid_of(each): str(each.get("reason", "")) for each in record.findings if each.get("kind") == "PodSkipped"
    }
    for number, row in enumerate(ranking_of(record, signal)["rows"], start=1):
        try:
            yield IncidentRow(
                number=number,
                pod=clean(f"{row['namespace']}/{row['name']}"),
                usage=row["usage"],
                request=row["request"],
                priority=row["priority"],
                protected=bool(row["protected"]),
                chosen=row["uid"] == uid,
                skipped=skipped.get(row["uid"], ""),
            )
        except (KeyError, TypeError):
            continue


def recorded_amount(text: object) -> int | None:
    """Return the amount, rounded up as a quantity's value is; `None` where it is missing or damaged."""
    try:
        return parse_quantity(str(text)).value()
    except InvalidValueError:
        return None


def threshold_signal(finding: Plain) -> Signal | None:
    """Return the signal of the threshold that a recorded finding is about; `None` for another finding, or a damaged one."""
    threshold = finding.get("threshold")
    return signal_named(str(threshold.get("signal"))) if isinstance(threshold, Mapping) else None


def between_readings(record: JournalRecord) -> str:
    """Write between which readings the kernel killed what this one found; empty where they are not known or a second apart."""
    last = record.state.last_cycle_at
    if last is None or record.now - last <= SECOND:
        return ""
    try:
        earlier = rfc3339(parse_time(record.wall) - (record.now - last))
    except InvalidValueError:  # a damaged time
        return ""
    return f"; it was between {clock_text(earlier)} and {clock_text(record.wall)}"
