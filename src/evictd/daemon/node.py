"""Joins what observes the node with what changes it, for the loop.

A reload may begin or end a dry run between two cycles.
"""

from collections.abc import Collection
from typing import Protocol

from evictd.act.gc.collector import Collector
from evictd.act.node_actuation import ActuatorLog
from evictd.config.settings import Settings
from evictd.core.model.finding import Finding
from evictd.core.model.observation import Problem
from evictd.core.model.state import State
from evictd.daemon.effects import Effects, effects_of
from evictd.daemon.oom_scores import OomScores
from evictd.observe.cgroups.kernel_kills import KernelKill
from evictd.observe.reading.observer import ObserveRequest
from evictd.observe.reading.reading import Reading


class Observer(Protocol):
    """Reads the node."""

    def observe(self, request: ObserveRequest) -> Reading:
        """Take one reading."""
        ...

    def measure(self, findings: Collection[Finding], state: State) -> None:
        """Begin the measurements that the next cycle may wait for, after a crossing of a disk."""
        ...

    def kernel_kills(self, reading: Reading) -> tuple[KernelKill, ...]:
        """Return what the kernel killed for want of memory of the node since the last call."""
        ...


class Node:
    """One node. `live` changes it, `log` is what a dry run writes to."""

    def __init__(
        self, observer: Observer, live: Effects, *, log: ActuatorLog, collector: Collector, oom_scores: OomScores
    ) -> None:
        self.observer = observer
        self.effects = live
        self._live = live
        self._log = log
        self._collector = collector
        self._oom_scores = oom_scores
        self._heartbeat_period = 0
        self._heartbeat_due = 0

    def configure(self, settings: Settings) -> None:
        """Apply settings; called before the first cycle and after each reload."""
        self.effects = effects_of(self._live, self.effects, self._log, dry_run=settings.evictd.dry_run)
        self._collector.reconfigure(settings.eviction)
        self._heartbeat_period = settings.kubelet.node_status_update_frequency

    def problems(self) -> tuple[Problem, ...]:
        """Return a problem for each decision that could not be carried out so far."""
        return (*self.effects.actuator.problems(), *self._oom_scores.problems())

    def set_oom_scores(self, reading: Reading) -> None:
        """Set the OOM scores that differ from what is documented, if a comparison is due."""
        self._oom_scores.compare(reading, self.effects.oom_scores)

    def heartbeat(self, reading: Reading) -> None:
        """Renew the reported conditions if that is due (kubelet `nodeStatusUpdateFrequency`)."""
        if reading.now >= self._heartbeat_due:
            self._heartbeat_due = reading.now + self._heartbeat_period
            self.effects.actuator.heartbeat(reading)
