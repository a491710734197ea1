"""Says when a threshold is met or acts, and how long a condition stays, from the document of `/statusz`.

`status`, `why` and the page say it in the same words. A rate is that of the last minute, so a time to a threshold holds while the
rate does; the grace period of a soft threshold ends early if what is missing comes back.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from evictd.core.model.amount_text import noun_of
from evictd.core.model.signal import SIGNALS, STALLS, Signal
from evictd.render.status.signal_entry import fell_elsewhere, has_stopped, is_due, supply_name
from evictd.render.status.times.depletion import FORESEEN_SECONDS, at_zero, zero_before
from evictd.render.text import capital, clean, gap_text, seconds_text, signal_amount

Document = Mapping[str, Any]

SOON_SECONDS = 600
"""A threshold that is met within this time at the present rate is near."""
_AT_ONCE = 0.1
"""Seconds below which nothing is left of a time."""
_LITTLE = 1000
"""What is missing is not named where it is less than this part of the threshold: readings scatter by more."""
_BEFORE_SECONDS = 60
"""A threshold that is met later at the rate before a jump is left out: the rate since then is known by then."""


class Approach(NamedTuple):
    """A threshold that is not met and will be at the present rate."""

    seconds: float
    entry: Document
    threshold: Document

    @property
    def text(self) -> str:
        """The sentence, without a full stop."""
        limit = limit_amount(self.threshold["limit"], Signal(self.entry["signal"]))
        which = f"its {self.threshold['kind']} threshold {limit} {in_text(self.seconds)}"
        if (last := self.entry.get("lastFall")) and self.soonest < self.seconds:
            sooner = f"its {self.threshold['kind']} threshold {limit} {in_text(self.soonest)}"
            rates = f"of the last {seconds_text(last['overSeconds'])}, in {seconds_text(self.seconds)} at that of the last minute"
            return f"{self.entry['signal']} reaches {sooner} at the rate {rates}"
        slows = slowed(self.entry)
        if has_stopped(self.entry):
            above = gap_text(self.entry["available"] - self.threshold["limit"], Signal(self.entry["signal"]))
            return f"{self.entry['signal']} is {above} above its {self.threshold['kind']} threshold {limit} and {slows}"
        if slows:
            then = "" if (later := self._at_lower_rate) is None else f" (at that rate {in_text(later)})"
            return f"{self.entry['signal']} would reach {which} at the rate of the last minute, but {slows}{then}"
        return f"{self.entry['signal']} reaches {which} at the present rate"

    @property
    def soonest(self) -> float:
        """The seconds until the threshold is met at the rate of the last two readings, where that is steeper."""
        sooner = self.threshold["secondsAtLastFall"]
        return self.seconds if sooner is None else min(float(sooner), self.seconds)

    @property
    def stays_near(self) -> bool:
        """Whether it is near also at the rate of the last readings, where that is much lower."""
        if not slowed(self.entry) or self.soonest < self.seconds:
            return True
        later = self._at_lower_rate
        return later is not None and later <= SOON_SECONDS

    @property
    def _at_lower_rate(self) -> float | None:
        """The seconds until the threshold is met at the rate of the last readings; `None` where that is not the lower one."""
        return None if self.soonest < self.seconds else _at_lower_rate(self.entry, self.threshold)

    @property
    def as_before(self) -> str:
        """The sentence of a threshold that `as_before` foresees, without a full stop."""
        signal, rate = Signal(self.entry["signal"]), self.entry["fellBefore"]
        which = f"its {self.threshold['kind']} threshold {limit_amount(self.threshold['limit'], signal)}"
        a_second = f"{gap_text(rate, signal)}{noun_of(rate, SIGNALS[signal].resource)} a second"
        return f"at the rate before ({a_second}) {signal.value} reaches {which} in {seconds_text(self.seconds)}"

    @property
    def caveat(self) -> str:
        """Why the threshold may not be met, after a comma; empty where the recorded trend does not say it."""
        lowest = self.threshold["recoveredFrom"]
        if lowest is None or slowed(self.entry):
            return ""
        return f", but within the last hour it rose again from {limit_amount(lowest, Signal(self.entry['signal']))}"

    @property
    def waits_for_pages(self) -> int:
        """The file pages for which a soft threshold will wait, because the kernel can drop them; 0 where it acts."""
        pages = self.entry["waitsForPages"] or 0
        return int(pages) if self.threshold["kind"] == "soft" else 0

    @property
    def waits(self) -> str:
        """Why a soft threshold waits when it is met, after a semicolon; empty where it acts."""
        if not (pages := self.waits_for_pages):
            return ""
        amount = signal_amount(pages, Signal(self.entry["signal"]))
        return f"; {amount} of what is used is file pages, which the kernel can drop, so that threshold waits until tasks stall"

    @property
    def acts(self) -> str:
        """When the threshold acts after it is met: `then`, after its grace period, or earlier if a hard one is met before.

        Empty where it waits for file pages, and no hard one is foreseen. No time is said where the signal does not fall. The
        start of a pod is in the rate of a minute, so the time at a lower one of the last readings stands beside it.
        """
        if (acts := self._acts_at_mean) in {"", "then"} or (met := self._at_lower_rate) is None:
            return acts
        grace = self.threshold["gracePeriodSeconds"]
        hard = [_at_lower_rate(self.entry, each) for each in self.entry["thresholds"] if each["kind"] == "hard"]
        times = [each for each in (*hard, None if self.waits_for_pages else met + grace) if each is not None]
        later = min(times, default=met)
        return f"{acts}, or in about {seconds_text(later)} at the lower rate"

    @property
    def _acts_at_mean(self) -> str:
        grace = self.threshold["gracePeriodSeconds"]
        if has_stopped(self.entry):
            return "" if self.waits_for_pages else f"{seconds_text(grace)} after it is met" if grace else "if it is met"
        if self.waits_for_pages:
            return hard_then(self.entry) or ""
        if not grace:
            return "then"
        if sooner := hard_then(self.entry, self.seconds + grace):
            return sooner
        first = f"{seconds_text(self.soonest + grace)} to " if self.soonest < self.seconds else ""
        zero = f"; {self.entry['signal']}{at}" if (at := zero_before(self.entry, self.seconds + grace)) else ""
        return f"in about {first}{seconds_text(self.seconds + grace)} (grace period {seconds_text(grace)}{zero})"

    @property
    def and_acts(self) -> str:
        """When the threshold acts, after a comma; empty where it acts at once."""
        return f", and acts {acts}" if (acts := self.acts) not in {"", "then"} else ""


def _at_lower_rate(entry: Document, threshold: Document) -> float | None:
    """Return the seconds to a threshold at the rate of the last readings; `None` where that is not lower, or it does not fall."""
    lately = entry.get("lately") or {"fillRate": 0}
    if lately["fillRate"] <= 0 or threshold["met"]:
        return None
    return float((entry["available"] - threshold["limit"]) / lately["fillRate"])


def acts_in(threshold: Document) -> float | None:
    """Return in how many seconds a threshold acts, after its grace period; `None` where it is not foreseen to be met."""
    if threshold["met"]:
        return float(threshold["graceLeftSeconds"] or 0)
    seconds, grace = (
        threshold["secondsToThreshold"],
        threshold["gracePeriodSeconds"],
    )
    return None if seconds is None else float(seconds + grace)


def in_text(seconds: float) -> str:
    """Write in how many seconds something will be; `at any moment` where nothing is left of them."""
    return f"in {seconds_text(seconds)}" if seconds >= _AT_ONCE else "at any moment"


def slowed(entry: Document) -> str:
    """Write that a signal falls much less than the rate of the last minute says; empty where it does not."""
    lately = entry.get("lately")
    if lately is None:
        return ""
    rate, over = lately["fillRate"], seconds_text(lately["overSeconds"])
    if rate <= 0:
        return f"did not fall in the last {over}"
    noun = noun_of(rate, SIGNALS[Signal(entry["signal"])].resource)
    return f"fell by only {gap_text(rate, Signal(entry['signal']))}{noun} a second in the last {over}"


def limit_amount(limit: int, signal: Signal) -> str:
    """Write a threshold's amount with what it counts: `500Mi`, `3276 processes`."""
    return f"{signal_amount(limit, signal)}{noun_of(limit, SIGNALS[signal].resource)}"


def approaches(status: Document, within: float = SOON_SECONDS) -> list[Approach]:
    """Return the next threshold of each signal that is met within this many seconds at the present rate, the soonest first.

    Of two that are met at the same time the one whose signal acts first.
    """
    found = [approach for entry in status["signals"] for approach in _foreseen(entry, within)[:1]]
    return sorted(found, key=lambda each: (each.soonest, _acts_first(each)))


def first_to_act(status: Document, near: Approach) -> Approach:
    """Return an approach, or that of another signal of its supply which acts before it: nodefs and imagefs may be one disk."""
    others = (
        each for entry in _others_of_supply(status, near.entry) for each in _foreseen(entry, FORESEEN_SECONDS)[:1]
    )
    return min((near, *sorted(others, key=lambda each: each.soonest)), key=_acts_first)


def _others_of_supply(status: Document, entry: Document) -> list[Document]:
    """Return the entries of the other signals of a signal's supply."""
    return [each for each in status["signals"] if each != entry and supply_name(each) == supply_name(entry)]


def _acts_first(near: Approach) -> float:
    """Return in how many seconds the first threshold of a signal acts, after its grace period; infinite where all wait."""
    found = (each for each in _foreseen(near.entry, FORESEEN_SECONDS) if not each.waits_for_pages)
    return min((each.soonest + each.threshold["gracePeriodSeconds"] for each in found), default=float("inf"))


def as_before(status: Document) -> list[Approach]:
    """Return the next threshold of each signal that is met within a minute if it falls on as before its last jump.

    Only where most of what grew belongs to no pod: the end of a pod that grew has ended the fall.
    """
    found = (
        Approach(seconds, entry, threshold)
        for entry in status["signals"]
        for threshold in entry["thresholds"]
        if (seconds := threshold["secondsAsBefore"]) is not None
        and threshold["origin"] != "derived"
        and seconds <= _BEFORE_SECONDS
        and fell_elsewhere(entry)
    )
    soonest: dict[str, Approach] = {}
    for each in sorted(found, key=lambda each: each.seconds):
        soonest.setdefault(each.entry["signal"], each)
    return list(soonest.values())


def _foreseen(entry: Document, within: float) -> list[Approach]:
    """Return the thresholds of one signal that are met within this many seconds at the present rate, the soonest first."""
    times = [
        Approach(seconds, entry, threshold)
        for threshold in entry["thresholds"]
        if threshold["origin"] != "derived"
        and not threshold["met"]
        and (seconds := threshold.get("secondsToThreshold")) is not None
        and seconds <= within
    ]
    return sorted(times, key=lambda each: each.seconds)


def hard_then(entry: Document, within: float = SOON_SECONDS) -> str | None:
    """Write when the hard threshold of a signal is met at the present rate; `None` where none is within this many seconds."""
    hard = next((each for each in _foreseen(entry, within) if each.threshold["kind"] == "hard"), None)
    if hard is None:
        return None
    first = f"{seconds_text(hard.soonest)} to " if hard.soonest < hard.seconds else ""
    limit = limit_amount(hard.threshold["limit"], Signal(entry["signal"]))
    return f"in about {first}{seconds_text(hard.seconds)}, at the hard threshold {limit}"


def _hard_sooner(entry: Document, status: Document, within: float) -> Approach | None:
    """Return the first hard threshold of a supply that is met within this many seconds, or is at the rate of the last readings.

    That of the signal itself is returned where another signal of its supply meets its own no sooner.
    """
    of_supply = (entry, *_others_of_supply(status, entry))
    foreseen = (each for of in of_supply for each in _foreseen(of, FORESEEN_SECONDS))
    hard = (each for each in foreseen if each.threshold["kind"] == "hard" and each.soonest <= within)
    return min(hard, key=lambda each: each.soonest, default=None)


class Grace(NamedTuple):
    """A soft threshold that is met: what acts first, and when."""

    seconds: float
    entry: Document
    text: str
    """The sentence, without a full stop."""
    hard: bool = False
    """Whether the hard threshold is met before."""


def graces(status: Document) -> list[Grace]:
    """Return the running grace periods, the first to act at the front; none of a signal with a threshold that acts now.

    A sentence names the grace period's end and what would end it early, or the threshold that is met before that end.
    """
    found = []
    for entry in status["signals"]:
        signal = Signal(entry["signal"])
        for threshold in () if is_due(entry) else entry["thresholds"]:
            left = threshold["graceLeftSeconds"]
            if not threshold["met"] or not left or threshold["origin"] == "derived":
                continue
            if found_late := _slow_hard(entry, threshold, left):
                found.append(found_late)
                continue
            if (hard := None if slowed(entry) else _hard_sooner(entry, status, left)) is not None:
                before = seconds_text(hard.soonest) != seconds_text(left)
                soft = "its soft threshold" if hard.entry is entry else f"the soft threshold of {signal.value}"
                acts = f"before {soft} acts (in {seconds_text(left)})"
                if hard.seconds > left:
                    acts = f"and {soft} acts in {seconds_text(left)} at the latest"
                text = f"{hard.text}, {acts if before else f'when {soft} acts as well'}"
                found.append(Grace(hard.soonest, hard.entry, text, hard=True))
                continue
            missing = threshold["limit"] - entry["available"]
            back = f", unless {gap_text(missing, signal)} come back" if missing * _LITTLE > threshold["limit"] else ""
            amount = f"{limit_amount(entry['available'], signal)} {'stalled' if signal in STALLS else 'left'}"
            zero = f"; before that it{at}: {at_zero(signal)}" if (at := zero_before(entry, left)) else ""
            text = f"{entry['signal']} ({amount}): the soft threshold acts in {seconds_text(left)} at the latest{back}{zero}"
            found.append(Grace(left, entry, text))
    return sorted(found, key=lambda each: each.seconds)


def _slow_hard(entry: Document, soft: Document, left: float) -> Grace | None:
    """Return when the hard threshold is met at the lower rate of the last readings; `None` where the soft one acts before."""
    lately = entry.get("lately") if slowed(entry) else None
    if lately is None or lately["fillRate"] <= 0:
        return None
    for each in entry["thresholds"]:
        if each["kind"] != "hard" or each["met"] or each["origin"] == "derived":
            continue
        seconds = (entry["available"] - each["limit"]) / lately["fillRate"]
        if seconds < left:
            limit, over = limit_amount(each["limit"], Signal(entry["signal"])), seconds_text(lately["overSeconds"])
            when = f"reaches its hard threshold {limit} {in_text(seconds)} at the rate of the last {over}"
            acts = f"before its {soft['kind']} threshold acts (in {seconds_text(left)})"
            return Grace(seconds, entry, f"{entry['signal']} {when}, {acts}", hard=True)
    return None


def conditions(status: Document) -> Iterator[str]:
    """Yield a sentence for each condition that is reported, or would be in a dry run: how long it stays."""
    stays = "would be reported" if status["dryRun"] else "stays"
    for entry in status["conditions"]:
        if entry["status"] == "True" and entry["staysSeconds"] is not None:
            yield (
                f"{clean(entry['type'])} {stays} for at least {seconds_text(entry['staysSeconds'])}; "
                "it ends when no threshold of it has been met for the transition period"
            )
            if entry["why"]:
                yield clean(entry["why"])


def time_lines(status: Document, *, acts: bool = False) -> Iterator[str]:
    """Yield when thresholds act and when those that are near are met, and with `acts` when they act then.

    Of signals of one supply the one that acts first, which the headline names as well.
    """
    said, once = [each.text for each in graces(status)], dict[str, Approach]()
    yield from said
    for each in approaches(status):
        once.setdefault(supply_name(each.entry), first_to_act(status, each))
    for near in once.values():
        if not any(text.startswith(near.text) for text in said):
            yield f"{near.text}{near.and_acts if acts and not near.waits else ''}{near.caveat}{near.waits}"
    yield from (capital(each.as_before) for each in as_before(status))
