"""Makes snapshots of the daemon from played worlds, for the tests of the page."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

from evictd.core.eviction.accounts.collecting import ended_reclaims
from evictd.core.eviction.reclaim import layout_of
from evictd.core.eviction.refusals.backoff import refusals
from evictd.core.model.observation import Filesystems, signal_observations
from evictd.core.model.state import State
from evictd.core.units.duration import SECOND
from evictd.daemon.telemetry.kills import RecentKills
from evictd.daemon.telemetry.memory_holdings import memory_followed
from evictd.daemon.telemetry.recent import RecentDecisions
from evictd.daemon.telemetry.snapshot import Snapshot
from evictd.daemon.telemetry.statusz.own_limits import limits_recorded
from evictd.daemon.telemetry.trends import Trends, advanced, reclaimed_signals
from evictd.daemon.telemetry.usage_history import usage_recorded
from evictd.observe.cgroups.kernel_kills import KernelKill
from evictd.render.attribution import filled_by
from evictd.render.deciding import reasons_of
from evictd.render.past_budget import with_past_budget
from evictd.render.sentences import changes_nothing, decision_text, kind_of
from evictd.world.loop import Run
from tests.daemon.world import WALL
from tests.render.played_worlds import incident_run


def snapshot_at(run: Run, seconds: float) -> Snapshot:
    """The snapshot of the last cycle of a run that is not later than this."""
    cycles = sum(cycle.at <= seconds * SECOND for cycle in run.cycles)
    *_, last = islice(snapshots(run), cycles)
    return last


def snapshots(run: Run) -> Iterator[Snapshot]:
    """Yield the snapshot of each cycle of a run."""
    config = replace(run.config, pod_termination=run.world.api_server.termination)
    trends, recent, before = Trends(), RecentDecisions(), State()
    for cycle in run.cycles:
        node, state, wall = cycle.observation.node, cycle.step.state, WALL + cycle.at
        assert node is not None
        for refusal in refusals(before, cycle.observation):
            recent.refused(refusal, wall)
        usage = usage_recorded(trends.usage, state.holdings, cycle.observation.pods)
        seen = signal_observations(node)
        trends = advanced(
            trends,
            seen,
            state.node_conditions,
            now=cycle.at,
            wall=wall,
            usage=usage,
            before=before.node_conditions,
            reclaimed=reclaimed_signals(
                ended_reclaims(before, state, cycle.observation.outcomes),
                layout_of(state.filesystems or Filesystems()),
            ),
            limits=limits_recorded(trends.limits, state, cycle.observation, config),
            memory=memory_followed(trends.memory, state, cycle.observation, config, now=cycle.at),
        )
        for each in cycle.step.decisions:
            if kind_of(each) not in {"Wait", "RecordEvent"} and not changes_nothing(each, before.node_conditions):
                recent.add(each, decision_text(each, before.node_conditions), wall)
        recent.ended(cycle.observation.outcomes.cleaned_up, wall)
        recent.measured(seen, wall)
        recent.reclaimed(ended_reclaims(before, state, cycle.observation.outcomes), wall)
        chosen = reasons_of(cycle.step.decisions, cycle.step.findings)
        for uid, why in with_past_budget(chosen, cycle.step.decisions, config, cycle.at).items():
            recent.explain(uid, why, filled_by(cycle.step.findings, wall, cycle.step.decisions))
        before, kills = state, RecentKills()
        for at, kill in run.kills:
            if at <= cycle.at:
                kills.add([KernelKill(where=kill.name, uid=kill.uid, count=1)], WALL + at)
        yield Snapshot(
            at=cycle.at, wall=wall, config=config, state=state, observation=cycle.observation,
            findings=cycle.step.findings, recent=recent.all(), killed=kills.lately(wall), trends=trends, version="1.2.3",
        )  # fmt: skip


def incident_snapshot(name: str, seconds: float) -> Snapshot:
    """The snapshot of a recorded incident at this time."""
    return snapshot_at(incident_run(name), seconds)
