"""Says when nothing is left of a signal and what happens then, from the document of `/statusz`."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from evictd.core.model.amount_text import noun_of
from evictd.core.model.signal import SIGNALS, STALLS, Resource, Signal
from evictd.render.status.leaving_pods import awaited_pods, leaves_for
from evictd.render.status.signal_entry import shown_entries
from evictd.render.status.stopped import before_collection_ends, before_stop_ends
from evictd.render.text import clean, gap_text, seconds_text

Document = Mapping[str, Any]
_AT_ZERO = {
    Resource.MEMORY: "the kernel's OOM killer kills processes",
    Resource.EPHEMERAL_STORAGE: "writes to the disk fail",
    Resource.INODES: "no file can be created on the disk",
    Resource.PIDS: "no process can be started",
}
FORESEEN_SECONDS = 3600
"""A threshold that would be met later than this is left out, because no rate lasts that long."""
_MINUTE, _ABOUT_MINUTE = 60, 50
_LONGEST = FORESEEN_SECONDS / _MINUTE
"""No time is said that is this many times as long as that over which the rate was measured: one step is no rate."""
_STEADY = 2
"""A fall between the last two readings is less than this many times the mean of the minute where it is no step."""
_STEP = 3
"""A fall between the last two readings that is this many times the mean of the minute may be one step, and no rate."""
_KILLED_PERIODS = 3
"""A kill within this many times as long as memory did not fall is the reason for that."""
_STEADY_SECONDS = 10.0
"""From how many seconds without a fall on it is said that there is none."""
_NO_CHANGE: Document = {"overSeconds": 0.0, "fillRate": 0}


def at_zero(signal: Signal) -> str:
    """Return what happens when nothing is left; empty for a signal that is no supply."""
    return "" if signal in STALLS else _AT_ZERO.get(SIGNALS[signal].resource, "")


def zero_before(entry: Document, within: float) -> str:
    """Write in how many seconds nothing is left at the last rate, after a blank; empty where not within these, or unknown."""
    rate = (entry.get("lately") or entry).get("fillRate") or 0
    if rate <= 0 or not at_zero(Signal(entry["signal"])) or (left := entry["available"] / rate) >= within:
        return ""
    return f" reaches 0 in {seconds_text(left)}"


class Depletion(NamedTuple):
    """What is known of the time until nothing is left of a signal: sentences without a full stop."""

    text: str
    seconds: float | None = None
    """From now on; `None` where it does not fall."""
    then: str = ""
    """What happens at 0, and the rate: below a text that says `reaches`."""
    rate: float = 0.0
    """Units a second; 0 where it does not fall."""
    over: str = ""
    """The time whose rate it is: `minute`, `30s`."""
    at_mean: str = ""
    """After the time at the last fall, where that may be one step: the time at the rate of the last minute."""

    def reaches(self, signal: str) -> str:
        """Write when nothing is left; where nothing is, also what happens."""
        when = f"in {seconds_text(self.seconds)}" if self.seconds else "now"
        rate = f"the rate of the last {self.over}{self.at_mean}" if self.at_mean else "this rate"
        return f"{signal} reaches 0 {when} at {rate}" if self.then else self.text


def depletions(status: Document) -> dict[str, Depletion]:
    """Return for each signal below its last threshold when nothing is left at the present rate, and what happens then.

    The mean of the last minute lags: where the fall becomes steeper the last readings count, and where it has ended no time is.
    None is said either while what an ended pod held comes back, nor one that is sixty times that of the rate.
    """
    found: dict[str, Depletion] = {}
    for entry in shown_entries(status):
        signal, mean = Signal(entry["signal"]), entry.get("fillRate")
        last = entry.get("lastChange") or _NO_CHANGE
        over, fall = last["overSeconds"], last["fillRate"]
        then = at_zero(signal)
        last_kind = "hard" if any(each["kind"] == "hard" for each in entry["thresholds"]) else "soft"
        short = any(
            each["met"] and each["kind"] == last_kind and not each["graceLeftSeconds"] for each in entry["thresholds"]
        )
        if not short or not then or awaited_pods(status, entry):
            continue
        if entry["available"] <= 0:
            found[entry["signal"]] = Depletion(f"{entry['signal']} is 0: {then}", 0.0)
            continue
        if mean is None:
            continue
        if fall <= 0:
            if over >= _STEADY_SECONDS and mean > 0:
                text = (
                    f"{entry['signal']} did not fall in the last {seconds_text(over)}{_by_kills(status, signal, over)}"
                )
                found[entry["signal"]] = Depletion(text)
            continue
        rate, when, lasts = (mean, "minute", _MINUTE) if mean > fall else (fall, seconds_text(over), over)
        if entry["available"] / rate > lasts * _LONGEST and mean * _STEADY > fall:
            rate, when, lasts = mean, "minute", _MINUTE
        age = last["agoSeconds"]
        if (left := entry["available"] / rate) <= lasts * _LONGEST:
            left = max(left - age, 0.0)
            a_second = f"{gap_text(round(rate), signal)}{noun_of(round(rate), SIGNALS[signal].resource)}"
            unless = _unless_ended(status, entry)
            text = (
                f"At the rate of the last {when} ({a_second} a second) nothing is left of {entry['signal']} "
                f"in {seconds_text(left)}; {f'{unless} by then, {then}' if unless else f'then {then}'}"
            )
            first = before_stop_ends(entry, left) or before_collection_ends(status, entry, left)
            reached = f"At 0{first} {then}{f', {unless} by then' if unless else ''}"
            reached += f"; the rate: {a_second} a second in the last {when}"
            at_mean = _at_mean(entry, mean) if mean * _STEP <= rate else ""
            found[entry["signal"]] = Depletion(text, left, reached, rate, when, at_mean)
    return found


def _at_mean(entry: Document, mean: float) -> str:
    """Write after a comma when nothing is left at the mean rate, of the last minute or of a shorter time."""
    over = entry.get("overSeconds")
    when = "minute" if over is None or over >= _ABOUT_MINUTE else seconds_text(over)
    if mean <= 0:
        return f", but did not fall in the last {when} as a whole"
    return f", in {seconds_text(entry['available'] / mean)} at that of the last {when}"


def _by_kills(status: Document, signal: Signal, over: float) -> str:
    """Write that memory did not fall because the kernel killed; empty where it killed nothing in about this time."""
    kills = status["kernelKills"]
    lately = bool(kills) and kills[-1]["agoSeconds"] <= _KILLED_PERIODS * over
    return ", because the kernel kills" if lately and signal is Signal.MEMORY_AVAILABLE else ""


def without_repeated(found: Mapping[str, Depletion]) -> dict[str, Depletion]:
    """Return of several signals of one resource that fall to 0 only the soonest: the same happens then."""
    kept: dict[str, Depletion] = {}
    seen: set[Resource] = set()
    for name, end in sorted(found.items(), key=lambda each: each[1].seconds or 0.0):
        resource = SIGNALS[Signal(name)].resource
        if end.seconds is None or resource not in seen:
            kept[name] = end
        if end.seconds is not None:
            seen.add(resource)
    return kept


def _unless_ended(status: Document, entry: Document) -> str:
    """Write which leaving pods would have to end before nothing is left; empty for none.

    One that another component has deleted leaves for no signal.
    """
    leaving = (row for row in status["leaving"] if not row["gone"] and (not row["signal"] or leaves_for(row, entry)))
    pods = [clean(row["pod"]) for row in leaving]
    return f"unless {' and '.join(pods)} {'has' if len(pods) == 1 else 'have'} ended" if pods else ""
