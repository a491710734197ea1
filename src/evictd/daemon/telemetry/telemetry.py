"""Logs, counts and publishes what happens. Takes values and only observes: nothing else depends on it."""

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence

from evictd import __version__
from evictd.act.actuator import Failure, Progress
from evictd.act.repeated import RepeatedEvictions
from evictd.codec.records.journaled import RECORDED, recorded_signals
from evictd.core.eviction.accounts.collecting import ended_reclaims
from evictd.core.eviction.page_cache import dropped_pages
from evictd.core.eviction.reclaim import layout_of
from evictd.core.eviction.refusals.backoff import Refusal
from evictd.core.model.decision import (
    Decision,
    EvictionReason,
    EvictPod,
    ReclaimNode,
    RecordEvent,
    ReportConditions,
    Wait,
    WithdrawEviction,
)
from evictd.core.model.finding import Finding, Ranking
from evictd.core.model.observation import Observation, Problem, ReclaimOutcome, signal_observations
from evictd.core.model.oom import MemoryQoSDifference, OomScoreDifference
from evictd.core.model.signal import NodeCondition
from evictd.core.units.duration import MINUTE, SECOND
from evictd.daemon.configuration import Difference
from evictd.daemon.kubelet_evictions import KubeletEviction
from evictd.daemon.store.recorder import Cycle
from evictd.daemon.telemetry.findings_log import Topics, changes, topics
from evictd.daemon.telemetry.kills import RecentKills
from evictd.daemon.telemetry.log import Logger
from evictd.daemon.telemetry.memory_holdings import memory_followed
from evictd.daemon.telemetry.metrics import Metrics
from evictd.daemon.telemetry.recent import RecentDecisions
from evictd.daemon.telemetry.snapshot import LatestSnapshot, Snapshot
from evictd.daemon.telemetry.statusz.own_limits import limits_recorded
from evictd.daemon.telemetry.trends import NO_TRENDS, advanced, recent_readings, reclaimed_signals
from evictd.daemon.telemetry.usage_history import usage_recorded
from evictd.observe.cgroups.kernel_kills import KernelKill
from evictd.render.attribution import Filled
from evictd.render.kernel_kills import kill_text
from evictd.render.sentences import changes_nothing, decision_text, kind_of
from evictd.worker import describe

REPEAT_AFTER = 10 * MINUTE
"""Time for which a repeated error is only counted, not logged: a full disk refuses each attempt."""
_MOST_ERRORS = 256
_MOST_CHOSEN = 1000
"""Uids of victims, for the comparison with the kubelet's."""


class Telemetry:
    """Writes to the log, the metrics and the snapshot. `wall` returns the wall clock in nanoseconds."""

    def __init__(self, log: Logger, metrics: Metrics, published: LatestSnapshot, wall: Callable[[], int]) -> None:
        self.published = published
        published.configured_at = wall()
        self._log = log
        self._metrics = metrics
        self._wall = wall
        self._topics: Topics = {}
        self._logged_errors: dict[tuple[str, str], int] = {}
        self._recent = RecentDecisions()
        self._killed = RecentKills()
        self._conditions: tuple[NodeCondition, ...] = ()
        self._repeated = RepeatedEvictions()
        self._chosen: deque[str] = deque(maxlen=_MOST_CHOSEN)

    def report_error(self, source: str, detail: str) -> None:
        """Count an error, and log it unless the same one was logged within `REPEAT_AFTER`; safe from any thread."""
        self._metrics.error(source)
        now, key = self._wall(), (source, detail)
        if abs(now - self._logged_errors.get(key, -REPEAT_AFTER)) < REPEAT_AFTER:
            return
        if len(self._logged_errors) >= _MOST_ERRORS:
            self._logged_errors.clear()
        self._logged_errors[key] = now
        self._log.warning("error", source=source, detail=detail)

    def decision(self, decision: Decision, *, prefix: str = "") -> None:
        """Log a decision; `prefix` comes before its text (`would ` in a dry run)."""
        text = prefix + decision_text(decision, self._conditions)
        if isinstance(decision, Wait | RecordEvent):
            return  # an event is logged when it is recorded
        news = not changes_nothing(decision, self._conditions)
        if prefix and not news:
            return  # a dry run reports nothing, so that the node has no condition is no news
        if news:
            self._recent.add(decision, text, self._wall(), dry_run=bool(prefix))
        if isinstance(decision, ReportConditions):
            self._conditions = decision.conditions
        if isinstance(decision, EvictPod) and not decision.shortens:
            self._chosen.append(decision.pod.uid)
            if prefix:
                self._metrics.would_evict(decision.because)
        level = "warning" if isinstance(decision, EvictPod) else "info"
        fields = {}
        if isinstance(decision, EvictPod | WithdrawEviction):
            fields = {"pod": decision.pod.full_name, "uid": decision.pod.uid}
        self._log.log(level, text, decision=kind_of(decision), **fields)

    def evicted_by_kubelet(self, evictions: Iterable[KubeletEviction]) -> None:
        """Log and count the pods that the kubelet evicted."""
        for each in evictions:
            chosen = each.uid in self._chosen
            self._metrics.evicted_by_kubelet(chosen=chosen)
            self._log.info(
                "the kubelet evicted a pod"
                + (", which evictd had chosen" if chosen else ", which evictd had not chosen"),
                pod=each.pod,
                uid=each.uid,
                at=each.at,
                detail=each.message,
            )

    def killed_by_kernel(self, kills: Sequence[KernelKill], wall: int) -> None:
        """Log, count and remember what the kernel killed for want of memory of the node, as seen at a time on the wall clock."""
        self._killed.add(kills, wall)
        for each in kills:
            self._metrics.killed_by_kernel(each.count)
            self._log.warning(kill_text(each.where, each.uid, each.count), **({"pod": each.where} if each.uid else {}))

    def event(self, event: RecordEvent) -> None:
        """Log an event on the node."""
        write = self._log.warning if event.type == "Warning" else self._log.info
        write(event.message, event_reason=event.reason)

    def findings(self, findings: Iterable[Finding], problems: Iterable[Problem]) -> None:
        """Log what began and what ended since the last cycle."""
        now = topics(findings, problems, self._topics)
        for line in changes(self._topics, now):
            self._log.log(line.level, line.event, **line.fields)
        for key in now.keys() - self._topics.keys():
            if key[0] == "problem":
                self._metrics.error(key[1])
        self._topics = now

    def reasons(self, decisions: Iterable[Decision], why: Mapping[str, str], filled: Filled) -> None:
        """Log once for each eviction for pressure why this pod was chosen; `why` by uid, `filled`: who took what was short."""
        for decision in decisions:
            text = why.get(decision.pod.uid, "") if isinstance(decision, EvictPod) else ""
            if isinstance(decision, EvictPod) and text and self._recent.explain(decision.pod.uid, text, filled):
                self._log.info(text, pod=decision.pod.full_name, uid=decision.pod.uid)

    def failures(self, failures: Iterable[Failure]) -> None:
        """Report the decisions that could not be performed."""
        for failure in failures:
            self.report_error("perform", f"{_text(failure.decision)}: {describe(failure.error)}")

    def performed(self, cycle: Cycle, failures: Iterable[Failure], *, since: int, acted: int) -> None:
        """Count what was performed; `since` is when the crossing was noticed, `acted` when the decisions had been performed."""
        failed = {id(failure.decision) for failure in failures}
        self._observe_reaction([each for each in cycle.step.decisions if id(each) not in failed], acted - since)
        outcomes = cycle.observation.outcomes
        self._recent.ended(outcomes.cleaned_up | outcomes.stopped, cycle.wall)
        reclaimed = ended_reclaims(cycle.before, cycle.step.state, outcomes)
        self._recent.reclaimed(reclaimed, cycle.wall)
        self.reclaimed(reclaimed)
        self.reclaimed(dropped_pages(cycle.before, outcomes))
        self.stats_age(cycle.step.findings, cycle.observation, acted)

    def _observe_reaction(self, done: Iterable[Decision], nanoseconds: int) -> None:
        for decision in done:
            if isinstance(decision, ReclaimNode):
                self._metrics.reaction("reclaim", nanoseconds)
            elif isinstance(decision, EvictPod) and not decision.shortens and _for_pressure(decision):
                self._metrics.reaction("evict", nanoseconds)

    def refusals(self, refusals: Iterable[Refusal]) -> None:
        """Log the pods that stay, with the API server's answer."""
        for refusal in refusals:
            self._recent.refused(refusal, self._wall())
            self._log.info(
                "pod stays: the API server refused its eviction",
                pod=refusal.victim.full_name,
                uid=refusal.victim.uid,
                detail=refusal.answer.detail,
            )

    def reclaimed(self, outcomes: Iterable[ReclaimOutcome]) -> None:
        """Log and count what collectors freed."""
        outcomes = tuple(outcomes)
        self._metrics.reclaimed(outcomes)
        for outcome in outcomes:
            self._log.info(
                "collected", what=outcome.action.value, removed=outcome.removed, freed_bytes=outcome.freed_bytes
            )
            if outcome.error:
                self.report_error(f"collect {outcome.action.value}", outcome.error)

    def progress(self, progress: Progress) -> None:
        """Count the evictions that have become certain, and log the victims that are no longer waited for."""
        for eviction in progress.evicted:
            self._metrics.evicted(eviction.because)
            if self._repeated.note(eviction.pod, self._wall()):
                self._metrics.repeated()
        for termination in progress.ended:
            took = None if termination.finished_at is None else termination.finished_at - termination.started_at
            self._log.info(
                "pod is gone" if took is not None else "pod is still there",
                pod=termination.pod,
                uid=termination.uid,
                seconds=None if took is None else round(took / SECOND, 3),
            )
            for error in termination.errors:
                self.report_error("terminate", error)

    def stats_age(self, findings: Iterable[Finding], observation: Observation, acted: int) -> None:
        """Observe the age of the statistics at each ranking, as the kubelet does."""
        seen = {} if observation.node is None else signal_observations(observation.node)
        for finding in findings:
            if isinstance(finding, Ranking):
                for threshold in finding.due:
                    at = seen[threshold.signal].time if threshold.signal in seen else None
                    if at:
                        self._metrics.stats_age(threshold.signal, max(0, acted - at))

    def corrected(self, difference: OomScoreDifference | MemoryQoSDifference, *, prefix: str = "") -> None:
        """Log an OOM score or memory file that is set; `prefix` comes before the text (`would ` in a dry run)."""
        if isinstance(difference, MemoryQoSDifference):
            self._log.info(
                f"{prefix}set {difference.file} as documented",
                subject=difference.subject,
                was="max" if difference.found is None else difference.found,
                documented="max" if difference.expected is None else difference.expected,
            )
            return
        self._log.info(
            prefix + "set oom_score_adj as documented",
            pod=difference.pod.full_name,
            container=difference.container,
            was=difference.found,
            documented=difference.expected,
        )

    def reloaded(self, found: Sequence[Difference], warnings: Iterable[str] = ()) -> None:
        """Log what a reload changed, and the warnings about the new files."""
        self.published.reload_fault = ""
        self.published.configured_at = self._wall()
        for each in found:
            when = "now" if each.live else "at the next start"
            write = self._log.warning if each.explicit else self._log.info
            write("configuration changes", field=each.field, old=each.old, new=each.new, when=when)
        if not found:
            self._log.info("configuration reloaded: nothing changes")
        for warning in warnings:
            self._log.warning(warning, source="configuration")

    def reload_failed(self, detail: str) -> None:
        """Report a reload that changed nothing."""
        self.published.reload_fault = f"the configuration was not reloaded, nothing is changed: {detail}"
        self.report_error("reload", self.published.reload_fault)

    def readings(self, cycle: Cycle) -> dict[str, list[tuple[float, int]]]:
        """Return the readings before a cycle of the supplies that its evictions, victims and conditions concern."""
        latest, wanted = self.published.latest, recorded_signals(cycle.before, cycle.step)
        if latest is None or not wanted:
            return {}
        return recent_readings(latest.trends, wanted, now=cycle.now, within=RECORDED)

    def publish(self, cycle: Cycle) -> None:
        """Replace the snapshot that pages and metrics show."""
        latest, node, state = self.published.latest, cycle.observation.node, cycle.step.state
        seen = {} if node is None else signal_observations(node)
        self._recent.measured(seen, cycle.wall)
        trends = NO_TRENDS if latest is None else latest.trends
        usage = usage_recorded(trends.usage, state.holdings, cycle.observation.pods)
        self.published.latest = Snapshot(
            at=cycle.now,
            wall=cycle.wall,
            config=cycle.config,
            state=state,
            observation=cycle.observation,
            findings=cycle.step.findings,
            recent=self._recent.all(),
            killed=self._killed.lately(cycle.wall),
            trends=advanced(
                trends,
                seen,
                state.node_conditions,
                now=cycle.now,
                wall=cycle.wall,
                usage=usage,
                before=cycle.before.node_conditions,
                reclaimed=reclaimed_signals(
                    ended_reclaims(cycle.before, state, cycle.observation.outcomes),
                    layout_of(state.disks),
                ),
                limits=limits_recorded(trends.limits, state, cycle.observation, cycle.config),
                memory=memory_followed(trends.memory, state, cycle.observation, cycle.config, now=cycle.now),
            ),
            version=__version__,
            pods_before=0
            if latest is None or cycle.observation.pods_read
            else cycle.now - latest.at + latest.pods_before,
        ).following(latest)

    def cycle(self, cause: str, nanoseconds: int) -> None:
        """Count a cycle."""
        self._metrics.woken(cause)
        self._metrics.cycle(nanoseconds)


def _text(decision: Decision) -> str:
    try:
        return decision_text(decision)
    except Exception:  # the text itself may be what failed
        return kind_of(decision)


def _for_pressure(decision: EvictPod) -> bool:
    return decision.because.reason is EvictionReason.PRESSURE
