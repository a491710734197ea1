"""Recognises owners whose pods are evicted again and again: the third pod of one owner within an hour, and each one after it.

An owner recreates its evicted pods, and what made them go is in its template. So the event is on the owner, where the people who
wrote the template look. It changes no decision, and the count begins anew with each run of the daemon.
"""

from collections.abc import Iterable

from evictd.core.eviction.draft import WARNING
from evictd.core.eviction.refusals.backoff import owner_of
from evictd.core.model.decision import EvictionCause, EvictionReason, EvictPod, RecordEvent
from evictd.core.model.pod import Pod
from evictd.core.model.signal import SIGNALS
from evictd.core.units.duration import HOUR

REPEATED_EVICTION = "RepeatedEviction"
LEAST = 3
"""Evictions of one owner's pods, the present one included."""
WITHIN = HOUR


class RepeatedEvictions:
    """The times of the last evictions by owner. Used by one thread at a time."""

    def __init__(self) -> None:
        self._times: dict[str, tuple[int, ...]] = {}

    def note(self, pod: Pod, now: int) -> int:
        """Note an eviction; return how many pods of its owner were evicted within the hour if that is `LEAST` or more, else 0."""
        name = owner_of(pod)
        if not name:
            return 0
        self._times = {owner: kept for owner, times in self._times.items() if (kept := _recent(times, now))}
        self._times[name] = (*self._times.get(name, ()), now)
        found = len(self._times[name])
        return found if found >= LEAST else 0


def _recent(times: Iterable[int], now: int) -> tuple[int, ...]:
    return tuple(time for time in times if now - time < WITHIN)


def repeated_eviction(decision: EvictPod, number: int, node_name: str) -> RecordEvent:
    """Return the event: how many pods were evicted, what the last one used and requested, and what would help."""
    because = decision.because
    used = "" if because.usage is None else f" used {because.usage}{_resource(because)},"
    requested = " requested nothing" if because.request is None else f" requested {because.request}"
    message = (
        f"{number} pods of this {decision.pod.owner.partition('/')[0]} were evicted from node {node_name} within an hour. "
        f"The last one, {decision.pod.name},{used}{requested}. {_remedy(because)}"
    )
    return RecordEvent(type=WARNING, reason=REPEATED_EVICTION, message=message)


def _resource(because: EvictionCause) -> str:
    return "" if because.threshold is None else f" of {SIGNALS[because.threshold.signal].resource.value}"


def _remedy(because: EvictionCause) -> str:
    if because.reason is not EvictionReason.PRESSURE:
        return "It exceeds a limit of its own: raise the limit, or let it use less."
    return (
        "A request of what it really uses lets the scheduler choose a node that has it; a limit bounds what it takes."
    )
