"""Says from the last record of a journal that has a pod where that stood in each order of eviction, and what would evict it then.

Of a pod that later records no longer have, only the place is said. A journal is read where no daemon answers, or of a pod that
no event concerned.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from evictd.codec.records.journal import JournalEntry, decode_entry
from evictd.codec.records.journal_record import JournalRecord, decode_record
from evictd.codec.times import parse_time, rfc3339
from evictd.commands.decided.incident_request import DAMAGED
from evictd.commands.inputs.journals import read_lines
from evictd.config.file import STANDARD_INPUT
from evictd.core.eviction.synchronize import synchronize
from evictd.core.model.finding import ThresholdFinding
from evictd.core.model.threshold import Origin
from evictd.core.units.duration import SECOND
from evictd.render.history.pod.standing import BESIDES, Place, crossing_text, place_in, to_go_first
from evictd.render.node_view import explanation_document, node_view
from evictd.render.text import clean, seconds_text, signal_amount


class LastPlace(NamedTuple):
    """Where a pod stood in the last record that has it; empty where no record has it."""

    lines: tuple[str, ...] = ()
    places: tuple[Place, ...] = ()
    """Of a pod that later records no longer have, none."""


def last_place(paths: Sequence[Path], pod: str, wall: int) -> LastPlace:
    """Return the place of a pod, `namespace/name`; an empty one of standard input, which is read once.

    `wall` is the time now, in nanoseconds since the epoch.
    """
    if STANDARD_INPUT in paths:
        return LastPlace()
    last, gone_by = b"", ""

    def keep(line: bytes) -> JournalRecord:
        nonlocal last, gone_by
        record = decode_record(line)
        if any(clean(each.full_name) == pod for each in record.observation.pods):
            last, gone_by = line, ""
        else:
            gone_by = gone_by or clean(record.wall)
        return record

    try:
        read_lines(paths, keep)
        return _last_place(decode_entry(last), pod, gone_by, wall) if last else LastPlace()
    except DAMAGED:
        return LastPlace()


def _last_place(entry: JournalEntry, pod: str, gone_by: str, wall: int) -> LastPlace:
    """Decide the record again; `gone_by` is the time of the first later record without the pod, or empty."""
    step = synchronize(entry.state, entry.observation, entry.config, entry.now)
    view = node_view("", entry.config, entry.observation, step.state, step.findings, now=entry.now)
    queues = explanation_document(view, rows=None)["queues"]
    places = tuple(place for queue in queues if (place := place_in(queue, pod)) is not None)
    return LastPlace(tuple(_lines(entry, view.thresholds, places, gone_by, wall)), () if gone_by else places)


def _lines(
    entry: JournalEntry, thresholds: Sequence[ThresholdFinding], places: Sequence[Place], gone_by: str, wall: int
) -> Iterator[str]:
    """Write the place of the pod for each signal for which it was measured."""
    record = f"by the journal's last record of it, {clean(entry.wall)}"
    if gone_by:
        yield f"not on the node by {gone_by}; it left without an eviction"
    if guard := next((clean(place.row["protected"]) for place in places if place.row["protected"]), ""):
        yield f"{record}, it {'was' if gone_by else 'is'} never evicted ({guard})"
        return
    at = f"{record},{'' if gone_by else _growth_since(entry, wall)} it was"
    for place in places:
        alike = [each for each in thresholds if each.threshold.signal.value in place.queue["signals"]]
        own = [each for each in alike if each.threshold.origin is not Origin.DERIVED]
        if place.row["usage"] is None or not own:
            continue  # a derived threshold repeats another one
        signals = ", ".join(dict.fromkeys(each.threshold.signal.value for each in own))
        place_text = f"at place {place.number} of {place.pods} for {signals}"
        if gone_by:
            yield f"{at} {place_text}"
            continue
        following = ", and the next to go" if place.is_next else ""
        yield f"{at} {place_text}{following} ({clean(place.row['why'])})"
        at = "then it was"
        if place.row.get("passedOver"):
            yield f"  passed over: {clean(place.row['passedOver'])}"
        yield f"  to be evicted then: {BESIDES.join(_needed(entry, place, own))}"


def _growth_since(entry: JournalEntry, wall: int) -> str:
    """Write after a blank how old a record is; of a journal that was simulated it may be of the future."""
    age = wall - parse_time(entry.wall)
    return f" {seconds_text(age / SECOND)} ago (growth since then is not recorded)," if age > 0 else ""


def _needed(entry: JournalEntry, place: Place, thresholds: Sequence[ThresholdFinding]) -> Iterator[str]:
    """Yield what would have had to happen before the pod was evicted."""
    yield " or ".join(_crossing(entry, each) for each in thresholds)
    if place.before and not place.is_next:
        yield to_go_first((f"{row['namespace']}/{row['name']}" for row in place.before), past=True)


def _crossing(entry: JournalEntry, found: ThresholdFinding) -> str:
    signal, limit = found.threshold.signal, found.limit.value()
    if found.met and found.grace_left:
        ends = rfc3339((parse_time(entry.wall) + found.grace_left) // SECOND * SECOND)
        below = f"{signal.value} would have had to stay below its soft threshold {signal_amount(limit, signal)}"
        return f"{below} until {ends}, when its grace period ends"
    kind = "hard" if found.threshold.hard else "soft"
    return crossing_text(signal, kind, limit, found.available.value(), past=True)
