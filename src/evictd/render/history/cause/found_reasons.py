"""Finds the reasons for which no pod is evicted that have no event of their own: only the findings of the cycle have them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from evictd.codec.records.journal_record import JournalRecord
from evictd.core.frozen import frozen
from evictd.core.model.finding import NoActionReason, SignalUnobserved
from evictd.core.model.signal import SIGNALS, Signal, signal_named
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


@frozen
class BlindReason:
    """A reason for which thresholds were not compared."""

    code: str
    signal: str = ""
    """The signal that could not be read; empty for none or all on a disk."""

    @property
    def text(self) -> str:
        """Return that the reason holds."""
        if self.signal:
            return f"{self.signal} could not be read, so no threshold of it is compared"
        return capital(plain_reason_text(NoActionReason(self.code)))

    @property
    def ended_text(self) -> str:
        """Return that the reason has ended."""
        return f"{self.signal} is read again" if self.signal else _BLIND[self.code]

    @property
    def evidence(self) -> Plain:
        """Return the reason as an event has it."""
        return {"reason": self.code, **({"signal": self.signal} if self.signal else {})}


def blind_reasons(record: JournalRecord, before: Sequence[BlindReason] = ()) -> tuple[BlindReason, ...]:
    """Return the reasons of a cycle for which thresholds were not compared; of single signals memory, which runs out in seconds.

    A cycle without stats says nothing of single signals, so those of the record before stay.
    """
    found = tuple(_blind_reasons(record.findings))
    if BlindReason(code=NoActionReason.NO_STATS.value) in found:
        return (*found, *(each for each in before if each.signal))
    return found


def _blind_reasons(findings: Iterable[Plain]) -> Iterator[BlindReason]:
    for each in findings:
        kind, why, signal = (str(each.get(key)) for key in ("kind", "why", "signal"))
        if kind == "NoAction" and why in _BLIND:
            yield BlindReason(code=why)
        elif kind == SignalUnobserved.__name__ and signal == Signal.MEMORY_AVAILABLE.value and not each.get("absent"):
            yield BlindReason(code=kind, signal=signal)


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
