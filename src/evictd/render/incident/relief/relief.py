"""Says what came back after an eviction: the missing amount, the freed amount, whether it lasted, and the pods that returned."""

from collections.abc import Iterator

from evictd.core.model.amount_text import amount_with
from evictd.core.model.signal import SIGNALS, Resource
from evictd.core.units.duration import SECOND, format_duration
from evictd.core.units.quantity import of_count, parse_quantity
from evictd.errors import EvictdError
from evictd.render.history.history import EventKind, HistoryEvent
from evictd.render.incident.record.aftermath import MetAfter, time_of
from evictd.render.incident.record.incident import Incident
from evictd.render.incident.relief.back_alone import back_alone
from evictd.render.text import amount_text, duration_text, signal_amount, usage_text

_LONG = 60
"""Seconds that a journal must go on before it says that an owner created no new pod; one seen later may have come long before."""
_NAMED = 3
"""How many new pods of an owner are named."""
_END_OF_JOURNAL = "the journal's last record"


def relief_lines(found: Incident) -> Iterator[str]:
    """Write one sentence a line; nothing for a pod that exceeded a limit of its own."""
    if found.signal is None:
        return
    resource = SIGNALS[found.signal].resource
    if (short := found.short_of) is not None:
        kind, limit, missing = short
        usage = None if found.victim is None else found.victim.usage
        used = "" if usage is None else f"; {found.event.pod} held {usage_text(usage, resource)}"
        used += f", most of it in {found.most_in}" if found.most_in and used else ""
        if found.swapped and used and resource is Resource.MEMORY:
            used += f", {amount_text(found.swapped, resource)} of it in swap"
        used += "" if found.measured or not used else ", as measured before: in that cycle it was not measured"
        missed = (
            f"{amount_with(of_count(missing), resource, 'was', 'were')} missing to {signal_amount(limit, found.signal)}"
        )
        yield f"{missed}, the {kind} threshold{used}"
    yield from cut_grace_lines(found)
    if found.gone_after is not None:
        yield f"it had ended {_later(found.gone_after)}{killed_at_end_text(found)}"
    if found.came_back is not None and found.gone_after is not None:
        enough = "" if found.missing is None else (": enough" if found.came_back >= found.missing else ": too little")
        bound = "at least" if found.was_clear and found.came_back == found.missing else "up to"
        if text := unsettled_text(found):
            yield text
        elif reclaim := reclaim_short_text(found):
            yield f"{bound} {usage_text(found.came_back, resource)} came back: enough for the threshold, {reclaim}"
        elif found.came_back:
            brief = found.met.again is not None and found.met.again < _LONG and enough == ": enough"
            lasted = f" for {relieved_for(found)}" if brief else ""
            yield f"{bound} {usage_text(found.came_back, resource)} came back{enough}{lasted}"
        elif found.settled and found.outgrown:
            yield "no more was available afterwards: what grew took what its end freed"
        else:
            yield "nothing came back" if found.beside is None else "nothing of what came back was its own"
    elif not found.event.dry_run:
        yield "the journal has no reading between its end and the next eviction, so what came back is not known"
    yield from _lasted(found)
    if (back := back_alone(found)) is not None:
        yield back.text
    yield from _successors(found)


def killed_at_end_text(found: Incident) -> str:
    """Write that the pod had not ended on SIGTERM when its grace period was over, as a clause; empty where it had.

    A grace period of a second or less says nothing of the pod.
    """
    given = [(0.0, found.event), *((_seconds_after(found, each), each) for each in _shortened(found))]
    ends = [at + int(each.evidence.get("gracePeriodSeconds") or 0) for at, each in given]
    end = min(ends)
    if found.event.dry_run or found.gone_after is None or end <= 1 or found.gone_after < end:
        return ""
    short = f", shortened to {format_duration(round(end) * SECOND)} after the eviction" if len(given) > 1 else ""
    return f": it had not ended on SIGTERM, and was killed at the end of its grace period{short}"


def _shortened(found: Incident) -> list[HistoryEvent]:
    return [each for each in found.after if each.kind is EventKind.SHORTENED and each.uid == found.event.uid]


def _seconds_after(found: Incident, event: HistoryEvent) -> float:
    return (time_of(event.at) - time_of(found.event.at)) / SECOND


def cut_grace_lines(found: Incident) -> Iterator[str]:
    """Write how much of a soft threshold's grace period had passed when the hard one acted; nothing where it did not end that."""
    grace, left = found.soft_grace, found.grace_left
    if found.for_soft or found.signal is None or found.soft is None or not grace or not left or grace <= left:
        return
    soft, hard = (signal_amount(each, found.signal) for each in (found.soft, found.highest_limit("hard")))
    been = f"for {duration_text(grace - left)} of its grace period of {duration_text(grace)}"
    yield f"the soft threshold, {soft}, had been met {been} when the hard one, {hard}, acted"


def unsettled_text(found: Incident) -> str:
    """Write what came back of what was missing where the journal does not go on long enough to say more; else empty."""
    if found.signal is None or found.came_back is None or found.settled or found.came_back >= (found.missing or 0):
        return ""
    resource = SIGNALS[found.signal].resource
    amount = usage_text(found.came_back, resource) if found.came_back else "nothing"
    risen = (
        found.points[-1][1] - (found.available or 0) if found.points and found.points[-1][0] > 0 else found.came_back
    )
    if found.came_back > max(risen, 0):
        left = usage_text(risen, resource) if risen > 0 else "nothing"
        return f"up to {amount} came back, of which {left} is left at {_END_OF_JOURNAL}, {_later(found.known_for)}"
    return f"{amount} came back up to {_END_OF_JOURNAL}, {_later(found.known_for)}"


def relieved_for(found: Incident) -> str:
    """Return for how long the node was relieved: from the end of the pod until a threshold was met again; empty if none was."""
    again = found.met.again
    return "" if again is None else format_duration(max(round(again - (found.gone_after or 0)), 1) * SECOND)


def _lasted(found: Incident) -> Iterator[str]:
    """Write whether a threshold of the signal was met again; nothing where the journal does not say."""
    if found.signal is None or found.gone_after is None or found.came_back is None:
        return
    name = found.signal.value
    if found.met.again is not None:
        yield f"{_later(found.met.again)} a threshold of {name} was met again"
    if found.met.still is not None and found.settled and found.clear is None:
        yield f"a threshold of {name} was still met at {_END_OF_JOURNAL}{_dated(found.met.still)}"
    elif found.met.still is not None and found.settled:
        stayed = "" if found.met.still < 1 else f" for {format_duration(round(found.met.still) * SECOND)}"
        yield f"a threshold of {name} stayed met{stayed} after its eviction"
    if found.met == MetAfter() and found.known_for > found.gone_after and not went_for_reclaim(found):
        yield f"no threshold of {name} was met again up to {_END_OF_JOURNAL}{_dated(found.known_for)}"


def _dated(seconds: float) -> str:
    return "" if seconds < 1 else f", {_later(seconds)}"


def _successors(found: Incident) -> Iterator[str]:
    event = found.event
    for name, seconds in found.successors[:_NAMED]:
        # The journal has no record of a calm cycle, so its first record with the pod is only the latest time of its start.
        seen = f" {_within(seconds)}" if seconds < _LONG else f", first recorded {_later(seconds)}"
        yield f"{event.owner} created {name} on this node{seen}"
    if (more := len(found.successors) - _NAMED) > 0:
        yield f"and {more} more after it"
    if event.owner and not found.successors and not event.dry_run and found.known_for >= _LONG:
        said = any(_END_OF_JOURNAL in line for line in _lasted(found))
        until = "" if said else f" up to {_END_OF_JOURNAL}{_dated(found.known_for)}"
        yield f"no new pod of {event.owner} was seen on this node{until}"


def _later(seconds: float) -> str:
    """Write how long after the eviction something was seen; the journal's times are whole seconds."""
    return _within(seconds) if seconds < 1 else f"{format_duration(round(seconds) * SECOND)} later"


def _within(seconds: float) -> str:
    """Write by when at the latest something happened after the eviction."""
    return "within a second" if seconds < 1 else f"within {format_duration(round(seconds) * SECOND)}"


def went_for_reclaim(found: Incident) -> int:
    """Return how many pods went next although the threshold was clear; 0 where the eviction gave back too little or enough."""
    came_back, missing = found.came_back, found.missing
    if missing is None or came_back is None or found.kept_by_min_reclaim:
        return 0
    if not missing <= came_back < missing + found.min_reclaim:
        return 0
    return sum(1 for _ in _kept(found))


def reclaim_short_text(found: Incident) -> str:
    """Write what was not reached and how many pods went for it, behind `enough for the threshold`; empty where none did."""
    if found.signal is None or not (more := went_for_reclaim(found)):
        return ""
    went = f"{more} more pods" if more > 1 else "1 more pod"
    return f"not for its minimum reclaim of {signal_amount(found.min_reclaim, found.signal)}; {went} went for that"


def _kept(found: Incident) -> Iterator[HistoryEvent]:
    """Yield the evictions for the same signal that follow, up to the first one at which the threshold itself was met."""
    for each in found.after:
        if each.kind is not EventKind.EVICTED or found.signal is None:
            continue
        because = each.because
        if because.get("signal") != found.signal.value or not _is_clear(because.get("available"), because.get("limit")):
            return
        yield each


def _is_clear(available: object, limit: object) -> bool:
    try:
        return parse_quantity(str(available)) >= parse_quantity(str(limit))
    except EvictdError:  # a damaged record
        return False
