"""Waits between two cycles: until the next one is due, memory is crossed, a thread calls, or a signal arrives.

A change of the pods brings the next cycle forward to `PODS_INTERVAL` after the last one, however many changes there are: a cycle
makes the runtime list everything, and no decision depends on a pod that has just started. While a victim is awaited, its end
begins a cycle at once.
"""

import select
import signal
from collections.abc import Collection

from evictd.clock import boot_clock
from evictd.core.frozen import frozen
from evictd.core.model.config import EvictionConfig
from evictd.core.model.finding import Finding
from evictd.core.model.observation import Observation
from evictd.core.units.duration import SECOND
from evictd.daemon.host.liveness import Liveness
from evictd.daemon.host.signals import WakeUp
from evictd.observe.threshold_watch.memory_watch import Woken
from evictd.observe.threshold_watch.watch import ThresholdWatch
from evictd.worker import ErrorReporter, describe

STOP = frozenset({signal.SIGTERM, signal.SIGINT})
RELOAD = signal.SIGHUP
SIGNALS = (*STOP, RELOAD)

PLAIN_WAIT_SECONDS = 1.0
"""Duration of a wait that is ended by signals alone: short, because it does not notice a crossing."""

PODS_INTERVAL = 1 * SECOND
"""Nanoseconds; the least time between two cycles that only changes of pods ask for."""


@frozen
class WaitResult:
    """Why a wait ended, and the signals that arrived in it."""

    cause: Woken = Woken.TIME
    signals: frozenset[int] = frozenset()
    crossed_at: int | None = None
    """Boot-time clock of the reading that showed the crossing and ended the wait."""

    @property
    def stop(self) -> bool:
        """Whether the daemon is to end."""
        return bool(self.signals & STOP)

    @property
    def reload(self) -> bool:
        """Whether the configuration is to be read again."""
        return RELOAD in self.signals


class Waiter:
    """Waits, and gives signs of life meanwhile."""

    def __init__(self, watch: ThresholdWatch, wake: WakeUp, liveness: Liveness, errors: ErrorReporter) -> None:
        self.liveness = liveness
        self._watch = watch
        self._wake = wake
        self._errors = errors

    def set_thresholds(self, observation: Observation, findings: Collection[Finding], config: EvictionConfig) -> None:
        """Watch for the limits of memory and disks that this cycle found not crossed."""
        self._watch.set_thresholds(observation, findings, config)

    def wait(self, until: int, *, awaits_victim: bool = False) -> WaitResult:
        """Wait until a time on the boot-time clock at most; where that raises, a plain wait for signals takes its place."""
        try:
            return self._wait(until, 0 if awaits_victim else PODS_INTERVAL)
        except Exception as error:  # whatever it is: a daemon that ends evicts nothing
            self._errors.report_error("wait", describe(error))
            select.select([self._wake.fd], [], [], PLAIN_WAIT_SECONDS)
            return WaitResult(signals=self._wake.take().signals)

    def _wait(self, until: int, pods_interval: int) -> WaitResult:
        pods_due, ended = boot_clock() + pods_interval, Woken.TIME
        while True:
            self.liveness.sign_of_life()
            cause = self._watch.memory.wait(self.liveness.deadline(until), wake_fd=self._wake.fd)
            if cause is Woken.ASKED:
                arrived, ended = self._wake.take(), cause
                if arrived.urgent:
                    return WaitResult(cause=cause, signals=arrived.signals)
                until = min(until, pods_due)
            if cause is Woken.MEMORY:
                return WaitResult(cause=cause, crossed_at=self._watch.memory.crossed_at)
            if cause is Woken.DISK:
                return WaitResult(cause=cause)
            if boot_clock() >= until:
                return WaitResult(cause=ended)
