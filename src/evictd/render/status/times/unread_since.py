"""Says what was read last of the signals that cannot be read, from the document of `/statusz`."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from evictd.core.model.amount_text import noun_of
from evictd.core.model.signal import SIGNALS, STALLS, Signal
from evictd.render.status.signal_entry import shown_entries
from evictd.render.status.times.depletion import FORESEEN_SECONDS
from evictd.render.text import clean, first_of, gap_text, seconds_text, signal_amount

Document = Mapping[str, Any]
_NAMED = 3


class _Last(NamedTuple):
    """What was read last of a signal: `text` without a full stop, and when a threshold is met at the rate then."""

    seconds: float
    """From now on; infinite where that is not foreseen."""
    text: str


def unread(status: Document) -> list[str]:
    """Return the signals with a threshold that exist on this node and cannot be read."""
    return [entry["signal"] for entry in _unread(status)]


def unread_text(status: Document) -> str:
    """Write which signals cannot be read, and of one or of that which fell towards a threshold what was read last.

    Empty where all are read.
    """
    if not (signals := unread(status)):
        return ""
    last = sorted(_last(entry) for entry in _unread(status) if entry.get("lastReading"))
    told = last and (len(signals) == 1 or last[0].seconds < FORESEEN_SECONDS)
    return f"{first_of(signals, _NAMED)} cannot be read{f': {last[0].text}' if told else ''}"


def last_read_texts(status: Document) -> Sequence[str]:
    """Return of each signal that cannot be read what was read last, the soonest to meet a threshold first."""
    return [each.text for each in sorted(_last(entry) for entry in _unread(status) if entry.get("lastReading"))]


def was_short(status: Document) -> bool:
    """Whether a signal that cannot be read was below its hard threshold when it was read last."""
    below = ((entry.get("lastReading") or {}).get("below") for entry in _unread(status))
    return any(each["kind"] == "hard" for each in below if each)


def unread_remedy(status: Document) -> str:
    """Return what to do where a signal cannot be read, as a clause; empty where all are."""
    if not (signals := unread(status)):
        return ""
    causes = [clean(row["source"]) for row in status["problems"] if row["detail"]]
    seen = f" (problem: {first_of(causes, _NAMED)})" if causes else ""
    short = "it was short: " if was_short(status) else "if the node runs short, "
    return (
        f"find out why {first_of(signals, _NAMED)} cannot be read{seen}; until then evictd evicts no pod for it: {short}"
        "end, move or limit one of the largest pods yourself"
    )


def last_amount(entry: Document) -> str:
    """Write after a semicolon what was left of a signal that cannot be read, and when; empty where that is not known."""
    last = entry.get("lastReading")
    return f"; {_last_amount(entry['signal'], last)}" if last and not entry.get("absent") else ""


def _unread(status: Document) -> Iterator[Document]:
    return (entry for entry in shown_entries(status) if not entry["observed"] and not entry.get("absent"))


def _last(entry: Document) -> _Last:
    signal, last = Signal(entry["signal"]), entry["lastReading"]
    text = f"{signal.value} was {_last_amount(signal.value, last)}"
    if below := last.get("below"):
        text += f", below its {below['kind']} threshold {_amount(below['limit'], signal)}"
        if below["kind"] == "hard":
            return _Last(float("-inf"), text)
    seconds, rate = last["secondsToThreshold"], last["fillRate"]
    if seconds is None or seconds > FORESEEN_SECONDS:
        return _Last(float("inf"), text)
    which = f"its {last['kind']} threshold {_amount(last['limit'], signal)}"
    at = f"at the rate then ({gap_text(rate, signal)}{noun_of(rate, SIGNALS[signal].resource)} a second)"
    if seconds <= 0:
        return _Last(seconds, f"{text}; {at} it would have reached {which} {seconds_text(-seconds)} ago")
    return _Last(seconds, f"{text}; {at} it reaches {which} in {seconds_text(seconds)}")


def _last_amount(signal: str, last: Document) -> str:
    return f"{_amount(last['available'], Signal(signal))} {seconds_text(last['agoSeconds'])} ago"


def _amount(amount: int, signal: Signal) -> str:
    stalled = " stalled" if signal in STALLS else ""
    return f"{signal_amount(amount, signal)}{noun_of(amount, SIGNALS[signal].resource)}{stalled}"
