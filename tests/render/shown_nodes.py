"""Nodes in the states that the page and `evictd status` show: calm, approaching, pressed, blind, crowded."""

from collections.abc import Callable
from dataclasses import replace

from evictd.config.settings import Settings
from evictd.core.eviction.synchronize import synchronize
from evictd.core.model.observation import Outcomes, Problem, signal_observations
from evictd.core.model.pod import Pod
from evictd.core.model.state import State
from evictd.core.model.stats import RlimitStats
from evictd.core.units.duration import MINUTE, SECOND
from evictd.daemon.configuration import Configuration
from evictd.daemon.telemetry.metrics import Metrics
from evictd.daemon.telemetry.pages import Pages
from evictd.daemon.telemetry.recent import RecentDecisions
from evictd.daemon.telemetry.snapshot import LatestSnapshot, Snapshot
from evictd.daemon.telemetry.trends import Trends, advanced
from evictd.daemon.telemetry.usage_history import usage_recorded
from evictd.render.attribution import filled_by
from evictd.render.deciding import reasons_of
from evictd.render.sentences import changes_nothing, decision_text, kind_of
from tests.daemon.world import CONFIG, GI, HOG, STATIC, WALL, WEB, observe, pod, uses

HOSTILE = '<script>alert("1")</script>\u202e\x1b[31m'
START = 10_000 * SECOND
REASON = "requests none and uses 5Gi, while default/web exceeds its request by only 3.92Gi"


def play(
    amounts: list[int],
    pods: tuple[Pod, ...] = (HOG, WEB, STATIC),
    *,
    gone_at: int | None = None,
    dry_run: bool = False,
    processes: int | None = 1_200,
    memory: int = 24 * GI,
    grow: int = 0,
) -> Snapshot:
    """A node whose available memory takes these values, half a minute apart; the snapshot of the last one.

    From reading `gone_at` on the first pod is gone. Until then it grows by `grow` with each reading.
    """
    state, trends, recent = State(), Trends(), RecentDecisions()
    step, seen, at = None, observe(amounts[0], START, pods=pods), START
    for number, available in enumerate(amounts):
        at = START + number * MINUTE // 2
        if number == gone_at:
            pods = pods[1:]
        gone = frozenset() if gone_at is None or number < gone_at else frozenset({HOG.uid})
        seen = observe(available, at, pods=pods)
        seen = replace(seen, outcomes=Outcomes(cleaned_up=gone, dry_run=dry_run))
        stats = {
            each.uid: replace(
                uses(each, max(200 - 3 * index, 1) * GI // 40 + (0 if index else number * grow), at),
                process_count=max(80 - index, 1),
                time=at,
            )
            for index, each in enumerate(pods)
        }
        assert seen.node is not None
        assert seen.node.memory is not None
        node = replace(
            seen.node,
            memory=replace(seen.node.memory, working_set_bytes=memory - available),
            rlimit=RlimitStats(time=at, max_pid=32_768, current=processes),
        )
        seen = replace(seen, pod_stats=stats, node=node)
        before = state.node_conditions
        step = synchronize(state, seen, CONFIG, at)
        state = step.state
        usage = usage_recorded(trends.usage, state.holdings, pods)
        trends = advanced(
            trends, signal_observations(node), state.node_conditions, now=at, wall=WALL + at - START, usage=usage
        )
        for each in step.decisions:
            if kind_of(each) not in {"Wait", "RecordEvent"} and not changes_nothing(each, before):
                text = ("would " if dry_run else "") + decision_text(each, before)
                if not dry_run or text not in {known.text for known in recent.all()}:
                    recent.add(each, text, WALL + at - START, dry_run=dry_run)
        recent.ended(gone, WALL + at - START)
        recent.measured(signal_observations(node), WALL + at - START)
        for uid, why in reasons_of(step.decisions, step.findings, dry_run=dry_run).items():
            recent.explain(uid, why, filled_by(step.findings, WALL + at - START))
    assert step is not None
    return Snapshot(
        at=at, wall=WALL + at - START, config=CONFIG, state=state, observation=seen, findings=step.findings,
        recent=recent.all(), trends=trends, version="1.2.3",
    )  # fmt: skip


def calm() -> Snapshot:
    return play([(6 * GI) - (number % 7) * GI // 8 for number in range(90)])


def approaching() -> Snapshot:
    return play([6 * GI - number * GI // 16 for number in range(60)])


def fresh() -> Snapshot:
    """Evictd runs for half a minute."""
    return play([6 * GI, 6 * GI - GI // 8])


def rehearsed() -> Snapshot:
    """A dry run below a hard threshold."""
    return play([*(5 * GI - number * GI // 14 for number in range(37)), GI // 2, GI // 2], dry_run=True)


def recovered() -> Snapshot:
    """A pod was evicted, and memory is back."""
    return play([*(5 * GI - number * GI // 14 for number in range(37)), GI // 2, *[11 * GI // 2] * 20], gone_at=38)


def blind() -> Snapshot:
    snapshot = calm()
    problem = Problem(source="container runtime", detail="ListPodSandbox: UNAVAILABLE: connection refused")
    seen = replace(snapshot.observation, problems=(problem,))
    return replace(snapshot, observation=seen, blind_since=snapshot.wall - 5 * MINUTE)


def blocked() -> Snapshot:
    """Only a static pod holds what is short."""
    return play([6 * GI, 5 * GI, GI // 2], (STATIC,))


def pressed() -> Snapshot:
    return play([*(6 * GI - number * GI // 24 for number in range(90)), GI // 2])


def crowded() -> Snapshot:
    pods = tuple(
        pod(
            f"worker-with-a-long-name-{number}-7d4f9c8b6d-x2x{number:02}",
            request=(number % 5) * GI // 4,
            priority=number % 3,
        )
        for number in range(110)
    )
    return play([4 * GI - number * GI // 64 for number in range(127)], pods, memory=192 * GI, processes=4_000)


def pages(snapshot: Snapshot, later: int = 2 * SECOND) -> dict[str, Callable[[], object]]:
    published = LatestSnapshot()
    published.latest = snapshot
    settings = Settings(eviction=CONFIG)
    configuration = Configuration(settings, lambda: settings)
    made = Pages(published, Metrics(published), configuration, lambda: snapshot.at + later, may_kill=lambda: True)
    return dict(made.by_path())


def page(snapshot: Snapshot, later: int = 2 * SECOND) -> str:
    answer = pages(snapshot, later)["/"]()
    body: bytes = answer.body  # type: ignore[attr-defined]
    return body.decode()
