"""How pods are stopped without anybody waiting for it.

One thread, started before any pressure, advances every victim (`act.victim`) as the runtime's answers come in; the
loop begins a termination, goes on, and asks later how far it has come. The kubelet's pod workers, as far as they kill
(spec section 8); preStop hooks are the kubelet's alone to run.
"""

import threading
from collections.abc import Callable, Iterable
from functools import partial
from types import TracebackType
from typing import Self

from evictd.act.victim import StopCalls, Termination, Victim
from evictd.core.duration import SECOND
from evictd.guard import Complain, Guard, to_stderr

__all__ = ["StopCalls", "Termination", "Terminator"]


class Terminator:
    """Stops pods over CRI. `clock` gives boot-time nanoseconds; `wake` is called when a pod is finished.

    `minimum_grace_seconds` is the least that a container is given between SIGTERM and SIGKILL: 1 here, 2 at the kubelet, which
    policy `Kubelet` asks for. `close()` abandons what is under way; begun anew after a restart, it is only looked at again.
    """

    def __init__(
        self,
        calls: StopCalls,
        *,
        clock: Callable[[], int],
        minimum_grace_seconds: int = 1,
        wake: Callable[[], None] = lambda: None,
        complain: Complain = to_stderr,
    ) -> None:
        self._guard = Guard("terminate", complain)
        self._calls = calls
        self._clock = clock
        self._minimum_grace = minimum_grace_seconds
        self._wake = wake
        self._victims: dict[str, Victim] = {}
        self._unwanted: set[str] = set()
        self._lock = threading.Lock()
        self._stir = threading.Event()
        self._closed = False
        self._thread = threading.Thread(target=self._work, name="terminate", daemon=True)

    def start(self) -> None:
        """Start the thread that does the work."""
        self._thread.start()

    def close(self) -> None:
        """End the thread; what the runtime has begun it may still finish."""
        self._closed = True
        self._stir.set()
        if self._thread.is_alive():
            self._thread.join()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def begin(
        self, uid: str, *, containers: Iterable[str], sandboxes: Iterable[str], grace_seconds: int
    ) -> Termination:
        """Begin to stop a pod, given the ids of its running containers and its sandboxes; returns at once.

        For a pod on its way already this only ever shortens the grace. One that is finished is gone through once more; what
        is not there any more counts as stopped. So the same may be begun again, also after a restart.
        """
        now = self._clock()
        ends_at = now + max(grace_seconds, self._minimum_grace) * SECOND
        with self._lock:
            self._unwanted.discard(uid)
            victim = self._victims.get(uid)
            if victim is None or victim.state.finished:
                victim = self._victim(
                    Termination(uid=uid, started_at=now, grace_ends_at=ends_at), containers, sandboxes
                )
                self._victims[uid] = victim
                victim.start(now)
            elif ends_at < victim.state.grace_ends_at:
                victim.shorten(now, ends_at)
            return victim.state

    def progress(self, uid: str) -> Termination | None:
        """How far this pod has come; `None` for one that was never begun, or is forgotten."""
        with self._lock:
            victim = self._victims.get(uid)
            return victim.state if victim else None

    def in_flight(self) -> tuple[Termination, ...]:
        """Every pod that is not finished, in the order of their beginning."""
        with self._lock:
            return tuple(victim.state for victim in self._victims.values() if not victim.state.finished)

    def forget(self, uid: str) -> None:
        """Drop the record of a pod; of one under way as soon as it is finished."""
        with self._lock:
            if uid in self._victims:
                self._unwanted.add(uid)
            self._drop_unwanted()

    def _drop_unwanted(self) -> None:
        for uid in [each for each in self._unwanted if self._victims[each].state.finished]:
            self._unwanted.discard(uid)
            del self._victims[uid]

    def _victim(self, state: Termination, containers: Iterable[str], sandboxes: Iterable[str]) -> Victim:
        return Victim(
            self._calls,
            state,
            containers=containers,
            sandboxes=sandboxes,
            minimum_grace_seconds=self._minimum_grace,
            stir=self._stir.set,
        )

    def _work(self) -> None:
        while not self._closed:
            self._stir.wait(self._seconds_to_next_step())
            self._stir.clear()
            if self._guard.run("step", self._advance, self._clock(), otherwise=False):
                self._wake()

    def _advance(self) -> bool:
        """Advance every victim; whether one was finished by that."""
        now = self._clock()
        with self._lock:
            under_way = [victim for victim in self._victims.values() if not victim.state.finished]
            for victim in under_way:
                if not self._guard.rests(victim, now):
                    self._guard.run(victim, partial(victim.advance, now), now, otherwise=None)
            self._drop_unwanted()
            return any(victim.state.finished for victim in under_way)

    def _seconds_to_next_step(self) -> float | None:
        now = self._clock()
        with self._lock:
            due = [
                each.due_at - now for each in self._victims.values() if each.due_at and not self._guard.rests(each, now)
            ]
        rest = self._guard.wait(now)
        earliest = min([*due, *([] if rest is None else [rest])], default=None)
        return None if earliest is None else max(0, earliest) / SECOND
