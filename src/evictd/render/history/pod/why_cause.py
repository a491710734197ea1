"""Says of a pod that was not evicted whether it may be why others were: its hostPath volume is not measured, or it grew most."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from evictd.codec.records.journal_record import JournalRecord, recorded_evictions, uid_of
from evictd.codec.times import parse_time
from evictd.core.model.attribution import Attribution
from evictd.core.model.signal import MEMORY_SIGNALS, SIGNALS, Signal, signal_named
from evictd.errors import InvalidValueError
from evictd.render.attribution import filled_sentence, little_grew, recorded_attribution
from evictd.render.history.cause.condition_cause import held_at_begin, soft_met_text
from evictd.render.history.cause.found_reasons import found_reasons
from evictd.render.history.cause.freed_by_reclaim import held_by_unused
from evictd.render.history.cause.recorded import ranking_rows
from evictd.render.history.cause.suspects import suspects_of
from evictd.render.status.remedy_texts import host_path_remedy
from evictd.render.text import amount_text, clean


def cause_lines(records: Iterable[JournalRecord], pod: str) -> tuple[str, ...]:
    """Return what makes a pod, `namespace/name`, a cause of the last eviction of another one at which something does.

    As an eviction counts the shortened grace period of a pod that was being deleted already. Where nothing makes it a cause of
    one, the last reason for no eviction that names it is meant; else the last condition of the node that began when this pod grew
    most and for which no pod was evicted: the deletion of images may have been enough.
    """
    found: tuple[str, ...] = ()
    of_reason: tuple[str, ...] = ()
    of_condition: tuple[str, ...] = ()
    evicted: set[str] = set()
    begun: JournalRecord | None = None
    for record in records:
        begun = record if any(each.get("kind") == "ReclaimNode" for each in record.decisions) else begun
        deleted = begun is not None and any(each.removed for each in record.observation.reclaimed)
        if of_condition and deleted and begun is not None and (held := held_by_unused(begun, record)):
            of_condition, begun = (*of_condition, held), None
        of_condition = tuple(_of_condition(record, pod)) or of_condition
        of_reason = tuple(_of_no_eviction(record, pod)) or of_reason
        for eviction in recorded_evictions(record.decisions):
            evicted.add(uid_of(eviction))
            of_condition = ()
            if _name(eviction) != pod:
                found = tuple(_of_eviction(record, eviction.get("because") or {}, pod)) or found
        for each in record.decisions:
            name = _name(each)
            if each.get("kind") == "EvictPod" and each.get("shortens") and uid_of(each) not in evicted and name != pod:
                when = f"when the grace period of {name} was shortened"
                found = tuple(_of_eviction(record, each.get("because") or {}, pod, when)) or found
    return found or of_reason or of_condition


def _name(eviction: Mapping[str, Any]) -> str:
    return clean("{namespace}/{name}".format_map({"namespace": "", "name": "", **(eviction.get("pod") or {})}))


def _of_condition(record: JournalRecord, pod: str) -> Iterator[str]:
    """Yield that the pod grew most when conditions of the node began, and that a grace period was not over."""
    conditions = [each.get("conditions") or () for each in record.decisions if each.get("kind") == "ReportConditions"]
    for held in held_at_begin(record) if any(conditions) else ():
        if held.main_grower == pod and held.of_pods * 2 >= held.filled:
            names = " and ".join(clean(str(name)) for each in conditions for name in each)
            yield f"it grew most when {names} began, at {clean(record.wall)}: {_filled(held, record)}"
            yield from filter(None, (soft_met_text(record),))
            return


def _of_eviction(record: JournalRecord, because: Mapping[str, Any], pod: str, when: str = "then") -> Iterator[str]:
    held, signal = recorded_attribution(record.findings), str(because.get("signal"))
    if held is None or held.outdated or not held.filled or little_grew(held, because):
        return
    filled = _filled(held, record)
    suspects = suspects_of(record, signal)
    if held.grown_elsewhere * 2 >= held.filled and pod in suspects:
        yield f"it may be the cause, because its hostPath volume is not measured: {filled}"
        yield host_path_remedy([pod], SIGNALS[held.signal].resource, [*filter(None, (suspects[pod],))])
    elif held.main_grower == pod and held.of_pods * 2 >= held.filled:
        yield f"it grew most {when}{_within(record, signal, pod)}: {filled}"


def _of_no_eviction(record: JournalRecord, pod: str) -> Iterator[str]:
    """Yield that the pod may be why no eviction helps, where the record has a reason that names it."""
    held = recorded_attribution(record.findings)
    grew = held is not None and not held.outdated and held.filled and held.grown_elsewhere * 2 >= held.filled
    filled = f": {_filled(held, record)}" if held is not None and grew else ""
    for _, evidence in found_reasons(record):
        suspects, signal = evidence.get("suspects", {}), signal_named(str(evidence["signal"]))
        if pod in suspects and signal is not None:
            yield f"it may be why {signal.value} is short, because its hostPath volume is not measured{filled}"
            yield host_path_remedy([pod], SIGNALS[signal].resource, [*filter(None, (suspects[pod],))])
            return


def _filled(held: Attribution, record: JournalRecord) -> str:
    """Write who filled the supply, as a clause."""
    try:
        text = filled_sentence(held, parse_time(record.wall)).removesuffix(".")
    except InvalidValueError:  # a damaged time
        return "at a time that cannot be read"
    return f"{text[:1].lower()}{text[1:]}"


def _within(record: JournalRecord, signal: str, pod: str) -> str:
    """Write that the pod was within its request; empty where it was not, or that is not known."""
    known = signal_named(signal)
    row = next((each for each in ranking_rows(record, known, "") if each.pod == clean(pod)), None)
    if known is None:
        return ""
    used, requested = _memory(record, known, pod) if row is None else (row.usage, row.request)
    if used is None or used > requested:
        return ""
    usage, request = (amount_text(each, SIGNALS[known].resource) for each in (used, requested))
    return f", within its request ({usage} of {request})"


def _memory(record: JournalRecord, signal: Signal, pod: str) -> tuple[int | None, int]:
    """Return the memory that a pod used and requests, for a cycle without a ranking: no pod had to be chosen in it."""
    recorded = next((each for each in record.observation.pods if clean(each.full_name) == clean(pod)), None)
    if recorded is None or signal not in MEMORY_SIGNALS:
        return None, 0
    return record.observation.memory.get(recorded.metadata.uid), recorded.spec.memory_request
