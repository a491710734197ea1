"""Says what grew before the kernel killed processes for want of memory, and that evictd has no threshold of memory."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from evictd.codec.records.journal_record import JournalRecord
from evictd.codec.records.recorded_pod import RecordedPod
from evictd.core.frozen import frozen
from evictd.core.model.signal import MEMORY_SIGNALS, Resource, signal_named
from evictd.core.units.duration import MINUTE, SECOND
from evictd.render.attribution import clock_text
from evictd.render.incident.record.aftermath import seconds_between
from evictd.render.text import amount_text, clean, first_of

_APART = 15 * MINUTE // SECOND
"""Seconds without a kill after which the next one is of another shortage."""
_MUCH = 10
"""A pod that grew by less than this part of the node's memory is not named: the pod that was killed may have grown more."""
_NAMED = 3
_NOTABLE = 20
"""What is used outside pods is named from this part of the memory on: each node runs a few daemons."""
_NO_THRESHOLD = "evictd has no threshold of memory, so it evicts no pod for it"


@frozen
class KillCause:
    """The kills of the last shortage at which the kernel killed for want of memory, and what grew before the first."""

    at: str
    """RFC 3339 time of the first kill."""
    killed: tuple[str, ...]
    """Pods, `namespace/name`, and other cgroups that lost processes."""
    grower: str = ""
    """`namespace/name` of the pod that grew most; empty where none is known to have grown much."""
    since: str = ""
    """RFC 3339 time of the reading before."""
    before: int = 0
    after: int = 0
    """Bytes of memory that it held at that reading, and at the kill."""
    request: int = 0
    """Bytes of memory that the pod that grew most requests."""
    exceeded: tuple[tuple[str, int, int], ...] = ()
    """Killed pods that used more than they request at that reading: `namespace/name`, bytes used and requested."""
    outside: int = 0
    """Bytes of memory that were used outside pods at the first kill; 0 where that is little, or not known."""
    has_threshold: bool = True
    """Whether evictd had a threshold of memory."""

    @property
    def grew_within(self) -> bool:
        """Whether the pod that grew most was within its request."""
        return bool(self.grower) and 0 < self.after <= self.request

    @property
    def grew_beside_killed(self) -> bool:
        """Whether it was there before, grew beyond its request, and by more than any killed pod exceeded its own."""
        excess = max((used - request for _, used, request in self.exceeded), default=0)
        return bool(self.grower) and 0 < self.before < self.after - excess and not self.grew_within


def kill_cause(records: Sequence[JournalRecord]) -> KillCause | None:
    """Return the cause of the last kills of the records, oldest first; `None` without a kill."""
    kills = [number for number, each in enumerate(records) if each.extra.kernel_killed]
    if not kills:
        return None
    place = len(kills) - 1
    while place and seconds_between(records[kills[place - 1]], records[kills[place]]) <= _APART:
        place -= 1
    first = records[kills[place]]
    thresholds = first.config.thresholds
    killed = (clean(each.where) for number in kills[place:] for each in records[number].extra.kernel_killed)
    found = KillCause(
        at=first.wall,
        killed=tuple(dict.fromkeys(killed)),
        outside=_outside(first),
        has_threshold=not thresholds or any(signal_named(each.signal) in MEMORY_SIGNALS for each in thresholds),
    )
    return _with_grower(found, records[: kills[place]], first)


def _outside(record: JournalRecord) -> int:
    """Return the bytes of memory that were used outside pods, without what no process can allocate; 0 where that is little."""
    seen, used = record.observation, record.observation.memory
    node = None if seen.summary is None else seen.summary.node.memory
    if node is None or node.working_set_bytes is None or any(each.metadata.uid not in used for each in seen.pods):
        return 0
    outside = node.working_set_bytes - seen.unallocatable - sum(used.values())
    return outside if outside * _NOTABLE >= seen.whole_memory > 0 else 0


def _with_grower(found: KillCause, earlier: Sequence[JournalRecord], first: JournalRecord) -> KillCause:
    """Return the cause with the pod that grew most between the last reading before the first kill and the kill."""
    before = next((each for each in reversed(earlier) if each.observation.memory), None)
    if before is None or before.now > first.now:  # none, or of another boot
        return found
    then, now = before.observation.memory, first.observation.memory
    grown = {uid: used - then.get(uid, 0) for uid, used in now.items()}
    uid = max(grown, key=lambda each: grown[each], default="")
    if not uid or grown[uid] * _MUCH < first.observation.whole_memory or grown[uid] <= 0:
        return found
    pod = next((each for each in first.observation.pods if each.metadata.uid == uid), RecordedPod())
    return replace(
        found,
        grower=clean(pod.full_name) if pod.metadata.uid else "",
        since=before.wall,
        before=then.get(uid, 0),
        after=now[uid],
        request=pod.spec.memory_request,
        exceeded=tuple(_exceeded(found.killed, before)),
    )


def _exceeded(killed: Sequence[str], before: JournalRecord) -> Iterator[tuple[str, int, int]]:
    """Yield the killed pods that used more than they request in a record before the kill, which they lost their memory by."""
    for pod in before.observation.pods:
        name, request = clean(pod.full_name), pod.spec.memory_request
        used = before.observation.memory.get(pod.metadata.uid, 0)
        if name in killed and used > request:
            yield name, used, request


def unguarded_kill_lines(records: Sequence[JournalRecord]) -> tuple[str, ...]:
    """Write what is known of the last kills where evictd had no threshold of memory: then the history has kills alone."""
    found = kill_cause(records)
    return () if found is None or found.has_threshold else tuple(kill_lines(found))


def kill_lines(found: KillCause | None, pod: str = "") -> Iterator[str]:
    """Write what is known of a cause; of a pod that is named only where it was killed or grew."""
    if found is None or (pod and pod not in {*found.killed, found.grower}):
        return
    if found.grower:
        before, after = (amount_text(each, Resource.MEMORY) for each in (found.before, found.after))
        who = "it" if found.grower == pod else found.grower
        of = "its processes" if pod in found.killed else f"processes of {first_of(found.killed, _NAMED)}"
        yield (
            f"{who} grew most before the kernel killed {of}, first at {clock_text(found.at)}: "
            f"from {before} to {after} since {clock_text(found.since)}{_within(found)}"
        )
    if found.outside:
        yield f"{amount_text(found.outside, Resource.MEMORY)} of memory was used outside pods, by the host"
    if not found.has_threshold:
        yield _NO_THRESHOLD
    if found.grew_within and found.exceeded:
        yield _order_text(found, pod)
    if remedies := [*_remedies(found, pod)]:
        yield f"now: {'; '.join(remedies)}"


def _remedies(found: KillCause, pod: str) -> Iterator[str]:
    """Yield what to do: to set a threshold where there is none, and what bounds the pod or the host that took the memory."""
    if not found.has_threshold:
        yield "set the threshold `memory.available` (`evictd check`)"
    if found.grew_within and found.exceeded:
        who, used, _ = _above_request(found, pod)
        yield f"let {who} request the {amount_text(used, Resource.MEMORY)} that it uses"
    elif found.has_threshold and found.grew_beside_killed:
        yield f"mend or limit {found.grower}"
    if found.outside:
        outside = amount_text(found.outside, Resource.MEMORY)
        yield f"let systemReserved and kubeReserved of the kubelet cover the {outside} used outside pods"


def _above_request(found: KillCause, pod: str) -> tuple[str, int, int]:
    """Return a killed pod above its request, that pod if it is one: how it is called, bytes used and requested."""
    name, used, request = next((each for each in found.exceeded if each[0] == pod), found.exceeded[0])
    return "it" if name == pod else name, used, request


def _within(found: KillCause) -> str:
    """Write that the pod that grew most stayed within its request; empty where it did not."""
    return f", within its request of {amount_text(found.request, Resource.MEMORY)}" if found.grew_within else ""


def _order_text(found: KillCause, pod: str) -> str:
    """Write that pods that exceed their request rank before the one that grew within its own, and how to change that."""
    who, used, request = _above_request(found, pod)
    requests = f"requests {amount_text(request, Resource.MEMORY)}" if request else "requests none"
    grower = "this pod" if found.grower == pod else found.grower
    return (
        f"{who} used {amount_text(used, Resource.MEMORY)} before and {requests}: evictd ranks a pod above its request "
        f"before {grower}, which is within its own"
    )
