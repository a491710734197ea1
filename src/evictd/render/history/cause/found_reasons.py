"""Finds the reasons for which no pod is evicted that have no event of their own: only the findings of the cycle have them."""

from collections.abc import Iterator, Mapping
from typing import Any

from evictd.codec.records.journal_record import JournalRecord
from evictd.core.model.finding import NoActionReason
from evictd.core.model.signal import SIGNALS, signal_named
from evictd.render.history.cause.suspects import suspects_of, suspects_text
from evictd.render.stop_reason import plain_reason_text
from evictd.render.text import capital, clean

Plain = Mapping[str, Any]
_LASTING = {
    each.value: each
    for each in (
        NoActionReason.NO_ACTIVE_PODS,
        NoActionReason.PODS_UNKNOWN,
        NoActionReason.NOTHING_EVICTABLE,
        NoActionReason.NO_POD_MEASURED,
        NoActionReason.NOTHING_HELPS,
        NoActionReason.API_PODS_STANDALONE,
        NoActionReason.FILESYSTEM_READ_ONLY,
        NoActionReason.HELD_BACK,
    )
}
"""The reasons that last until something else is done. Refusals and evictions under way, which are waited for, are events."""
_BLIND = {
    NoActionReason.NO_STATS.value: "the stats are read again",
    NoActionReason.LAYOUT_UNKNOWN.value: "it is known again which disks hold images and pods",
}
"""By each reason that is of no signal: what to say when it has ended."""


def blind_reasons(record: JournalRecord) -> tuple[str, ...]:
    """Return the codes of the reasons of a cycle for which no threshold, or none on a disk, was compared."""
    found = (str(each.get("why")) for each in record.findings if each.get("kind") == "NoAction")
    return tuple(each for each in found if each in _BLIND)


def blind_text(reason: str) -> str:
    """Write that such a reason holds."""
    return capital(plain_reason_text(NoActionReason(reason)))


def sees_again_text(reason: str) -> str:
    """Write that such a reason has ended."""
    return _BLIND[reason]


def found_reasons(record: JournalRecord) -> Iterator[tuple[str, Plain]]:
    """Yield a sentence and the evidence of each such reason, one for each resource; the evidence has its code as `reason`."""
    seen = set[object]()
    for finding in record.findings:
        why, name = _LASTING.get(str(finding.get("why"))), str(finding.get("signal"))
        signal = signal_named(name)
        if finding.get("kind") != "NoAction" or why is None or signal is None:
            continue
        if (key := (why, SIGNALS[signal].resource)) in seen:
            continue
        seen.add(key)
        suspects = suspects_of(record, name) if why is NoActionReason.NOTHING_HELPS else {}
        suspected = f"; {text}" if (text := suspects_text(suspects)) else ""
        evidence = {**finding, "reason": why.value, **({"suspects": suspects} if suspects else {})}
        yield f"No pod is evicted for {clean(name)}: {plain_reason_text(why)}{suspected}", evidence
