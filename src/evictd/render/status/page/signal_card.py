"""The card of one signal on the page: what is left, how fast it falls, its thresholds and its line."""

from collections.abc import Mapping, Sequence
from typing import Any

from evictd.core.model.amount_text import noun_of
from evictd.core.model.signal import SIGNALS, STALLS, Signal
from evictd.render.status.page_chart import EvictionMark, page_chart
from evictd.render.status.signal_entry import has_stopped, is_due, is_pressed
from evictd.render.status.times.depletion import FORESEEN_SECONDS
from evictd.render.status.times.timing import in_text, limit_amount, slowed
from evictd.render.text import gap_text, lowered_text, seconds_text, signal_amount

Document = Mapping[str, Any]
Trend = Sequence[tuple[float, int]]
"""Seconds ago, and the available amount."""


def one_entry(entries: Sequence[Document]) -> Document:
    """Return the signals of one disk as one entry: the readings of the first one with the thresholds of each.

    A threshold has in `of` the signals that it is of, where those are not all.
    """
    names = [each["signal"] for each in entries]
    thresholds: dict[tuple[object, ...], tuple[Document, list[str]]] = {}
    for entry in entries:
        for each in entry["thresholds"]:
            alike = (each["kind"], each["limit"], each["gracePeriodSeconds"], is_pressed(each))
            thresholds.setdefault(alike, (each, []))[1].append(entry["signal"])
    named = [{**each, "of": "" if of == names else ", ".join(of)} for each, of in thresholds.values()]
    return {**entries[0], "signals": names, "thresholds": named}


def signal_card(
    entry: Document,
    trend: Trend,
    marks: Sequence[EvictionMark],
    *,
    near: bool,
    rate_is_said: bool,
    now: int | None,
) -> dict[str, Any]:
    """Return the card of `one_entry`; `near`: a threshold is about to be met, and it is as grave as a soft one.

    `rate_is_said`: a sentence at the top has its rate, which may be that of the last readings and not of the last minute.
    `now` is the wall clock in nanoseconds.
    """
    signal = Signal(entry["signal"])
    met = {threshold["kind"] for threshold in entry["thresholds"] if is_pressed(threshold)}
    fill, ticks = _apart(entry, max(entry["capacity"], 1))
    noun = f"{noun_of(entry['available'], SIGNALS[signal].resource)} ".lstrip()
    limits = [(each["kind"], each["limit"]) for each in entry["thresholds"]]
    return {
        "name": ", ".join(entry["signals"]),
        "signals": entry["signals"],
        "level": "hard" if "hard" in met else "soft" if met or near else "calm",
        "amount": signal_amount(entry["available"], signal),
        "of": "of the time stalled"
        if signal in STALLS
        else f"{noun}left of {signal_amount(entry['capacity'], signal)}",
        "percent": fill,
        "rate": "" if rate_is_said else _rate(entry),
        "thresholds": [
            _threshold(threshold, entry, tick) for threshold, tick in zip(entry["thresholds"], ticks, strict=True)
        ],
        "few": _few(trend),
        "chart": (chart := page_chart(trend, limits, signal, marks, capacity=entry["capacity"], now=now)),
        "legend": _legend([] if chart is None else [mark for _, mark in chart.marks]),
    }


def _few(trend: Trend) -> str:
    """Write why there is no line yet."""
    return "One reading so far: the line begins with the second." if len(trend) == 1 else ""


def _legend(marks: Sequence[EvictionMark]) -> list[EvictionMark]:
    """Return the marks that are said below the line, the newest first: evictions before what removed no pod."""
    evictions = [each for each in marks if each.pod][-_SHOWN_EVICTIONS:]
    others = [each for each in marks if not each.pod][-1:]
    return sorted((*evictions, *others), key=lambda each: each.ago)


_SHOWN_EVICTIONS = 3
_MINUTE = 50
"""Seconds from which on the readings of a rate are called those of a minute: their first one may be a little younger."""
_LEAST_APART = 1.5
"""Percent of a bar between its fill and a tick: of 192Gi a tick each for 1Gi and 2Gi would be one."""


def _apart(entry: Document, capacity: int) -> tuple[float, list[float]]:
    """Return where the fill of a bar ends and where the ticks of its thresholds are, in percent: in order, and apart."""
    amounts = [entry["available"], *(each["limit"] for each in entry["thresholds"])]
    places, least = [0.0] * len(amounts), 0.0
    for index in sorted(range(len(amounts)), key=lambda each: (amounts[each], each)):
        places[index] = round(min(max(100 * amounts[index] / capacity, least), 100), 2)
        least = places[index] + _LEAST_APART
    return places[0], places[1:]


def _rate(entry: Document) -> str:
    """Write how fast what is left changed; empty where that is not known, or so slow that it changes little in an hour."""
    rate, signal = entry["fillRate"], Signal(entry["signal"])
    if slows := slowed(entry):
        return slows
    leads = any(_is_foreseen(each["secondsToThreshold"]) for each in entry["thresholds"])
    if not rate or not (leads or abs(rate) * FORESEEN_SECONDS >= entry["available"]):
        return ""
    what, over = noun_of(rate, SIGNALS[signal].resource), entry.get("overSeconds")
    since = "minute" if over is None or over >= _MINUTE else seconds_text(over)
    return f"{'fell' if rate > 0 else 'rose'} by {gap_text(abs(rate), signal)}{what} a second in the last {since}"


def _foreseen(threshold: Document, entry: Document) -> str:
    """Write when a threshold is met, at the rate of the last readings where that is much steeper or less; empty if far off."""
    seconds, lately = threshold["secondsToThreshold"], entry.get("lately")
    last, sooner = entry.get("lastFall"), threshold["secondsAtLastFall"]
    if last and sooner is not None:
        over = f"at the rate of the last {seconds_text(last['overSeconds'])}"
        return f"met {in_text(sooner)} {over}, in {seconds_text(seconds)} at that of the last minute"
    if lately:  # the rate that the card says
        seconds = (entry["available"] - threshold["limit"]) / lately["fillRate"]
    return f"met {in_text(seconds)} at this rate" if _is_foreseen(seconds) else ""


def _is_foreseen(seconds: float | None) -> bool:
    return seconds is not None and seconds <= FORESEEN_SECONDS


def _threshold(threshold: Document, entry: Document, tick: float) -> dict[str, Any]:
    """Return one threshold of a signal; `tick`: percent of the bar. Where one acts now, no grace period is said."""
    signal, due, state = Signal(entry["signal"]), is_due(entry), "not met"
    configured, grace = threshold["configured"], threshold["gracePeriodSeconds"]
    lowered = "" if configured is None else lowered_text(configured, threshold["limit"], signal)
    if threshold["met"]:
        left = threshold["graceLeftSeconds"]
        state = f"met, acts in {seconds_text(left)} at the latest" if left and not due else "met"
    elif threshold["keptByMinReclaim"]:
        state = "minimum reclaim not reached"
    elif _is_foreseen(threshold["secondsToThreshold"]) and not has_stopped(entry):
        state = _foreseen(threshold, entry) or state
    return {
        "kind": threshold["kind"],
        "limit": limit_amount(threshold["limit"], signal),
        "percent": tick,
        "about": "; ".join(
            filter(None, (threshold["of"], lowered, f"grace period {seconds_text(grace)}" if grace else ""))
        ),
        "state": state,
        "met": is_pressed(threshold),
    }
