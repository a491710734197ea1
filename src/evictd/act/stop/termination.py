"""Stops one pod step by step: which calls are made to the runtime, and what the answers mean.

    STOPPING_CONTAINERS -> STOPPING_SANDBOXES -> LISTING -> FINISHED
    a stop failed within the grace, or the listing did   -> BACKING_OFF -> LISTING
    nothing is listed, but the pod's cgroup has processes -> BACKING_OFF -> LISTING
    the listing shows something alive                    -> STOPPING_CONTAINERS

STOPPING_CONTAINERS stops the regular containers side by side, then the sidecars one after another, the last started first, as the
kubelet's `terminationOrdering` does; at the end of the grace, all that are left at once.

A pod is finished only when a listing made afterwards shows no container of it that may run and no sandbox that is ready, and its
cgroup has no process (`act.stop.stopper`). No step waits: `advance` goes as far as the answers that are there allow. The
kubelet's `killContainersWithSyncResult`.
"""

import threading
from collections.abc import Callable
from dataclasses import replace
from enum import Enum
from typing import NamedTuple, Protocol

from evictd.clients.cri.channel import Pending
from evictd.clients.cri.values import CriContainer, CriSandbox, SandboxState
from evictd.core.frozen import frozen
from evictd.core.units.duration import MILLISECOND, SECOND
from evictd.errors import EvictdError, RuntimeNotFoundError, RuntimeResponseTooLargeError

FIRST_DELAY = 200 * MILLISECOND
LAST_DELAY = 10 * SECOND
"""The least time from one attempt to the next doubles from the first to the last; the last is the kubelet's back-off."""
OVERDUE = 5 * SECOND
"""How long after the grace a stop may stay unanswered. On a disk with no byte left containerd kills the container, cannot write
that down, and never answers; it does let the sandbox be stopped."""
MAX_ERRORS = 20


class StopCalls(Protocol):
    """The calls of a `CriClient` that stop pods."""

    def begin_stop_container(self, container_id: str, grace_seconds: int) -> Pending[None]:
        """Begin to stop a container."""

    def begin_stop_sandbox(self, sandbox_id: str) -> Pending[None]:
        """Begin to stop a sandbox."""

    def begin_list_containers(self, uid: str = "") -> Pending[tuple[CriContainer, ...]]:
        """Begin to list the containers, with `uid` those that carry the label of this pod."""

    def begin_list_sandboxes(self, uid: str = "") -> Pending[tuple[CriSandbox, ...]]:
        """Begin to list the sandboxes, with `uid` those that carry the label of this pod."""


class TerminationPhase(Enum):
    """What the next step waits for."""

    STOPPING_CONTAINERS = "StoppingContainers"
    STOPPING_SANDBOXES = "StoppingSandboxes"
    LISTING = "Listing"
    BACKING_OFF = "BackingOff"
    FINISHED = "Finished"


@frozen
class Termination:
    """The progress of one pod's termination; times are `clock` nanoseconds."""

    uid: str
    started_at: int
    grace_ends_at: int
    finished_at: int | None = None
    containers_ended_at: int | None = None
    """Time at which the runtime first reported all containers stopped."""
    remaining: tuple[str, ...] = ()
    """Ids of its containers and sandboxes that were not seen stopped."""
    stopped: tuple[str, ...] = ()
    """Ids of its containers and sandboxes that the runtime stopped, or no longer has."""
    attempts: int = 0
    """Number of attempts. Above 1 a call failed, a container was started meanwhile, or a process runs that is not listed."""
    errors: tuple[str, ...] = ()
    """The latest twenty calls that the runtime refused; a finished pod may have some too."""
    unkillable: tuple[int, ...] = ()
    """PIDs of those of its processes that were sent SIGKILL and are in uninterruptible sleep (state D)."""
    pod: str = ""
    """`namespace/name`, where that is known: set once it is no longer waited for."""

    @property
    def finished(self) -> bool:
        """Whether nothing of the pod runs any more."""
        return self.finished_at is not None


class RunningIds(NamedTuple):
    """The ids of what may run of a pod."""

    containers: frozenset[str]
    sandboxes: frozenset[str] = frozenset()
    sidecars: tuple[str, ...] = ()
    """Ids of the containers that stop last, in the order in which they stop."""


class RuntimeTermination:
    """The termination of one pod. `changed` is set, from any thread, when `advance` may find something new."""

    def __init__(
        self,
        calls: StopCalls,
        state: Termination,
        ids: RunningIds,
        *,
        minimum_grace_seconds: int,
        changed: threading.Event,
    ) -> None:
        self._calls = calls
        self._sidecars = ids.sidecars
        self._waiting: frozenset[str] = frozenset()
        self._minimum_grace = minimum_grace_seconds
        self._changed = changed
        self._containers = ids.containers
        self._sandboxes = ids.sandboxes
        self._own_sandboxes = self._sandboxes
        self._absent: set[str] = set()
        self._stops: dict[str, Pending[None]] = {}
        self._lists: tuple[Pending[tuple[CriSandbox, ...]], Pending[tuple[CriContainer, ...]]] | None = None
        self._too_large = False
        """Whether a listing of all pods was larger than one response may be."""
        self._delay = FIRST_DELAY
        self._asked_at = self._retry_at = state.started_at
        self.phase = TerminationPhase.BACKING_OFF
        self.state = replace(state, remaining=tuple(sorted(self._containers | self._sandboxes)))

    @property
    def due_at(self) -> int | None:
        """Time of the next step if no answer comes before."""
        if self.phase is TerminationPhase.BACKING_OFF:
            return self._retry_at
        if self.phase is not TerminationPhase.STOPPING_CONTAINERS:
            return None
        return self.state.grace_ends_at if self._waiting else self._overdue_at

    def start(self, now: int) -> None:
        """Begin the first attempt."""
        self._guarded(self._stop, now)

    def _stop(self, now: int) -> None:
        """Ask the containers whose turn it is to stop within the rest of the grace period."""
        self._retry_at, self._delay = now + self._delay, min(2 * self._delay, LAST_DELAY)
        self.state = replace(self.state, attempts=self.state.attempts + 1)
        self._waiting = self._containers
        self._stop_next(now)

    def _stop_next(self, now: int) -> None:
        """Stop the next containers: all that are no sidecars, then one sidecar at a time; all when the grace is over."""
        regular = self._waiting.difference(self._sidecars)
        sidecar = frozenset([each for each in self._sidecars if each in self._waiting][:1])
        turn = self._waiting if now >= self.state.grace_ends_at else regular or sidecar
        self._asked_at, grace = now, self._grace_left(now)
        self._waiting -= turn
        asked = {each: self._calls.begin_stop_container(each, grace) for each in sorted(turn)}
        self._begin_stops(TerminationPhase.STOPPING_CONTAINERS, self._stops | asked)

    def shorten(self, now: int, grace_ends_at: int) -> None:
        """End the grace earlier: every container not dead yet is asked again, and the earlier request is given up."""
        self.state = replace(self.state, grace_ends_at=grace_ends_at)
        self._guarded(self._ask_again, now)

    def _ask_again(self, now: int) -> None:
        if self.phase is not TerminationPhase.STOPPING_CONTAINERS:
            return  # no grace is running; whatever is found alive later gets the shorter one
        for each, earlier in self._stops.items():
            if not earlier.done():
                self._stops[each] = self._calls.begin_stop_container(each, self._grace_left(now))
                earlier.cancel()
                self._stops[each].when_done(self._changed.set)
        self._changed.set()  # the containers that wait for their turn may have waited long enough

    def advance(self, now: int) -> None:
        """Take the next step if the answers that it needs have arrived; an error is recorded and the step repeated later."""
        self._guarded(self._advance, now)

    def _guarded(self, step: Callable[[int], None], now: int) -> None:
        try:
            step(now)
        except EvictdError as error:
            self._note(error)
            self._back_off(now)

    def _advance(self, now: int) -> None:
        """Take the next step if its time has come; while a stop is unanswered, only one that a grace period's end makes due."""
        if any(not call.done() for call in self._stops.values()):
            if self._waiting and now >= self.state.grace_ends_at:
                self._stop_next(now)
            elif self.phase is TerminationPhase.STOPPING_CONTAINERS and now >= self._overdue_at:
                self._give_up_unanswered()
            return
        if self.phase is TerminationPhase.STOPPING_CONTAINERS:
            # Stopping the sandbox would kill at once what still has grace.
            stopped = self._all_stopped()
            if not stopped and now < self.state.grace_ends_at:
                self._back_off(now)
            elif self._waiting:
                self._stop_next(now)
            else:
                if stopped and self.state.containers_ended_at is None:
                    self.state = replace(self.state, containers_ended_at=now)
                self._stop_sandboxes()
        elif self.phase is TerminationPhase.STOPPING_SANDBOXES:
            self._all_stopped()
            self._list()
        elif self.phase is TerminationPhase.LISTING:
            self._judge(now)
        elif self.phase is TerminationPhase.BACKING_OFF and now >= self._retry_at:
            self._list()

    @property
    def _overdue_at(self) -> int:
        return max(self.state.grace_ends_at, self._asked_at + self._minimum_grace * SECOND) + OVERDUE

    def _give_up_unanswered(self) -> None:
        """Cancel the stops that were not answered; their ends, as errors, come with the next step."""
        for call in self._stops.values():
            call.cancel()

    def _stop_sandboxes(self) -> None:
        self._begin_stops(
            TerminationPhase.STOPPING_SANDBOXES,
            {each: self._calls.begin_stop_sandbox(each) for each in sorted(self._sandboxes)},
        )

    def _begin_stops(self, phase: TerminationPhase, stops: dict[str, Pending[None]]) -> None:
        self.phase, self._stops = phase, stops
        for call in stops.values():
            call.when_done(self._changed.set)
        self._changed.set()  # there may have been nothing to call

    def _all_stopped(self) -> bool:
        """Process the results of finished stops. Return True if all succeeded."""
        stops, self._stops, failed = self._stops, {}, False
        for each, call in stops.items():
            try:
                call.result()
            except RuntimeNotFoundError:
                self._absent.add(each)
            except EvictdError as error:
                self._note(error)
                failed = True
                continue
            self._count_as_stopped(each)
        return not failed

    def _count_as_stopped(self, each: str) -> None:
        left = tuple(other for other in self.state.remaining if other != each)
        stopped = (*(other for other in self.state.stopped if other != each), each)
        self.state = replace(self.state, remaining=left, stopped=stopped)

    def _list(self) -> None:
        self.phase = TerminationPhase.LISTING
        uid = self.state.uid if self._too_large else ""
        self._lists = self._calls.begin_list_sandboxes(uid), self._calls.begin_list_containers(uid)
        for call in self._lists:
            call.when_done(self._changed.set)

    def _judge(self, now: int) -> None:
        """Compare with a fresh listing: the pod is finished, stopped again, or listed again later."""
        if self._lists is None or not all(call.done() for call in self._lists):
            return
        try:
            sandboxes, containers = self._lists[0].result(), self._lists[1].result()
        except RuntimeResponseTooLargeError:
            if self._too_large:
                raise
            self._too_large = True  # the pods' annotations together exceed the limit of one response
            self._list()
            return
        self._look_for_living(sandboxes, containers)
        if not self._containers and not self._sandboxes:
            self.phase = TerminationPhase.FINISHED
            self.state = replace(self.state, remaining=(), finished_at=now)
        elif now >= self._retry_at:
            self._stop(now)
        else:
            self.phase = TerminationPhase.BACKING_OFF

    def contradict(self, now: int) -> None:
        """Continue with a pod that the runtime no longer lists while its cgroup has processes; the next attempt lists again.

        A runtime that was restarted, or has lost its records, lists nothing at first and what runs a moment later.
        """
        self._note(EvictdError("the runtime lists nothing of it, but its cgroup has processes"))
        self.state = replace(self.state, finished_at=None, attempts=self.state.attempts + 1)
        self._back_off(now)

    def _look_for_living(self, sandboxes: tuple[CriSandbox, ...], containers: tuple[CriContainer, ...]) -> None:
        """Find the pod's running containers. A listed one that answers NotFound can never be stopped, so it counts as gone."""
        uid = self.state.uid
        self._own_sandboxes |= {sandbox.id for sandbox in sandboxes if sandbox.uid == uid}
        known = {*self.state.stopped, *self.state.remaining}
        running = {
            container.id
            for container in containers
            if container.state.may_run and (container.sandbox_id in self._own_sandboxes or container.id in known)
        }
        ready = {
            sandbox.id
            for sandbox in sandboxes
            if sandbox.state is SandboxState.READY and sandbox.id in self._own_sandboxes
        }
        for ghost in sorted((running | ready) & self._absent):
            self._note(
                RuntimeNotFoundError(f"{ghost}: listed as running, but the runtime says that it has no such thing")
            )
        self._containers = frozenset(running - self._absent)
        self._sandboxes = frozenset(ready - self._absent)
        remaining = self._containers | self._sandboxes
        stopped = tuple(each for each in self.state.stopped if each not in remaining)
        gone = tuple(each for each in self.state.remaining if each not in remaining)
        self.state = replace(self.state, remaining=tuple(sorted(remaining)), stopped=stopped + gone)

    def _grace_left(self, now: int) -> int:
        return max(-(-(self.state.grace_ends_at - now) // SECOND), self._minimum_grace)

    def _back_off(self, now: int) -> None:
        if now >= self._retry_at:
            self._retry_at, self._delay = now + self._delay, min(2 * self._delay, LAST_DELAY)
        self.phase, self._stops, self._waiting = TerminationPhase.BACKING_OFF, {}, frozenset()

    def _note(self, error: EvictdError) -> None:
        self.state = replace(self.state, errors=(*self.state.errors, str(error))[-MAX_ERRORS:])
