"""Runs the loop: observe, synchronize, perform, record, wait (kubelet `managerImpl.Start` and the loop around `synchronize`).

The clocks are read at the begin of a cycle and passed on as values; a reading's time may be later (`observe.reading.observer`).
Nothing in a cycle waits for a victim, a collector, a disk or a client: what it begins is followed by later cycles.

Errors: the observation and the core may raise, which costs this cycle. After the core has decided nothing may keep the decisions
from being performed, so each other part of a cycle is guarded and costs only itself. The state is replaced directly after the
decisions were performed: a later error in the cycle must not make the next one choose the same pod again.
"""

from collections.abc import Callable
from dataclasses import replace

from evictd.act.actuator import Failure, perform
from evictd.act.node_actuation import victims_of
from evictd.clock import boot_clock, wall_clock
from evictd.core.eviction.refusals.backoff import refusals
from evictd.core.eviction.synchronize import synchronize
from evictd.core.model.config import EvictionConfig, Policy
from evictd.core.model.decision import Wait
from evictd.core.model.finding import Finding
from evictd.core.model.state import State
from evictd.daemon.configuration import Configuration
from evictd.daemon.kubelet_evictions import KubeletEvictions
from evictd.daemon.node import Node
from evictd.daemon.store.recorder import Cycle, OthersEnds, Recorder
from evictd.daemon.telemetry.http import StatusServer
from evictd.daemon.telemetry.telemetry import Telemetry
from evictd.daemon.waiter import Waiter, WaitResult
from evictd.observe.cgroups.kernel_kills import KernelKill
from evictd.observe.reading.observer import ObserveRequest
from evictd.observe.reading.reading import Reading
from evictd.observe.threshold_watch.memory_watch import Woken
from evictd.render.attribution import filled_by
from evictd.render.deciding import reasons_of
from evictd.render.past_budget import with_past_budget
from evictd.worker import ErrorBackoff, describe


class Reloader:
    """Reloads the configuration on SIGHUP, and passes what changed to the node and to the status server."""

    def __init__(self, configuration: Configuration, node: Node, server: StatusServer, telemetry: Telemetry) -> None:
        self._configuration = configuration
        self._node = node
        self._server = server
        self._telemetry = telemetry

    @property
    def eviction(self) -> EvictionConfig:
        """The configuration in effect."""
        return self._configuration.settings.eviction

    def reload(self) -> None:
        """Reload; an error in the files is reported and changes nothing."""
        try:
            found = self._configuration.reload()
        except Exception as error:  # whatever it is: a file that cannot be read must not end the daemon
            self._telemetry.reload_failed(describe(error))
            return
        self._telemetry.reloaded(found, self._configuration.settings.warnings)
        self._node.configure(self._configuration.settings)
        self._server.listen()


class Housekeeping:
    """The loop. `state` is what the previous run of the daemon has left."""

    def __init__(
        self, node: Node, recorder: Recorder, telemetry: Telemetry, waiter: Waiter, reloader: Reloader, *, state: State
    ) -> None:
        self.state = state
        self._node = node
        self._recorder = recorder
        self._telemetry = telemetry
        self._waiter = waiter
        self._reloader = reloader
        self._findings: tuple[Finding, ...] = ()
        self._guard = ErrorBackoff("cycle", telemetry)
        self._kubelet = KubeletEvictions()

    def run(self) -> None:
        """Run cycles until SIGTERM or SIGINT; what is under way then is in the state file for the next run."""
        waited = WaitResult()
        while not waited.stop:
            if waited.reload:
                self._reload()
            until = self._try_cycle(waited)
            self._waiter.liveness.show(self._status())
            waited = self._waiter.wait(until, awaits_victim=bool(victims_of(self.state)))
        self._waiter.liveness.stopping()
        self._node.effects.checkpoints.save(self.state, always=True)

    def _try_cycle(self, waited: WaitResult) -> int:
        """Run one cycle; an exception costs this cycle and not the daemon, and the next one is a whole period later."""
        until = self._guard.run("cycle", lambda: self.cycle(waited), boot_clock(), otherwise=None)
        return boot_clock() + self._reloader.eviction.monitoring_period if until is None else until

    def cycle(self, waited: WaitResult) -> int:
        """Run one cycle: observe, synchronize, perform, record; returns the boot-clock time until which to wait."""
        begun = boot_clock()
        reading = self._observe(waited, begun)
        cycle = self._synchronize(reading)
        if cycle.config.policy is Policy.STANDARD:  # the events of policy Kubelet are the kubelet's, word for word
            none: dict[str, str] = {}
            why = self._guard.run("why", lambda: _reasons(cycle, for_tenant=True), boot_clock(), otherwise=none)
            reading = replace(reading, reasons=why)
        performed = perform(cycle.step.decisions, self._node.effects.actuator, reading)
        self.state = cycle.step.state
        self._findings = cycle.step.findings
        # Not before the stops: its thread would compete.
        self._guarded("record", lambda: self._record(cycle, reading, news=performed.news))
        self._follow_up(waited, cycle, reading, performed.failures, begun=begun)
        return begun + next(decision.nanoseconds for decision in cycle.step.decisions if isinstance(decision, Wait))

    def _observe(self, waited: WaitResult, now: int) -> Reading:
        """Read the node, with the outcomes of the decisions so far.

        The outcomes come first: a reading that has a victim gone then has what the victim has let go of. In the other order the
        node would look as short as before, without the victim, and another pod would go.
        """
        request = ObserveRequest(
            now=now,
            wall=wall_clock(),
            state=self.state,
            config=self._reloader.eviction,
            outcomes=self._node.effects.actuator.outcomes(self.state),
            problems=(*self._node.problems(), *self._recorder.problems()),
            findings=self._findings,
            urgent=waited.cause is Woken.MEMORY,
            disk_crossed=waited.cause is Woken.DISK,
            pods_anew=waited.cause is not Woken.TIME,
        )
        return self._node.observer.observe(request)

    def _synchronize(self, reading: Reading) -> Cycle:
        """Decide; returns the core's arguments with its step."""
        before, config, observation = self.state, self._reloader.eviction, reading.observation
        step = synchronize(before, observation, config, reading.now)
        return Cycle(
            now=reading.now, wall=reading.wall, before=before, observation=observation, config=config, step=step
        )

    def _record(self, cycle: Cycle, reading: Reading, *, news: bool) -> None:
        """Journal a cycle that decided anything, in which a victim is gone, or before which an eviction was refused.

        One before which the kubelet evicted a pod, or the kernel killed a process, or in which evictd becomes blind, as well.
        """
        refused, observer = refusals(cycle.before, cycle.observation), self._node.observer
        none: tuple[KernelKill, ...] = ()
        killed = self._guard.run("kernel kills", lambda: observer.kernel_kills(reading), boot_clock(), otherwise=none)
        others = OthersEnds(by_kubelet=self._kubelet.fresh(reading), by_kernel=killed)
        outcome = self._recorder.has_outcome(cycle)
        if refused or others or outcome or (news and not self._recorder.repeats(cycle)):
            trend = self._telemetry.readings(cycle)
            self._recorder.journal(cycle, refusals=refused, others=others, trend=trend)
            self._telemetry.refusals(refused)
            self._telemetry.evicted_by_kubelet(others.by_kubelet)
            self._telemetry.killed_by_kernel(others.by_kernel, cycle.wall)

    def _follow_up(
        self, waited: WaitResult, cycle: Cycle, reading: Reading, failures: tuple[Failure, ...], *, begun: int
    ) -> None:
        """Do what follows the decisions, each part guarded: thresholds to watch, telemetry, duties, checkpoint."""
        acted, node, effects, telemetry = boot_clock(), self._node, self._node.effects, self._telemetry
        actuator = effects.actuator
        self._guarded("walks", lambda: node.observer.measure(cycle.step.findings, cycle.step.state))
        self._guarded(
            "watch", lambda: self._waiter.set_thresholds(cycle.observation, cycle.step.findings, cycle.config)
        )
        since = begun if waited.crossed_at is None else waited.crossed_at
        self._guarded("log", lambda: self._report(cycle, failures, since=since, acted=acted))
        self._guarded("snapshot", lambda: self._publish(waited, cycle, begun))
        self._guarded("oom scores", lambda: node.set_oom_scores(reading))
        self._guarded("advance", lambda: telemetry.progress(actuator.advance(self.state, reading)))
        if (hooks := effects.hooks) is not None:
            self._guarded("hooks", lambda: hooks(cycle))
        self._guarded("duties", lambda: actuator.perform_duties(reading))
        self._guarded("heartbeat", lambda: node.heartbeat(reading))
        self._guarded("state", lambda: effects.checkpoints.save(self.state))

    def _guarded(self, part: str, work: Callable[[], None]) -> None:
        """Run a part of the cycle that decides nothing; an exception is reported once while it repeats."""
        self._guard.run(part, work, boot_clock(), otherwise=None)

    def _report(self, cycle: Cycle, failures: tuple[Failure, ...], *, since: int, acted: int) -> None:
        # What was freed is logged before the threshold that is met no more because of it.
        self._node.effects.reactions.performed(cycle, failures, since=since, acted=acted)
        self._telemetry.findings(cycle.step.findings, cycle.observation.problems)
        step = cycle.step
        if why := _reasons(cycle, for_tenant=False):
            why = with_past_budget(why, step.decisions, cycle.config, cycle.now)
            self._telemetry.reasons(step.decisions, why, filled_by(step.findings, cycle.wall, step.decisions))
        self._telemetry.failures(failures)

    def _publish(self, waited: WaitResult, cycle: Cycle, begun: int) -> None:
        """Replace the snapshot that pages and metrics show."""
        self._telemetry.publish(cycle)
        self._telemetry.cycle(waited.cause.value, boot_clock() - begun)

    def _reload(self) -> None:
        self._waiter.liveness.reloading()
        self._guarded("reload", self._reloader.reload)
        self._waiter.liveness.reloaded(self._status())

    def _status(self) -> str:
        """Describe the state, and what is missing, in one line for `systemctl status`."""
        parts = (
            self.state.activity.value,
            ", ".join(condition.value for condition in self.state.node_conditions) or "no pressure",
            self._node.effects.label,
            self._telemetry.published.reload_fault,
            self._guard.failure("cycle") or self._telemetry.published.blind,
            *(f"{problem.source}: {problem.detail}" for problem in self._recorder.problems()[:1]),
        )
        return "; ".join(filter(None, parts))


def _reasons(cycle: Cycle, *, for_tenant: bool) -> dict[str, str]:
    """Return why each pod was chosen and not another, by uid."""
    dry_run, step = cycle.observation.outcomes.dry_run, cycle.step
    return reasons_of(step.decisions, step.findings, dry_run=dry_run, for_tenant=for_tenant)
