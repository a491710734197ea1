"""How one pod goes, step by step: which calls are made, and what the answers to them mean.

    STOPPING_CONTAINERS -> STOPPING_SANDBOXES -> LISTING -> FINISHED
    a stop failed within the grace, or the listing did   -> BACKING_OFF -> LISTING
    the listing shows something alive                    -> STOPPING_CONTAINERS

A pod is finished only when a listing made afterwards shows no container of it that may run and no sandbox that is
ready. No step waits: `advance` goes as far as the answers that are there allow. The kubelet's
`killContainersWithSyncResult`.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from enum import Enum
from typing import Protocol

from evictd.clients.cri import Pending
from evictd.clients.cri.values import Container, Sandbox, SandboxState
from evictd.core.duration import MILLISECOND, SECOND
from evictd.errors import EvictdError, RuntimeNotFoundError

FIRST_DELAY = 200 * MILLISECOND
LAST_DELAY = 10 * SECOND
"""The least time from one attempt to the next doubles from the first to the last; the last is the kubelet's back-off."""
OVERDUE = 5 * SECOND
"""How long after the grace a stop may stay unanswered. On a disk with no byte left containerd kills the container, cannot write
that down, and never answers; it does let the sandbox be stopped."""
MAX_ERRORS = 20


class StopCalls(Protocol):
    """What of a `CriClient` is needed."""

    def begin_stop_container(self, container_id: str, grace_seconds: int) -> Pending[None]:
        """Begin to stop a container."""

    def begin_stop_sandbox(self, sandbox_id: str) -> Pending[None]:
        """Begin to stop a sandbox."""

    def begin_list_containers(self) -> Pending[tuple[Container, ...]]:
        """Begin to list the containers."""

    def begin_list_sandboxes(self) -> Pending[tuple[Sandbox, ...]]:
        """Begin to list the sandboxes."""


class Phase(Enum):
    """What a victim's next step depends on."""

    STOPPING_CONTAINERS = "StoppingContainers"
    STOPPING_SANDBOXES = "StoppingSandboxes"
    LISTING = "Listing"
    BACKING_OFF = "BackingOff"
    FINISHED = "Finished"


@dataclass(frozen=True, slots=True, kw_only=True)
class Termination:
    """How far the termination of one pod has come; times are `clock` nanoseconds."""

    uid: str
    started_at: int
    grace_ends_at: int
    finished_at: int | None = None
    remaining: tuple[str, ...] = ()
    """Ids of its containers and sandboxes that were not seen stopped."""
    stopped: tuple[str, ...] = ()
    """Ids of its containers and sandboxes that the runtime stopped, or no longer has."""
    attempts: int = 0
    """How often its containers were asked to stop; above 1 something failed, or was started meanwhile."""
    errors: tuple[str, ...] = ()
    """What the runtime refused, the latest twenty; also a finished pod may have some behind it."""

    @property
    def finished(self) -> bool:
        """Whether nothing of the pod runs any more."""
        return self.finished_at is not None


class Victim:
    """One pod on its way out. `stir` is called, from any thread, when `advance` may find something new."""

    def __init__(
        self,
        calls: StopCalls,
        state: Termination,
        *,
        containers: Iterable[str],
        sandboxes: Iterable[str],
        minimum_grace_seconds: int,
        stir: Callable[[], None],
    ) -> None:
        self._calls = calls
        self._minimum_grace = minimum_grace_seconds
        self._stir = stir
        self._containers = frozenset(containers)
        self._sandboxes = frozenset(sandboxes)
        self._own_sandboxes = self._sandboxes
        self._absent: set[str] = set()
        self._stops: dict[str, Pending[None]] = {}
        self._lists: tuple[Pending[tuple[Sandbox, ...]], Pending[tuple[Container, ...]]] | None = None
        self._delay = FIRST_DELAY
        self._asked_at = self._retry_at = state.started_at
        self.phase = Phase.BACKING_OFF
        self.state = replace(state, remaining=tuple(sorted(self._containers | self._sandboxes)))

    @property
    def due_at(self) -> int | None:
        """When there is something to do even if no answer comes."""
        if self.phase is Phase.BACKING_OFF:
            return self._retry_at
        return self._overdue_at if self.phase is Phase.STOPPING_CONTAINERS else None

    def start(self, now: int) -> None:
        """Begin the first attempt."""
        self._guarded(self._stop, now)

    def _stop(self, now: int) -> None:
        """Ask all its containers to stop, side by side, with what is left of the grace."""
        self._asked_at = now
        self._retry_at, self._delay = now + self._delay, min(2 * self._delay, LAST_DELAY)
        self.state = replace(self.state, attempts=self.state.attempts + 1)
        grace = self._grace_left(now)
        self._begin_stops(
            Phase.STOPPING_CONTAINERS,
            {each: self._calls.begin_stop_container(each, grace) for each in sorted(self._containers)},
        )

    def shorten(self, now: int, grace_ends_at: int) -> None:
        """End the grace earlier: every container not dead yet is asked again, and the earlier request is given up."""
        self.state = replace(self.state, grace_ends_at=grace_ends_at)
        self._guarded(self._ask_again, now)

    def _ask_again(self, now: int) -> None:
        if self.phase is not Phase.STOPPING_CONTAINERS:
            return  # no grace is running; whatever is found alive later gets the shorter one
        for each, earlier in self._stops.items():
            if not earlier.done():
                self._stops[each] = self._calls.begin_stop_container(each, self._grace_left(now))
                earlier.cancel()
                self._stops[each].when_done(self._stir)

    def advance(self, now: int) -> None:
        """Go one step further if the answers that it needs are there; an error is noted and tried again later."""
        self._guarded(self._advance, now)

    def _guarded(self, step: Callable[[int], None], now: int) -> None:
        try:
            step(now)
        except EvictdError as error:
            self._note(error)
            self._back_off(now)

    def _advance(self, now: int) -> None:
        if any(not call.done() for call in self._stops.values()):
            if self.phase is Phase.STOPPING_CONTAINERS and now >= self._overdue_at:
                self._give_up_unanswered()
            return
        if self.phase is Phase.STOPPING_CONTAINERS:
            # Stopping the sandbox would kill at once what still has grace.
            if self._all_stopped() or now >= self.state.grace_ends_at:
                self._stop_sandboxes()
            else:
                self._back_off(now)
        elif self.phase is Phase.STOPPING_SANDBOXES:
            self._all_stopped()
            self._list()
        elif self.phase is Phase.LISTING:
            self._judge(now)
        elif self.phase is Phase.BACKING_OFF and now >= self._retry_at:
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
            Phase.STOPPING_SANDBOXES, {each: self._calls.begin_stop_sandbox(each) for each in sorted(self._sandboxes)}
        )

    def _begin_stops(self, phase: Phase, stops: dict[str, Pending[None]]) -> None:
        self.phase, self._stops = phase, stops
        for call in stops.values():
            call.when_done(self._stir)
        self._stir()  # there may have been nothing to call

    def _all_stopped(self) -> bool:
        """Take note of how the stops ended, and forget them; whether all did what they should."""
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
        self.phase = Phase.LISTING
        self._lists = self._calls.begin_list_sandboxes(), self._calls.begin_list_containers()
        for call in self._lists:
            call.when_done(self._stir)

    def _judge(self, now: int) -> None:
        """Compare with a fresh listing: finished, stopped again, or looked at again later."""
        if self._lists is None or not all(call.done() for call in self._lists):
            return
        sandboxes, containers = self._lists[0].result(), self._lists[1].result()
        self._look_for_living(sandboxes, containers)
        if not self._containers and not self._sandboxes:
            self.phase = Phase.FINISHED
            self.state = replace(self.state, remaining=(), finished_at=now)
        elif now >= self._retry_at:
            self._stop(now)
        else:
            self.phase = Phase.BACKING_OFF

    def _look_for_living(self, sandboxes: tuple[Sandbox, ...], containers: tuple[Container, ...]) -> None:
        """Find what of the pod runs; a runtime that lists what it denies to have will never stop it, so it counts as gone."""
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
        self.phase, self._stops = Phase.BACKING_OFF, {}

    def _note(self, error: EvictdError) -> None:
        self.state = replace(self.state, errors=(*self.state.errors, str(error))[-MAX_ERRORS:])
