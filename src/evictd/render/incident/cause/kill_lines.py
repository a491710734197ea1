"""Writes what is known of kills by the kernel for want of memory, and what to do about them."""

from collections.abc import Iterator, Sequence

from evictd.advice.evidence import documented_line
from evictd.codec.records.journal_record import JournalRecord
from evictd.core.model.signal import Resource, Signal
from evictd.core.units.quantity import parse_quantity
from evictd.render.attribution import clock_text
from evictd.render.incident.cause.kill_cause import KillCause, kill_cause
from evictd.render.status.remedy_texts import OUTSIDE_PODS
from evictd.render.text import amount_text, first_of

_NAMED = 3
_NO_THRESHOLD = "evictd has no threshold of memory, so it evicts no pod for it"
_RESTORE = "see in the log of evictd why the memory was not read, and restore that reading"
_DRY_RUN = "evictd was in a dry run, so it evicted no pod"


def last_kill_lines(records: Sequence[JournalRecord]) -> tuple[str, ...]:
    """Write what is known of the last kills for a history: what grew before, or that evictd had no threshold of memory.

    Else nothing: the kills are listed, and what evictd decided.
    """
    found = kill_cause(records)
    if found is None or (found.has_threshold and not (found.grower or found.outside_since or found.unread)):
        return ()
    return tuple(kill_lines(found))


def kill_lines(found: KillCause | None, pod: str = "") -> Iterator[str]:
    """Write what is known of a cause, and what to do; of a pod that is named only where it was killed or grew."""
    yield from kill_facts(found, pod)
    if remedy := "; ".join((*kill_remedies(found, pod), *threshold_remedies(found, pod))):
        yield f"now: {remedy}"


def kill_facts(found: KillCause | None, pod: str = "") -> Iterator[str]:
    """Write what is known of a cause; of a pod that is named only where it was killed or grew."""
    if found is None or _is_other(found, pod):
        return
    alone = not (pod or found.outside_since) and found.killed == (found.grower,)
    of = "its processes" if pod in found.killed or alone else f"processes of {first_of(found.killed, _NAMED)}"
    killed = f"before the kernel killed {of}, first at {clock_text(found.at)}"
    if found.grower:
        before, after = (_memory(each) for each in (found.before, found.after))
        who = "it" if found.grower == pod else found.grower
        most = "" if found.outside_since or found.unread else " most"
        yield f"{who} grew{most} {killed}: from {before} to {after} since {clock_text(found.since)}{_within(found)}"
    elif found.largest is not None and not found.host_holds_most:
        name, used, request = found.largest
        who = "it" if name == pod else name
        yield f"{who} exceeded its request most {killed}: it used {_memory(used)} and {_requests(request)}"
    if found.outside_since:
        before, after, since = _memory(found.outside_before), _memory(found.outside), clock_text(found.outside_since)
        yield f"what is used outside pods grew most {killed}: from {before} to {after} since {since}"
    elif found.outside_counts:
        yield f"{_memory(found.outside)} of memory was used outside pods, by the host"
    if found.unread:
        unknown = "" if found.grower else ": what grew is not known"
        yield f"evictd could not read the memory of the node {killed}{unknown}"
    if not found.has_threshold:
        yield _NO_THRESHOLD
    elif found.dry_run:
        yield _DRY_RUN
    if found.grew_within and found.exceeded:
        yield _order_text(found, pod)


def kill_remedies(found: KillCause | None, pod: str = "") -> Iterator[str]:
    """Yield what bounds the pod, or the memory outside pods, that made the kernel kill."""
    if found is None or _is_other(found, pod):
        return
    if found.unread:
        yield _RESTORE
    if not found.has_threshold:
        yield "set the threshold `memory.available` (`evictd check`)"
    if found.outside_since:
        yield _free_outside(found)
        return
    if found.grew_within and found.exceeded:
        who, used, _ = _above_request(found, pod)
        yield f"let {who} request the {_memory(used)} that it uses"
    elif found.has_threshold and (found.grew_beside_killed or _killed_within(found)):
        yield f"mend or limit {found.grower}"
    elif found.has_threshold and not (found.grower or found.largest is None or found.host_holds_most):
        yield f"mend or limit {found.largest[0]}"
    if found.outside_counts and not found.outside_is_constant:
        yield _free_outside(found)
    elif found.outside_counts:
        always = _memory(found.outside_always)
        yield f"let systemReserved and kubeReserved of the kubelet cover the {always} used outside pods all the time"


def _killed_within(found: KillCause) -> bool:
    """Whether the pod that grew most was within its request, and the kernel killed it: only a lower limit bounds it."""
    return found.grew_within and found.grower in found.killed and found.before > 0


def _free_outside(found: KillCause) -> str:
    """Write to free memory outside pods, and what probably holds it: what grows there is not to be reserved."""
    return ": ".join(filter(None, (OUTSIDE_PODS[Resource.MEMORY], found.suspect)))


def threshold_remedies(found: KillCause | None, pod: str = "") -> Iterator[str]:
    """Yield the higher threshold that docs/tuning.md begins with where evictd's was lower and pods may have filled the node.

    Between two cycles only the watch sees it crossed.
    """
    if found is None or _is_other(found, pod) or found.highest is None or found.dry_run or found.unread:
        return
    documented = documented_line(Signal.MEMORY_AVAILABLE, found.capacity)
    if found.host_holds_most or found.grew_within or found.highest >= parse_quantity(documented).value():
        return
    lead = "" if found.leads else ", or set `memory.lead: Auto`"
    yield (
        "first turn on `memory.watch` if it is off, then raise the threshold `memory.available`: "
        f"it was {_memory(found.highest)}, and docs/tuning.md begins with {documented} on a node of this size{lead}"
    )


def _is_other(found: KillCause, pod: str) -> bool:
    """Whether the kills do not concern a pod that is named."""
    return bool(pod) and pod not in {*found.killed, found.grower}


def _above_request(found: KillCause, pod: str) -> tuple[str, int, int]:
    """Return a killed pod above its request, that pod if it is one: how it is called, bytes used and requested."""
    name, used, request = next((each for each in found.exceeded if each[0] == pod), found.exceeded[0])
    return "it" if name == pod else name, used, request


def _within(found: KillCause) -> str:
    """Write that the pod that grew most stayed within its request; empty where it did not."""
    return f", within its request of {_memory(found.request)}" if found.grew_within else ""


def _order_text(found: KillCause, pod: str) -> str:
    """Write that pods that exceed their request rank before the one that grew within its own, and how to change that."""
    who, used, request = _above_request(found, pod)
    grower = "this pod" if found.grower == pod else found.grower
    return (
        f"{who} used {_memory(used)} before and {_requests(request)}: evictd ranks a pod above its request "
        f"before {grower}, which is within its own"
    )


def _requests(request: int) -> str:
    return f"requests {_memory(request)}" if request else "requests none"


def _memory(amount: int) -> str:
    return amount_text(amount, Resource.MEMORY)
