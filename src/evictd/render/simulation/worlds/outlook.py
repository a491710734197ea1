"""Says of a calm node which pod would go next for each signal, and when its threshold is crossed at the present rate."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from evictd.core.eviction.next_up import NextUp, who_is_next
from evictd.core.frozen import frozen
from evictd.core.model.config import EvictionConfig
from evictd.core.model.decision import EvictPod
from evictd.core.model.finding import ThresholdFinding
from evictd.core.model.observation import signal_observations
from evictd.core.model.signal import STALLS, Signal
from evictd.core.model.threshold import Origin
from evictd.core.units.duration import MINUTE, SECOND, format_duration
from evictd.core.units.quantity import of_bytes
from evictd.render.console import print_line
from evictd.render.documents import Document
from evictd.render.sentences import place_text
from evictd.render.simulation.steps import copies
from evictd.render.stop_reason import no_action_text
from evictd.render.text import (
    clean,
    clock,
    duration_text,
    first_of,
    gap_text,
    pod_name,
    seconds_text,
    signal_amount,
    signal_quantity,
)
from evictd.simulation import SimulatedCycle
from evictd.world.next_eviction import PlayedOn

if TYPE_CHECKING:
    from rich.console import Console


@frozen
class Outlook:
    """One signal of a calm node: its nearest threshold, the rate of approach, and the pod that would go."""

    finding: ThresholdFinding
    next_up: NextUp
    rate: int | None = None
    """Units per second by which what is available falls, over the last quarter of the time; `None`: there is one reading only."""
    nearest: tuple[int, int] | None = None
    """The least distance to the threshold, in the signal's unit, and its time; `None` if the first one was it, or it was met."""
    falls: int | None = None
    """Units per second by which it fell between the last two readings, where it did not over the last quarter: it rises again."""
    killed: bool = False
    """Whether the kernel killed for want of memory: then the last rate says nothing of what comes."""
    next_at: int | None = None
    """Time of the reading by which the pod would go; `None`: the last one."""
    crossed_in: int | None = None
    """Nanoseconds until the threshold is met in the world that was played on; `None` where it is not, or was not played on."""
    not_met_in: int | None = None
    """Nanoseconds that the world was played on without a crossing; `None` where there was one, or it was not played on."""

    @property
    def nears(self) -> bool:
        """Whether the threshold comes nearer at the end, or is met in the world that was played on."""
        return self.crossed_in is not None or (self.rate is not None and self.rate > 0)

    @property
    def time_left(self) -> int | None:
        """Nanoseconds until the threshold is crossed, played on or else at that rate; `None` where that is not known.

        A growth can end before that, so no rate is continued beyond what was played on.
        """
        if self.crossed_in is not None:
            return self.crossed_in
        if self.rate is None or self.rate <= 0 or self.not_met_in is not None:
            return None
        return (self.finding.available.value() - self.finding.limit.value()) * SECOND // self.rate


def outlooks(cycles: Sequence[SimulatedCycle], config: EvictionConfig) -> tuple[Outlook, ...]:
    """Return the outlook of each signal with a threshold; empty where a pod was evicted or a threshold is met."""
    if not cycles or any(isinstance(each, EvictPod) for cycle in cycles for each in cycle.decisions):
        return ()
    turn = cycles[-1].turns[-1]
    nearest: dict[Signal, ThresholdFinding] = {}
    for each in turn.step.findings:
        if isinstance(each, ThresholdFinding) and each.threshold.signal not in STALLS:
            known = nearest.get(each.threshold.signal)
            if known is None or each.limit > known.limit:
                nearest[each.threshold.signal] = each
    if any(each.met for each in nearest.values()):
        return ()
    ranked = who_is_next(turn.step.state, turn.observation, config, cycles[-1].at)
    return tuple(_outlook(cycles, nearest[each.signal], each) for each in ranked if each.signal in nearest)


def freed_by_kill(outlook: Outlook, cycles: Sequence[SimulatedCycle], config: EvictionConfig) -> Outlook:
    """Return the outlook of a signal whose shortage the kernel's kill ended, with the pod next at the reading nearest to it.

    At the last reading another pod can be the next: the one that the kernel killed has begun again, with little.
    """
    found = replace(outlook, rate=None, killed=True)
    if outlook.nearest is None:
        return found
    at = outlook.nearest[1]
    cycle = next(each for each in cycles if each.at == at)
    turn = cycle.turns[-1]
    ranked = who_is_next(turn.step.state, turn.observation, config, at)
    then = next((each for each in ranked if each.signal is outlook.next_up.signal), None)
    return found if then is None else replace(found, next_up=then, next_at=at)


def _outlook(cycles: Sequence[SimulatedCycle], finding: ThresholdFinding, next_up: NextUp) -> Outlook:
    found = []
    for cycle in cycles:
        node = cycle.turns[-1].observation.node
        seen = None if node is None else signal_observations(node).get(next_up.signal)
        if seen is not None:
            found.append((cycle.at, seen.available.value()))
    nearest = None
    if found:
        at, least = min(found, key=lambda each: each[1])
        nearest = (least - finding.limit.value(), at) if finding.limit.value() < least < found[0][1] else None
    rate = _rate(found)
    falls = _falls(found, finding) if rate is not None and rate <= 0 else None
    return Outlook(finding=finding, next_up=next_up, rate=rate, nearest=nearest, falls=falls)


def _falls(found: Sequence[tuple[int, int]], finding: ThresholdFinding) -> int | None:
    """Return by how much a second a signal fell between the last two readings; `None` where that is little."""
    (first, before), (last, after) = found[-2:]
    rate = (before - after) * SECOND // (last - first) if last > first else 0
    return rate if rate > 0 and (after - finding.limit.value()) * SECOND // rate <= _SOON else None


def _rate(found: Sequence[tuple[int, int]]) -> int | None:
    """Return by how much a second a signal fell in the last quarter of the time, from at least two readings."""
    if len(found) < 2 or found[-1][0] <= found[0][0]:
        return None
    begin = found[-1][0] - (found[-1][0] - found[0][0]) // 4
    last, after = found[-1]
    first, before = next((each for each in reversed(found[:-1]) if each[0] <= begin), found[0])
    return (before - after) * SECOND // (last - first)


def with_played_on(calm: Sequence[Outlook], after: PlayedOn, end: int) -> tuple[Outlook, ...]:
    """Return the outlooks of a world whose last reading is at `end`, with what was found by playing it on."""
    return tuple(each if each.killed else _with_played_on(each, after, end) for each in calm)


def _with_played_on(outlook: Outlook, after: PlayedOn, end: int) -> Outlook:
    crossed = after.crossed.get(outlook.next_up.signal)
    if crossed is not None:
        return replace(outlook, crossed_in=crossed - end)
    return replace(outlook, not_met_in=after.end - end)


_SOON = 60 * MINUTE
"""A fall that would take longer than this to the threshold is little."""
_KILLED = "the kernel killed, so no time is known"


def outlook_text(outlook: Outlook) -> str:
    """Write one outlook as a sentence without a full stop."""
    return f"{_left(outlook)}, {_when(outlook)}; {_next(outlook)}"


def _left(outlook: Outlook) -> str:
    finding = outlook.finding
    left = signal_quantity(finding.available, finding.threshold.signal)
    return f"{finding.threshold}: {left} left{_lower_limit(finding)}"


def _lower_limit(finding: ThresholdFinding) -> str:
    """Write the limit of a soft threshold of memory that is lower than it is configured; distances are to that."""
    configured = finding.threshold.value.quantity
    if configured is None or finding.limit >= configured:
        return ""
    return f", limit {signal_quantity(max(finding.limit, of_bytes(0)), finding.threshold.signal)}"


def _when(outlook: Outlook) -> str:
    if outlook.killed:
        return f"{_KILLED}{_nearest(outlook, '; ')}"
    if outlook.crossed_in is not None:
        return f"crossed in {seconds_text(outlook.crossed_in / SECOND)}, played on"
    if outlook.rate is None:
        return "the rate is not known from one reading"
    if not outlook.nears:
        return f"and it does not come nearer{_notes(outlook, ': ')}"
    if outlook.time_left is None:
        return f"not met in the {duration_text(outlook.not_met_in or 0)} played on"
    rate = signal_amount(outlook.rate, outlook.finding.threshold.signal)
    return f"crossed in {seconds_text(outlook.time_left / SECOND)} at the present rate of {rate}/s"


def _next(outlook: Outlook) -> str:
    victim, stop = outlook.next_up.victim, outlook.next_up.stop
    if victim is None:
        return "no pod would go" + ("" if stop is None else f": {no_action_text(stop)}")
    if outlook.next_at is not None:
        place = place_text(victim, outlook.next_up.resource)
        return f"next at {duration_text(outlook.next_at)} was {pod_name(victim.pod)}, {place}"
    next_is = f"next is {pod_name(victim.pod)}, {place_text(victim, outlook.next_up.resource)}"
    # Until a threshold is crossed the pods' usage changes, and with it their order.
    return next_is if not outlook.nears else f"by what the pods use now, {next_is}"


def _nearest(outlook: Outlook, before: str) -> str:
    """Write the least distance of a signal to its threshold; empty where that is not known (`Outlook.nearest`)."""
    if outlook.nearest is None:
        return ""
    distance, at = outlook.nearest
    near = gap_text(distance, outlook.finding.threshold.signal)
    return f"{before}a reading at {duration_text(at)} was within {near} of its threshold"


def _notes(outlook: Outlook, before: str) -> str:
    """Write how a signal falls at the end although it rises again, and the least distance to its threshold."""
    if outlook.falls is None:
        return _nearest(outlook, before)
    rate = signal_amount(outlook.falls, outlook.finding.threshold.signal)
    return f"{before}it falls by {rate}/s at the end, after it rose{_nearest(outlook, '; ')}"


def print_outlooks(
    found: Sequence[Outlook],
    to: "Console",
    played_on: PlayedOn | None = None,
    *,
    lead: str = "no pod is evicted; ",
) -> None:
    """Print the thresholds that come nearer, soonest first, then those that do not and have the same next pod together.

    `lead` begins the headline; empty where a conclusion has said that no pod was evicted.

    A derived threshold is left out unless it comes nearer and does not repeat the one that it is derived from.
    """
    repeated = copies(each.finding for each in found)
    nearing = [each for each in found if each.nears and each.finding.threshold not in repeated]
    soonest_first = sorted(nearing, key=lambda each: (each.time_left is None, each.time_left or 0))
    lines = [outlook_text(each) for each in soonest_first]
    calm: dict[str, list[str]] = {}
    for each in found:
        if not each.nears and each.finding.threshold.origin is not Origin.DERIVED:
            notes = _notes(each, " (")
            calm.setdefault(_next(each), []).append(f"{_left(each)}{notes and notes + ')'}")
    lines += [f"{', '.join(left)}; {then}" for then, left in calm.items()]
    if not lines and played_on is None:
        return
    headline = lead
    if not found:
        headline += "if it goes on like this"
    elif any(each.killed for each in found):
        headline += f"which pod would go for each threshold ({_KILLED})"
    elif any(each.rate is None for each in found):
        headline += "which pod would go for each threshold (one reading has no rate, so no time is known)"
    else:
        falls = any(each.falls is not None for each in found)
        span = (
            "over the last quarter of the time, as a whole, no threshold came"
            if falls
            else "at the end no threshold comes"
        )
        calm_end = f"{span} nearer; next pod for each"
        headline += "if it goes on like this" if nearing else calm_end
    to.print()
    to.print(headline, style="bold")
    if played_on is not None:
        lines.append(played_on_text(played_on))
    for line in lines:
        print_line(to, "  ", line)


def played_on_text(played: PlayedOn) -> str:
    """Write what comes in a world that was played on, until the next pod goes."""
    happens: list[tuple[int, str]] = []
    if played.short is not None and played.again:
        happens.append((played.crossed[played.short], f"{played.short.value} is short again"))
    happens += [(at, f"nothing is left of {signal.value}") for signal, at in played.ran_out.items()]
    if played.killed:
        happens.append((played.killed_at, f"the kernel kills {clean(played.killed)} for want of memory"))
    same = clock(played.at) if played.pod else ""
    before = [f"{text}{'' if clock(at) == same else f' at {clock(at)}'}" for at, text in sorted(happens)]
    if not played.pod:
        return "; ".join([f"played on until {clock(played.until)}, no pod is evicted", *before])
    stays = first_of([clean(each) for each in played.stays])
    more = f"; what takes more and more goes on: {stays}" if stays else ""
    lead = f"{', '.join(before)} and " if before else ""
    order = "next" if played.again else "first"
    return f"played on, {lead}{clean(played.pod)} is evicted {order}, at {clock(played.at)}{more}"


def played_on_document(played: PlayedOn | None) -> Document | None:
    """Make the document of a world that was played on."""
    if played is None:
        return None
    at = format_duration(played.at) if played.pod else None
    killed_at = format_duration(played.killed_at) if played.killed else None
    return {
        "until": format_duration(played.until),
        "evicted": played.pod or None,
        "at": at,
        "crossed": {signal.value: format_duration(each) for signal, each in played.crossed.items()},
        "killed": played.killed or None,
        "killedAt": killed_at,
        "ranOut": {signal.value: format_duration(each) for signal, each in played.ran_out.items()},
        "text": played_on_text(played),
    }


def outlook_documents(found: Sequence[Outlook]) -> list[Document]:
    """Make the documents of the outlooks."""
    return [
        {
            "threshold": str(each.finding.threshold),
            "available": each.finding.available.value(),
            "limit": each.finding.limit.value(),
            "ratePerSecond": each.rate,
            "timeLeft": None if each.time_left is None else format_duration(each.time_left),
            "next": None if each.next_up.victim is None else each.next_up.victim.pod.full_name,
            "ranking": [row.pod.full_name for row in each.next_up.rows],
            "cameWithin": None if each.nearest is None else each.nearest[0],
            "text": outlook_text(each),
        }
        for each in found
    ]
