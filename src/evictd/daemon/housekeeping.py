"""The loop: observe, decide, journal, perform, wait.

The only place that reads clocks, once a cycle, and hands them on. Nothing in it blocks on a victim, a collector, a
disk or a client: what it sets going is followed by the next cycles. Kubelet `managerImpl.Start` and the loop around
`synchronize`.
"""

import signal
import time
from collections.abc import Callable
from dataclasses import dataclass

from evictd import __version__
from evictd.act.perform import Failure, Performer
from evictd.core.config import EvictionConfig
from evictd.core.decision import Finding, Wait
from evictd.core.duration import MILLISECOND
from evictd.core.state import State, Step
from evictd.core.synchronize import synchronize
from evictd.daemon.hands import NodeHands
from evictd.daemon.look import Look
from evictd.daemon.notify import Notifier
from evictd.daemon.oom_scores import OomScores
from evictd.daemon.record import Cycle, Recorder
from evictd.daemon.sight import Sight
from evictd.daemon.snapshot import Board, Snapshot
from evictd.daemon.teller import Teller
from evictd.daemon.wakeup import WakeUp
from evictd.daemon.watching import Lookout
from evictd.errors import EvictdError
from evictd.observe.memory_watch import Woken

STOP = frozenset({signal.SIGTERM, signal.SIGINT})
RELOAD = signal.SIGHUP
HELD_INTERVAL = 100 * MILLISECOND
"""How soon to look again while a decision waits for a measurement."""

SIGNS_OF_LIFE = 4
"""How many signs of life fall into the manager's watchdog time."""

SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def boot_clock() -> int:
    """Nanoseconds since the machine started, its sleep included; no setting of the wall clock moves it."""
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


def wall_clock() -> int:
    """Nanoseconds since the epoch; for people, logs and the runtime's time stamps only."""
    return time.time_ns()


def monotonic_clock() -> int:
    """The clock that systemd wants to hear of when it asked for a reload, in nanoseconds."""
    return time.monotonic_ns()


@dataclass(slots=True, kw_only=True)
class Parts:
    """Everything that the loop holds together."""

    look: Callable[[Look], Sight]
    hands: NodeHands
    oom_scores: OomScores
    performer: Performer
    recorder: Recorder
    watching: Lookout
    wake: WakeUp
    notifier: Notifier
    board: Board
    teller: Teller
    reload: Callable[[], EvictionConfig | None]
    """Reads the configuration anew; `None` where nothing is to change."""
    heartbeat_period: int


class Housekeeping:
    """The loop over its parts, from a state on."""

    def __init__(self, parts: Parts, config: EvictionConfig, state: State) -> None:
        self.state = state
        self.config = config
        self.stopping = False
        self._parts = parts
        self._findings: tuple[Finding, ...] = ()
        self._resumed = not state.releases
        self._heartbeat_due = 0
        self._sign_of_life_due = 0
        self._trouble = ""
        self._shown = ""

    def run(self) -> None:
        """Go round until SIGTERM or SIGINT; what is under way then is remembered for the next start.

        Ready means that the loop goes round. A runtime that is not there is not waited for: it may need evictd to get there,
        and a start that never ends is killed by the manager. The status line says what is missing.
        """
        until = self._try_cycle(Woken.TIME)
        self._shown = self._status()
        self._parts.notifier.ready(self._shown)
        while (woken := self._pause(until)) is not None:
            until = self._try_cycle(woken)
            self._show_status()
        self._parts.notifier.stopping()
        if not self._parts.performer.dry_run:
            self._parts.recorder.save(self.state, always=True)

    def _try_cycle(self, woken: Woken) -> int:
        """Do one cycle; what its parts could not cope with themselves costs this cycle and not the daemon."""
        try:
            until = self.cycle(woken)
            self._trouble = ""
        except EvictdError as error:
            self._trouble = str(error)
            self._parts.teller.complain("cycle", self._trouble)
            until = boot_clock() + self.config.monitoring_period
        return until

    def cycle(self, woken: Woken) -> int:
        """Do one cycle; gives the boot-clock time of the next."""
        parts = self._parts
        now, wall = boot_clock(), wall_clock()
        before, config = parts.hands.prepare(self.state, self.config, now)
        sight = parts.look(
            Look(
                now=now,
                wall=wall,
                state=before,
                config=config,
                outcomes=parts.performer.outcomes(before),
                findings=self._findings,
                urgent=woken is Woken.MEMORY,
                step=self._give_sign_of_life,
            )
        )
        parts.hands.turn(sight)
        step = synchronize(before, sight.observation, config, now)
        refusals = parts.hands.take_refusals()
        if refusals or parts.performer.news(step):
            cycle = Cycle(now=now, wall=wall, before=before, observation=sight.observation, config=config, step=step)
            parts.recorder.journal(cycle, dry_run=parts.performer.dry_run, refusals=refusals)
            parts.teller.refusals(refusals)
        failures = parts.performer.perform(step)
        acted = boot_clock()
        self.state, self._findings = parts.performer.remembered(step.state), step.findings
        parts.watching.aim(sight.observation, step.findings)
        self._tell(woken=woken, sight=sight, before=before, step=step, failures=failures, acted=acted)
        self._duties(sight)
        return now + (HELD_INTERVAL if sight.held else _wait(step))

    def _tell(
        self, *, woken: Woken, sight: Sight, before: State, step: Step, failures: tuple[Failure, ...], acted: int
    ) -> None:
        parts = self._parts
        crossed_at = parts.watching.watch.crossed_at if woken is Woken.MEMORY else None
        parts.teller.findings(step.findings, sight.observation.problems)
        parts.teller.failures(failures)
        if not parts.performer.dry_run:
            failed = {id(failure.decision) for failure in failures}
            done = [decision for decision in step.decisions if id(decision) not in failed]
            parts.teller.actions(done, since=sight.now if crossed_at is None else crossed_at, acted=acted)
            parts.teller.evicted(parts.hands.take_evicted())
            parts.teller.outcomes(before, step.state, parts.hands)
            parts.teller.stats_age(step.findings, sight.observation, acted)
        parts.board.latest = Snapshot(
            at=sight.now,
            wall=sight.wall,
            config=self.config,
            state=self.state,
            observation=sight.observation,
            findings=step.findings,
            recent=parts.teller.recent(),
            dry_run=parts.performer.dry_run,
            version=__version__,
        )
        parts.teller.cycle(woken.value, boot_clock() - sight.now)

    def _duties(self, sight: Sight) -> None:
        """Do what is due by the clock and not by a decision; of its duties a dry run only talks."""
        parts = self._parts
        parts.oom_scores.attend(sight, dry_run=parts.performer.dry_run)
        if parts.performer.dry_run:
            return
        if not self._resumed and sight.view is not None:
            parts.hands.resume(self.state, sight.view, sight.now)
            self._resumed = True
        parts.hands.duties()
        if sight.now >= self._heartbeat_due:
            self._heartbeat_due = sight.now + parts.heartbeat_period
            parts.hands.heartbeat()
        parts.recorder.save(self.state)

    def _pause(self, until: int) -> Woken | None:
        """Wait until the next cycle is due or wanted; `None` when it is time to end."""
        parts = self._parts
        while True:
            deadline = self._feed_watchdog(until)
            woken = parts.watching.watch.wait(deadline, wake_fd=parts.wake.fd)
            if woken is Woken.ASKED:
                arrived = parts.wake.take()
                if arrived & STOP:
                    return None
                if RELOAD in arrived:
                    self._reload()
                return woken
            if woken is Woken.MEMORY or boot_clock() >= until:
                return woken

    def _feed_watchdog(self, until: int) -> int:
        """Give a sign of life if one is due; gives the end of the next wait."""
        self._give_sign_of_life()
        return until if self._parts.notifier.watchdog_interval is None else min(until, self._sign_of_life_due)

    def _give_sign_of_life(self) -> None:
        """Say that the loop goes on: on the board, and to the manager when a part of its time is over.

        Also between the steps of a look: a runtime that takes every deadline makes one look longer than the manager waits,
        and a restart would only begin it again.
        """
        now = self._parts.board.alive_at = boot_clock()
        interval = self._parts.notifier.watchdog_interval
        if interval is not None and now >= self._sign_of_life_due:
            self._sign_of_life_due = now + interval // SIGNS_OF_LIFE
            self._parts.notifier.alive(self._status())

    def _reload(self) -> None:
        self._parts.notifier.reloading(monotonic_clock())
        config = self._parts.reload()
        if config is not None:
            self.config = config
        self._parts.notifier.ready(self._status())

    def _status(self) -> str:
        """Say in one line how things are and what is missing, for `systemctl status`."""
        pressure = ", ".join(condition.value for condition in self.state.node_conditions) or "no pressure"
        seen = self._parts.board.latest
        missing = self._trouble or ("" if seen is None else seen.blind)
        dry_run = "dry run" if self._parts.performer.dry_run else ""
        return "; ".join(filter(None, (self.state.phase.name.value, pressure, dry_run, missing)))

    def _show_status(self) -> None:
        status = self._status()
        if status != self._shown:
            self._shown = status
            self._parts.notifier.status(status)


def _wait(step: Step) -> int:
    return next(decision.nanoseconds for decision in step.decisions if isinstance(decision, Wait))
