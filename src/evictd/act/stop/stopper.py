"""Stops pods through the runtime without making the loop wait.

One thread, started before any pressure, advances every termination (`act.stop.termination`) as the runtime's answers come in. The
loop, and in a cluster the thread that talks to the API server, begin a termination and ask later for its progress. The
ids to stop are those that the runtime listed last. The kubelet's pod workers, as far as they kill; only the kubelet runs preStop
hooks.
"""

import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from types import TracebackType
from typing import NamedTuple, Self

from evictd.act.stop.termination import RunningIds, RuntimeTermination, StopCalls, Termination
from evictd.act.stop.victim_cgroups import FAR_FUTURE, VictimCgroups
from evictd.core.eviction.time_left import LONGEST_STOP_TIME, THAWED_TIME
from evictd.core.model.pod import Pod
from evictd.core.units.duration import SECOND
from evictd.observe.runtime.runtime_view import PodIds, RuntimeView, running_ids, sidecar_ids
from evictd.worker import STDERR, ErrorBackoff, ErrorReporter, start_thread

MOST_BEGUN = 1000
"""Stops whose begin is remembered after their record was dropped; `ClusterEvictor` asks for it for some minutes."""
KEPT = 8
"""The number of stops that are remembered: a slow one counts until as many others were faster."""


class _ThawOf(NamedTuple):
    """The thaw of one pod, as a piece of work with a back-off of its own."""

    uid: str


class StopTimes:
    """Durations of the last stops beyond their grace, until the pod has no process and its memory is free.

    The end is seen by the runtime's answer or by the pod's cgroup, whichever is first. The core uses the longest
    (`core.eviction.time_left`). One that took longer than `LONGEST_STOP_TIME` hung, and counts only until the next one ends.
    Added to by one thread, read by any.
    """

    def __init__(self) -> None:
        self._times: tuple[tuple[tuple[str, int], int], ...] = ()

    def add(self, termination: Termination, at: int) -> None:
        """Note that nothing of this pod runs at the time `at`; only the first time counts.

        A pod that ended within its grace does not say how long a kill takes, and is left out.
        """
        key = termination.uid, termination.started_at
        if at >= termination.grace_ends_at and all(key != known for known, _ in self._times):
            self._times = (*self._times, (key, at - termination.grace_ends_at))[-KEPT:]

    def longest(self) -> int | None:
        """Return the nanoseconds of the longest; `None` before the first."""
        times = [time for _, time in self._times]
        return max((*(time for time in times if time <= LONGEST_STOP_TIME), *times[-1:]), default=None)


class PodStopper:
    """Stops pods over CRI; its methods return at once and may be called from any thread.

    `clock` returns boot-time nanoseconds; `wake` is called when a pod is finished. `minimum_grace_seconds` is the least that a
    container is given between SIGTERM and SIGKILL: 1 here, 2 at the kubelet, which policy `Kubelet` asks for. `cgroups` kills
    what is left at the end of the grace; without it only the runtime does. `stop_times` has how long that took. `close()`
    abandons what is under way; begun anew after a restart, it is only looked at again.
    """

    def __init__(
        self,
        calls: StopCalls,
        *,
        clock: Callable[[], int],
        minimum_grace_seconds: int = 1,
        cgroups: VictimCgroups | None = None,
        wake: Callable[[], None] = lambda: None,
        errors: ErrorReporter = STDERR,
    ) -> None:
        self._guard = ErrorBackoff("terminate", errors)
        self._calls = calls
        self._clock = clock
        self._minimum_grace = minimum_grace_seconds
        self._cgroups = cgroups or VictimCgroups(lambda _: (), errors)
        self._frozen: set[str] = set()
        """Uids of the pods that are frozen."""
        self.stop_times = StopTimes()
        self._wake = wake
        self._view: RuntimeView | None = None
        """Replaced as a whole, so that each call sees one listing."""
        self._terminations: dict[str, RuntimeTermination] = {}
        self._begun: dict[str, None] = {}
        """Uids of the last pods whose termination was started, also if its record was dropped."""
        self._forgotten: set[str] = set()
        self._lock = threading.Lock()
        self._changed = threading.Event()
        self._closed = False
        self._thread = threading.Thread(target=self._work, name="terminate", daemon=True)

    def start(self) -> None:
        """Start the thread that does the work."""
        start_thread(self._thread)

    def close(self) -> None:
        """End the thread and thaw what is frozen; the runtime may still finish the calls that it has started."""
        self._closed = True
        self._changed.set()
        if self._thread.is_alive():
            self._thread.join()
        self._thaw(lambda _: True)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # --- stopping ---------------------------------------------------------------------------------------------------

    def update(self, view: RuntimeView | None) -> None:
        """Replace the listing; `None`, where the runtime did not answer, leaves the last one."""
        if view is not None:
            self._view = view

    def stop(self, pod: Pod, grace_seconds: int, *, freeze: bool = False) -> None:
        """Begin to stop all containers and sandboxes of a pod, sidecars last.

        A second call can only shorten the grace, but stops a pod again that had stopped. With `freeze` its containers are
        frozen first, until shortly before the end of the grace.
        """
        view = self._view
        self._stop(pod, view, running_ids(view, pod.uid), grace_seconds, freeze=freeze)

    def resume(self, pod: Pod, grace_seconds: int) -> None:
        """Continue to stop a victim of the previous run; of `pod` only the uid has to be known.

        Its sandboxes are left to the listing that follows the containers: stopping a sandbox kills at once, and a container
        that was started since the view has its grace as well.
        """
        view = self._view
        ids = PodIds(containers=running_ids(view, pod.uid).containers)
        self._stop(pod, view, ids, grace_seconds, freeze=False)

    def _stop(self, pod: Pod, view: RuntimeView | None, ids: PodIds, grace_seconds: int, *, freeze: bool) -> None:
        sidecars = () if view is None else sidecar_ids(view, pod)
        if view is not None:
            self._cgroups.watch(pod.uid, view.pod_cgroups.get(pod.uid, ""), ids.containers)
        self.begin(
            pod.uid,
            containers=ids.containers,
            sandboxes=ids.sandboxes,
            grace_seconds=grace_seconds,
            sidecars=sidecars,
            freeze=freeze,
        )

    def begin(
        self,
        uid: str,
        *,
        containers: Iterable[str],
        sandboxes: Iterable[str],
        grace_seconds: int,
        sidecars: Sequence[str] = (),
        freeze: bool = False,
    ) -> Termination:
        """Begin to stop a pod, given the ids of its running containers and its sandboxes; returns at once.

        `sidecars` are those of its containers that stop after all others, one after another in this order.

        For a pod that is being stopped this can only shorten the grace. One that is finished is begun anew; what is not there
        any more counts as stopped. So a termination may be begun again, also after a restart.
        """
        now = self._clock()
        ends_at = now + max(grace_seconds, self._minimum_grace) * SECOND
        with self._lock:
            self._note_begun(uid)
            self._forgotten.discard(uid)
            victim = self._terminations.get(uid)
            if victim is None or victim.state.finished:
                state = Termination(uid=uid, started_at=now, grace_ends_at=ends_at)
                victim = self._terminations[uid] = RuntimeTermination(
                    self._calls,
                    state,
                    RunningIds(frozenset(containers), frozenset(sandboxes), tuple(sidecars)),
                    minimum_grace_seconds=self._minimum_grace,
                    changed=self._changed,
                )
                try:
                    self._freeze(uid, wanted=freeze)
                    self._kill_at_once(state, now)
                finally:  # an unforeseen exception must not leave a pod that is never asked to stop
                    victim.start(now)
            elif ends_at < victim.state.grace_ends_at:
                try:
                    self._freeze(uid, wanted=freeze)
                    self._kill_at_once(replace(victim.state, grace_ends_at=ends_at), now)
                finally:
                    victim.shorten(now, ends_at)
            return victim.state

    def _note_begun(self, uid: str) -> None:
        self._begun[uid] = None
        if len(self._begun) > MOST_BEGUN:  # without an API server none is ever forgotten
            del self._begun[next(iter(self._begun))]

    def _kill_at_once(self, state: Termination, now: int) -> None:
        """Kill a pod without grace before the runtime is asked, and without waiting for the thread to have its turn."""
        if state.grace_ends_at <= now:
            self._cgroups.kill_overdue([state], now)

    # --- progress ---------------------------------------------------------------------------------------------------

    def progress(self, uid: str) -> Termination | None:
        """Return the record of a pod's termination; `None` if it was never started, or was dropped."""
        with self._lock:
            victim = self._terminations.get(uid)
            return victim.state if victim else None

    def in_flight(self) -> tuple[Termination, ...]:
        """Return the terminations that have not finished, in the order of their beginning."""
        with self._lock:
            return tuple(victim.state for victim in self._terminations.values() if not victim.state.finished)

    def stopped(self, uid: str) -> bool:
        """Whether a pod whose termination was started here has no running process left.

        The record of a pod that the loop no longer waits for is dropped only when its termination has ended.
        """
        progress = self.progress(uid)
        return uid in self._begun if progress is None else progress.finished

    def has_no_tasks(self, uid: str) -> bool:
        """Whether the cgroups of a pod that is being stopped have no process, whatever the runtime lists."""
        return self._cgroups.none_left(uid, running_ids(self._view, uid).containers)

    def forget(self, uid: str) -> None:
        """Forget a pod altogether."""
        with self._lock:
            self._begun.pop(uid, None)
        self.drop(uid)

    def drop(self, uid: str) -> None:
        """Drop the record of a pod, of one under way as soon as it is finished; `stopped` still knows the pod."""
        with self._lock:
            if uid in self._terminations:
                self._forgotten.add(uid)
            self._drop_forgotten()

    def _drop_forgotten(self) -> None:
        for uid in [each for each in self._forgotten if self._terminations[each].state.finished]:
            self._forgotten.discard(uid)
            del self._terminations[uid]
            self._cgroups.forget(uid)

    # --- the thread -------------------------------------------------------------------------------------------------

    def _work(self) -> None:
        while not self._closed:
            self._changed.wait(self._seconds_to_next_step())
            self._changed.clear()
            finished = self._guard.run("step", self._advance, self._clock(), otherwise=False)
            self._thaw_due()
            if self._guard.run("kill", self._kill_overdue, self._clock(), otherwise=False) or finished:
                self._wake()

    def _freeze(self, uid: str, *, wanted: bool) -> None:
        """Freeze a pod; its termination is recorded before, so that it is thawed whatever happens next."""
        if wanted:
            self._frozen.add(uid)
            self._cgroups.freezer.freeze(uid)
            self._changed.set()

    def _thaw_due(self) -> None:
        now = self._clock()
        self._thaw(lambda uid: self._thaw_at(uid) <= now)

    def _thaw(self, is_due: Callable[[str], bool]) -> None:
        with self._lock:
            for uid in [each for each in self._frozen if is_due(each)]:
                self._guard.run(_ThawOf(uid), partial(self._thaw_one, uid), self._clock(), otherwise=None)

    def _thaw_one(self, uid: str) -> None:
        self._cgroups.freezer.thaw(uid)  # an error leaves it to the next attempt
        self._frozen.discard(uid)

    def _thaw_at(self, uid: str) -> int:
        """Return when a frozen pod is thawed, to handle the pending SIGTERM; at once if nothing stops it any more."""
        victim = self._terminations.get(uid)
        return 0 if victim is None or victim.state.finished else victim.state.grace_ends_at - THAWED_TIME

    def _kill_overdue(self) -> bool:
        """Kill the pods whose grace is over; whether the volumes of one can be emptied now. Not under the lock."""
        emptied = self._cgroups.kill_overdue(self.in_flight(), self._clock())
        for each in emptied:
            self.stop_times.add(each, self._clock())
        self._note_unkillable()
        return bool(emptied)

    def _note_unkillable(self) -> None:
        found = self._cgroups.unkillable()
        with self._lock:
            for uid, victim in self._terminations.items():
                if victim.state.unkillable != found.get(uid, ()):
                    victim.state = replace(victim.state, unkillable=found.get(uid, ()))

    def _advance(self) -> bool:
        """Advance every victim; whether one was finished by that."""
        now = self._clock()
        with self._lock:
            under_way = [victim for victim in self._terminations.values() if not victim.state.finished]
            for victim in under_way:
                if not self._guard.rests(victim, now):
                    self._guard.run(victim, partial(self._advance_one, victim, now), now, otherwise=None)
                if victim.state.containers_ended_at is not None:
                    self.stop_times.add(victim.state, victim.state.containers_ended_at)
            self._drop_forgotten()
            return any(victim.state.finished for victim in under_way)

    def _advance_one(self, victim: RuntimeTermination, now: int) -> None:
        victim.advance(now)
        if victim.state.finished and self._cgroups.has_processes(victim.state.uid):
            victim.contradict(now)

    def _seconds_to_next_step(self) -> float | None:
        now = self._clock()
        with self._lock:
            due = [
                each.due_at - now
                for each in self._terminations.values()
                if each.due_at and not self._guard.rests(each, now)
            ]
            due += [self._thaw_at(uid) - now for uid in self._frozen if not self._guard.rests(_ThawOf(uid), now)]
            if not self._guard.rests("kill", now):
                states = [each.state for each in self._terminations.values() if not each.state.finished]
                due += [at - now for at in map(self._cgroups.due_at, states) if at < FAR_FUTURE]
        rest = self._guard.wait(now)
        earliest = min([*due, *([] if rest is None else [rest])], default=None)
        return None if earliest is None else max(0, earliest) / SECOND
