"""Reads one eviction from journals as an incident, decides its cycle again, and judges whether it was needed.

The record of the cycle has its complete input. Decided again it shows who held and took what was short; with another request,
which pod would have gone; and played on as a world, whether the pod's end was needed.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from evictd.codec.records.journal import JournalEntry, decode_entry
from evictd.codec.records.journal_record import JournalRecord, decode_record
from evictd.commands.decided.incident_first import with_first
from evictd.commands.decided.incident_holdings import filling_owner, growth_outside, holdings_of, with_arrivals_before
from evictd.commands.decided.incident_past import UNKNOWN, Past, RecentLines, past_of, retaking, taken_by, without
from evictd.commands.decided.incident_request import DAMAGED, asked_request, goes_past_request, with_request
from evictd.commands.decided.incident_steady import growth_on, is_quiet, last_entry, steady_growers
from evictd.commands.inputs.journals import (
    read_lines,
    report_skipped,
)
from evictd.config.file import STANDARD_INPUT
from evictd.core.eviction.synchronize import synchronize
from evictd.core.model.config import Policy
from evictd.core.model.decision import EvictPod
from evictd.core.model.holdings import MeasuredLevel, SupplyHoldings
from evictd.core.model.resources import IN_MEMORY
from evictd.core.model.signal import SIGNALS, Resource, Signal
from evictd.core.model.state import State
from evictd.core.model.stats import PodStats
from evictd.core.units.duration import MINUTE
from evictd.errors import NoEvictionError
from evictd.render.attribution import recorded_attribution
from evictd.render.history.blindness import without_ended_blindness
from evictd.render.history.evictions import evictions_of
from evictd.render.history.history import EventKind, HistoryEvent, history
from evictd.render.incident.cause.kill_cause import kill_cause
from evictd.render.incident.cause.kill_lines import kill_lines
from evictd.render.incident.cause.overcommit import overcommit
from evictd.render.incident.incident_list import no_eviction_text
from evictd.render.incident.record.collect import incident_of
from evictd.render.incident.record.filled import fills_host, is_unknown
from evictd.render.incident.record.incident import CONTAINER_LOGS, Incident
from evictd.render.incident.record.verdict import EvictionVerdict, Grower, Need, NotJudged
from evictd.render.incident.remedy.request_remedy import tenth_of_usage
from evictd.render.text import clean
from evictd.world.behaviours import Behaviour, Grow, Usage
from evictd.world.continuation import world_of
from evictd.world.model import HostUse
from evictd.world.oracle import ideal_ends

_PLAYED = 5 * MINUTE
"""For how long the node is played on."""
_GROWS = {
    Resource.MEMORY: (Usage.MEMORY, Usage.MEMORY),
    Resource.EPHEMERAL_STORAGE: (Usage.LAYER, Usage.HOST_PATH),
    Resource.INODES: (Usage.LAYER_INODES, Usage.HOST_PATH_INODES),
    Resource.PIDS: (Usage.PROCESSES, Usage.PROCESSES),
}
"""By resource the usage that the world grows for a pod, and for the host."""


def read_incident(
    paths: Sequence[Path], wanted: str, report: Callable[[Iterable[str]], None] = report_skipped
) -> Incident:
    """Return the incident that is meant (`find_eviction`) from the journals' records; raises `NotFoundError` and `OSError`.

    `report` takes the lines that cannot be read. The journal is read once, and only the lines that may matter are
    kept: those with an eviction, and of each hour before one the oldest.
    """
    evicting: list[tuple[str, bytes]] = []  # times and lines, of which one is decoded whole
    oldest: dict[str, bytes] = {}  # by time of an eviction the oldest line of the hour before
    last, recent = b"", RecentLines()

    def decode(line: bytes) -> JournalRecord:
        nonlocal last
        record = decode_record(line)
        last, first = line, recent.add(record.wall, line)
        if any(each.get("kind") == EvictPod.__name__ for each in record.decisions):
            evicting.append((record.wall, line))
            oldest.setdefault(record.wall, first)
        return record

    records, problems = read_lines(paths, decode)
    report(problems)
    evictions = evictions_or_reason(records)
    if STANDARD_INPUT in paths:
        return replace(incident_of(records, evictions, wanted), not_judged=NotJudged.NOT_KEPT)

    end = last_entry(last)

    def judged(wanted: str) -> Incident:
        found = incident_of(records, evictions, wanted)
        entry = _entry(evicting, found)
        if entry is None:
            return found
        found = _judged_from_first(_decided_again(found, entry, oldest[found.event.at]), evicting)
        steady, quiet, grows_on = steady_growers(end, found), is_quiet(end, found), growth_on(end, found)
        found = replace(found, steady=steady, quiet=quiet, grows_on=grows_on)
        return replace(found, overcommit=overcommit(found))

    return with_first(judged(wanted), evictions, judged)


def evictions_or_reason(records: Sequence[JournalRecord]) -> Sequence[HistoryEvent]:
    """Return the evictions of a journal; raises `NoEvictionError` with the reason where it has none."""
    if evictions := evictions_of(records):
        return evictions
    events = tuple(history(records))
    raise NoEvictionError(
        no_eviction_text(
            without_ended_blindness(events), kill_lines(kill_cause(records)), end=next(reversed(records), None)
        ),
        kernel_killed=any(each.kind is EventKind.KERNEL for each in events),
    )


def _decided_again(found: Incident, entry: JournalEntry, oldest: bytes) -> Incident:
    """Add what the whole cycle of the eviction shows, decided again."""
    state, stats = _decided(entry), entry.observation.pod_stats.get(found.event.uid)
    past = _past(oldest, found)
    again = frozenset[str]() if state is None else _retaking(entry, state, past, found)
    taken = 0 if state is None or found.signal is None else taken_by(again, state, found.signal)
    verdict = None if state is None else _verdict(entry, state, found, past, again)
    on_disk = found.resource is Resource.EPHEMERAL_STORAGE
    return replace(
        found,
        verdict=verdict,
        not_judged=_not_judged(entry, state),
        host_filled=found.host_filled or (taken > 0 and fills_host(recorded_attribution(entry.findings), taken)),
        arrivals=with_arrivals_before(found.arrivals, entry.now, state, found.signal),
        grower_in=most_of_disk(_stats_of_grower(entry, verdict)) if on_disk else "",
        filled_by=filling_owner(entry.observation.pods, state, found.signal),
        with_request=(instead := with_request(entry, found)),
        with_more=with_request(entry, found, -tenth_of_usage(found)) if instead == found.event.pod else None,
        with_owner_request=with_request(entry, found, of_owner=True) if instead in found.siblings else None,
        past_request=instead == "" and goes_past_request(entry, found, verdict),
        asked=asked_request(entry, found),
        in_memory=has_volume_in_memory(entry, found),
        deleted=deleted_bytes(stats),
        swapped=swapped_bytes(entry, found),
        swap=entry.observation.node is not None and entry.observation.node.swap is not None,
        most_in=most_of_disk(stats) if on_disk else "",
    )


def _judged_from_first(found: Incident, lines: Iterable[tuple[str, bytes]]) -> Incident:
    """Judge a request by the first eviction that was refused, where another pod goes then: it had grown less by then."""
    mine = (each for each in found.before if each.kind is EventKind.REQUESTED and each.uid == found.event.uid)
    asked = next(mine, None)
    if asked is None or found.with_request is None:
        return found
    first = _entry(lines, replace(found, event=asked))
    instead = None if first is None else with_request(first, found)
    if instead in {None, found.event.pod}:
        return found
    return replace(found, with_request=instead, with_owner_request=None, past_request=False, first_asked=asked)


def _entry(lines: Iterable[tuple[str, bytes]], found: Incident) -> JournalEntry | None:
    """Return the whole cycle of the eviction; `None` where it cannot be read."""
    try:
        entries = (decode_entry(line) for wall, line in lines if wall == found.event.at)
        return next((each for each in entries if _evicts(each, found.event.uid)), None)
    except DAMAGED:
        return None


def _decided(entry: JournalEntry) -> State | None:
    """Return the state after the cycle, with what its reading shows of who holds what; `None` where it cannot be read."""
    try:
        return synchronize(entry.state, entry.observation, entry.config, entry.now).state
    except DAMAGED:
        return None


def _past(oldest: bytes, found: Incident) -> Past:
    """Return what the pods held in the oldest record of the hour before the eviction."""
    try:
        entry = decode_entry(oldest)
    except DAMAGED:
        return UNKNOWN
    return past_of(entry, _decided(entry), found)


def _retaking(entry: JournalEntry, state: State, past: Past, found: Incident) -> frozenset[str]:
    """Return the uids of the pods that hold again what they had held before the kernel killed their processes."""
    held = None if found.signal is None else holdings_of(state, found.signal)
    return frozenset() if held is None else retaking(held, past, _names(entry), found)


def _verdict(
    entry: JournalEntry, state: State, found: Incident, past: Past, again: frozenset[str]
) -> EvictionVerdict | None:
    """Return whether the eviction was needed, to an observer who knows the measurements; `None` if unknown."""
    try:
        if found.signal is None or is_unknown(recorded_attribution(entry.findings)):
            return None
        return verdict_of(entry, state, found.signal, found.event.pod, past=past, again=again)
    except DAMAGED:
        return None


def _not_judged(entry: JournalEntry, state: State | None) -> NotJudged:
    """Return why no verdict is known, where none is."""
    if state is None:
        return NotJudged.UNREADABLE
    return NotJudged.UNMEASURED if is_unknown(recorded_attribution(entry.findings)) else NotJudged.NO_HOLDINGS


def _evicts(entry: JournalEntry, uid: str) -> bool:
    return any(each.get("kind") == EvictPod.__name__ and uid in str(each.get("pod")) for each in entry.decisions)


def _stats_of_grower(entry: JournalEntry, verdict: EvictionVerdict | None) -> PodStats | None:
    """Return the measurements of the pod that made most of the growth."""
    name = "" if verdict is None or verdict.grower is None else verdict.grower.pod
    uids = (each.uid for each in entry.observation.pods if name and clean(each.full_name) == name)
    return entry.observation.pod_stats.get(next(uids, ""))


def most_of_disk(stats: PodStats | None) -> str:
    """Return the part of a pod's disk use that holds most of it: `container logs`; empty where none does."""
    parts = {"deleted files that are open": deleted_bytes(stats)}
    if stats is not None:
        parts |= {
            "writable layers": sum(each.rootfs.used_bytes or 0 for each in stats.containers if each.rootfs is not None),
            CONTAINER_LOGS: sum(each.logs.used_bytes or 0 for each in stats.containers if each.logs is not None),
            "volumes": sum(each.used_bytes or 0 for each in stats.volumes),
        }
    name = max(parts, key=lambda each: parts[each])
    return name if parts[name] * 2 > sum(parts.values()) else ""


def deleted_bytes(stats: PodStats | None) -> int:
    """Return what deleted files hold that the pod's processes keep open."""
    parts = () if stats is None else (stats.deleted_layer, stats.deleted_local)
    return sum(each.used_bytes or 0 for each in parts if each is not None)


def swapped_bytes(entry: JournalEntry, found: Incident) -> int:
    """Return what of the pod's usage was in swap; the kubelet's policy does not count that."""
    stats = entry.observation.pod_stats.get(found.event.uid)
    counts = found.resource is Resource.MEMORY and entry.config.policy is Policy.STANDARD
    return stats.memory.swap_bytes or 0 if counts and stats is not None and stats.memory is not None else 0


def has_volume_in_memory(entry: JournalEntry, found: Incident) -> bool:
    """Whether the pod was evicted for want of memory, and has an emptyDir in it."""
    if found.resource is not Resource.MEMORY:
        return False
    pod = next((each for each in entry.observation.pods if each.uid == found.event.uid), None)
    return pod is not None and any(each.medium == IN_MEMORY for each in pod.volumes)


def verdict_of(
    entry: JournalEntry,
    state: State,
    signal: Signal,
    pod: str,
    *,
    past: Past,
    again: frozenset[str],
) -> EvictionVerdict | None:
    """Return whether the pod is in the smallest set whose end relieves the node, if each pod goes on growing as it did.

    `state` is that after the cycle. The node of the reading is played on for five minutes; what grew in the last minute grows on
    (`evictd.world.oracle`), but for pods that took again what they had held (`again`). Of pods whose end would relieve it alike,
    it is that of one that made the node short (`EvictionVerdict.causes`).
    """
    node, held, grows = entry.observation.node, holdings_of(state, signal), _GROWS.get(SIGNALS[signal].resource)
    if node is None or grows is None or held is None:
        return None
    held = replace(without(held, again), elsewhere=growth_outside(held))
    world = world_of(
        node,
        entry.observation.pods,
        entry.observation.pod_stats,
        name="incident",
        filesystems=entry.observation.filesystems,
        behaviours={uid: _growth(grows[0], each) for uid, each in held.growing.items()},
        duration=_PLAYED,
    )
    if held.elsewhere is not None:
        host = HostUse(name="growth", behaviours=_growth(grows[1], held.elsewhere))
        world = replace(world, host=(*world.host, host))
    verdict = EvictionVerdict(
        need=Need.NEEDED,
        pod=pod,
        growers=tuple(_growers(entry, held, past)),
        played=_PLAYED,
        measured_over=_measured_over(held),
    )
    causes = verdict.causes
    pods = (replace(each, culprit=clean(each.pod.full_name) in causes) for each in world.pods)
    ideal = ideal_ends(replace(world, pods=tuple(pods)), entry.config)
    need = Need.NEEDED if pod in ideal.slots else Need.ANOTHER_POD
    if ideal.crossed_at is None:
        need = Need.NOTHING_SHORT
    elif not ideal.relieves:
        need = Need.NO_POD_HELPS
    return replace(verdict, need=need, fewest=tuple(sorted(ideal.slots)))


def _measured_over(held: SupplyHoldings) -> int:
    """Return for how long before the reading the growth was measured: the longest time of anything that grew."""
    levels = [*held.growing.values(), *(() if held.elsewhere is None else (held.elsewhere,))]
    return max((each.at - each.since for each in levels if each.rate > 0), default=MINUTE)


def _names(entry: JournalEntry) -> dict[str, str]:
    """Return `namespace/name` of each pod by its uid."""
    return {each.uid: clean(each.full_name) for each in entry.observation.pods}


def _growers(entry: JournalEntry, held: SupplyHoldings, past: Past) -> list[Grower]:
    """Return what grew, the fastest first."""
    names, owners = _names(entry), {each.uid: clean(each.owner) for each in entry.observation.pods}
    found = [
        Grower(
            pod=names.get(uid, uid),
            rate=each.rate,
            grown=past.grown(uid, each.used),
            over=past.over,
            owner=owners.get(uid, ""),
        )
        for uid, each in held.growing.items()
    ]
    if held.elsewhere is not None:
        found.append(Grower(pod="", rate=held.elsewhere.rate))
    return sorted((each for each in found if each.rate > 0), key=lambda each: -each.rate)


def _growth(usage: Usage, level: MeasuredLevel) -> tuple[Behaviour, ...]:
    return (Grow(of=usage, rate=level.rate),) if level.rate > 0 else ()
