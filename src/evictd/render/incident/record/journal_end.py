"""Says how the node stands at the end of a journal: which conditions stand and until when, and what is not known yet."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from evictd.codec.records.journal_record import JournalRecord, recorded_evictions
from evictd.codec.times import parse_time, rfc3339
from evictd.core.model.amount_text import amount_with
from evictd.core.model.finding import NoActionReason
from evictd.core.model.signal import SIGNALS, NodeCondition, Resource, Signal
from evictd.core.units.duration import MINUTE, SECOND
from evictd.core.units.quantity import of_count
from evictd.errors import InvalidValueError
from evictd.render.attribution import clock_text
from evictd.render.history.cause.recorded import recorded_amount
from evictd.render.history.evictions import signal_of
from evictd.render.history.history import NOT_REPORTED, HistoryEvent
from evictd.render.incident.record.aftermath import says_met, seconds_between
from evictd.render.incident.record.incident import SETTLED, Incident
from evictd.render.incident.record.readings import levels_of, threshold_findings
from evictd.render.text import clean, first_of

_USED_UP = {
    Resource.MEMORY: "if memory is used up before, the kernel kills processes",
    Resource.EPHEMERAL_STORAGE: "if the disk is full before, writes fail",
    Resource.INODES: "if the inodes are used up before, no file can be created",
    Resource.PIDS: "if the PIDs are used up before, no process can start",
    Resource.SWAP: "if the swap is used up before, memory is used up next",
}
"""What a pause does not keep from coming; stalls end in nothing of the kind."""
_NOTHING_LEFT = {
    Resource.MEMORY: "no memory is left, so the kernel may kill processes until then",
    Resource.EPHEMERAL_STORAGE: "the disk is full, so writes fail until then",
    Resource.INODES: "no inode is left, so no file can be created until then",
    Resource.PIDS: "no PID is left, so no process can start until then",
    Resource.SWAP: "no swap is left, so memory is used up next",
}
"""What has come already where nothing was left in the last record."""

_NAMED = 3


def condition_ends(last: JournalRecord) -> Mapping[str, str]:
    """Return by type a clause about each condition that the last record has; none of one with a threshold that is met.

    In a dry run no condition is reported, also not one that a run before it reported.
    """
    if last.extra.dry_run:
        return dict.fromkeys((each.value for each in NodeCondition), NOT_REPORTED)
    period = last.config.pressure_transition_period
    if period is None:
        return {}
    return {
        each.value: f"no threshold of it was met {_to_the_end(since, _second(last))}: it stands until "
        f"{_stands_until(last, each, period)}, unless one is met again"
        for each in NodeCondition
        if (since := _after_clear(last, each, 0))
    }


def _stands_until(last: JournalRecord, condition: NodeCondition, configured: int) -> str:
    """Return when a condition ends, and the owners for whose sake it stays longer than configured."""
    kept = [each for each in last.findings if _keeps(each, condition)]
    longest = max((configured, *(each["periodNanoseconds"] for each in kept)))
    owners = first_of([clean(str(each.get("owner"))) for each in kept])
    because = f", because pods of {owners} come back when it ends" if owners else ""
    return f"{_after_clear(last, condition, longest)}{because}"


def _keeps(finding: Mapping[str, Any], condition: NodeCondition) -> bool:
    kept = finding.get("kind") == "KeptAway" and finding.get("condition") == condition.value
    return kept and isinstance(finding.get("periodNanoseconds"), int)


def clear_text(last: JournalRecord, signal: Signal | None) -> str:
    """Write from when on no threshold of a signal was met, as a clause; empty where one was at the end, or that is not known."""
    condition = _condition_of(signal)
    if signal is None or condition is None or not (since := _after_clear(last, condition, 0)):
        return ""
    return f"no threshold of {signal.value} was met {_to_the_end(clock_text(since), clock_text(_second(last)))}"


def _to_the_end(since: str, last: str) -> str:
    """Write a time up to the last record: of what came after that nothing is known, because not every cycle is recorded."""
    return f"at the last record, {last}" if since == last else f"from {since} to the last record, {last}"


def _second(record: JournalRecord) -> str:
    """Return the time of a record, a valid one, in whole seconds."""
    return rfc3339(parse_time(record.wall) // SECOND * SECOND)


def _after_clear(last: JournalRecord, condition: NodeCondition, period: int) -> str:
    """Return the time at which a threshold of a condition was last met, plus a period in nanoseconds.

    Empty while a threshold is met, and where that time is not known.
    """
    observed, met = last.state.node_conditions_last_observed_at.get(condition.value), _met(last, condition)
    if observed is None or not met or any(met):
        return ""
    try:
        return rfc3339(parse_time(last.wall) - (last.now - observed - period) // SECOND * SECOND)
    except InvalidValueError:  # a damaged time
        return ""


def _met(last: JournalRecord, condition: NodeCondition | None) -> list[bool]:
    """Return of each threshold of a condition whether it is met in the last record."""
    return [says_met(found) for each in _signals_of(condition) for found in threshold_findings(last, each)]


def _condition_of(signal: Signal | None) -> NodeCondition | None:
    return None if signal is None else SIGNALS[signal].condition


def _signals_of(condition: NodeCondition | None) -> list[Signal]:
    return [each for each in Signal if SIGNALS[each].condition is condition]


def ends_before_relief(
    records: Sequence[JournalRecord], evictions: Iterable[HistoryEvent], signal: Signal | None
) -> bool:
    """Whether the journal ends before what the last eviction for the signal's node condition gave back was read."""
    condition = _condition_of(signal)
    alike = [
        each for each in evictions if not each.dry_run and condition and _condition_of(signal_of(each)) is condition
    ]
    if not alike:
        return False
    gone = next((each for each in records if alike[-1].uid in each.observation.cleaned_up), None)
    return gone is None or seconds_between(gone, records[-1]) < SETTLED


def ends_before_relief_text(found: Incident) -> str:
    """Write that the journal does not say whether the node is still short; empty where it does."""
    if not (found.ends_before_relief and found.still_met) or found.paused:
        return ""
    ends = "the journal ends before what the last eviction gave back was read"
    return f"{ends}: `evictd status` says whether the node is still short"


def stands_at_end(records: Sequence[JournalRecord], signal: Signal | None) -> bool:
    """Whether the node condition of a signal stands after the last record."""
    reported = (each for each in records[-1].decisions if each.get("kind") == "ReportConditions")
    conditions = next((each.get("conditions", ()) for each in reported), records[-1].state.node_conditions)
    return signal is not None and SIGNALS[signal].condition.value in conditions


def is_met_at_end(last: JournalRecord, signal: Signal | None) -> bool:
    """Whether a threshold of the signal's node condition was met in the last record."""
    return any(_met(last, _condition_of(signal)))


def also_short(record: JournalRecord, later: Sequence[JournalRecord], signal: Signal | None) -> str:
    """Write what the node was short of besides at the end of the journal; empty for nothing.

    That is another signal, with another node condition, of which a threshold is met; or memory, for want of which the kernel
    killed more than a minute after the eviction of a record, and no pod was evicted since.
    """
    begin = max((n for n, each in enumerate(later, 1) if any(recorded_evictions(each.decisions))), default=0)
    kills = [
        each for each in later[begin:] if each.extra.kernel_killed and seconds_between(record, each) > MINUTE // SECOND
    ]
    if kills:
        killed = dict.fromkeys(clean(one.where) for each in kills for one in each.extra.kernel_killed)
        return f"the kernel killed processes of {first_of([*killed], _NAMED)}, last at {clock_text(kills[-1].wall)}"
    last = later[-1] if later else record
    others = (each for each in Signal if _condition_of(each) is not _condition_of(signal))
    met = next((each.value for each in others if any(map(says_met, threshold_findings(last, each)))), "")
    return f"a threshold of {met} is met" if met else ""


def running_at_end(last: JournalRecord, evictions: Iterable[HistoryEvent]) -> frozenset[str]:
    """Return the pods of the last record that were not evicted, as `namespace/name`."""
    evicted = {each.uid for each in evictions}
    return frozenset(clean(each.full_name) for each in last.observation.pods if each.metadata.uid not in evicted)


def pause_clause(last: JournalRecord, signal: Signal | None) -> str:
    """Write until when evictions pause for the node condition of a signal, as a clause; empty where they do not."""
    alike = _signals_of(_condition_of(signal))
    texts = (_pause_text(last, finding, each) for finding in last.findings for each in alike if _pauses(finding, each))
    return next(texts, "")


def _pauses(finding: Mapping[str, Any], signal: Signal) -> bool:
    in_vain = finding.get("why") == NoActionReason.EVICTIONS_DO_NOT_HELP.value
    return in_vain and finding.get("signal") == signal.value and isinstance(finding.get("until"), int)


def _pause_text(last: JournalRecord, finding: Mapping[str, Any], signal: Signal) -> str:
    try:
        at = clock_text(rfc3339(parse_time(last.wall) + finding["until"] - last.now))
    except InvalidValueError:  # a damaged time
        return ""
    missing = recorded_amount(finding.get("needed"))
    short = (
        f"{amount_with(of_count(missing), SIGNALS[signal].resource, 'was', 'were')} missing at the last record; "
        if missing
        else ""
    )
    used_up = (_NOTHING_LEFT if levels_of(last, signal).available == 0 else _USED_UP).get(SIGNALS[signal].resource)
    pause = f"{short}evictions pause until {at} at the latest, and one more pod goes then if a threshold is still met"
    return f"{pause}; {used_up}" if used_up else pause
