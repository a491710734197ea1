"""Who carries decisions out on a node without an API server?

Conditions go to `conditions.json`, events to the log, reclaim to the collectors, pods to the terminator. All of it
returns at once; `outcomes` tells the next cycle what became of it. A pod that was evicted stays evicted: its uid is
remembered for as long as the runtime knows anything of it, so that nobody takes what is left of it for a pod.
"""

from collections.abc import Callable
from dataclasses import dataclass

from evictd.act.collect import Collector, NodeMoment
from evictd.act.perform import Refusal
from evictd.act.report import ConditionsFile
from evictd.act.terminate import Terminator
from evictd.act.victim import Termination
from evictd.core.config import EvictionConfig
from evictd.core.decision import EvictPod, ReclaimNode, RecordEvent
from evictd.core.duration import SECOND
from evictd.core.evict import EVICTED
from evictd.core.observation import Outcomes, Problem, ReclaimOutcome
from evictd.core.pod import Pod
from evictd.core.release import victim_until
from evictd.core.signal import NodeCondition
from evictd.core.state import Reclaiming, Release, State
from evictd.core.synchronize import WARNING
from evictd.daemon.cleanup import Cleanup
from evictd.daemon.sight import Sight
from evictd.errors import RuntimeUnavailableError
from evictd.observe.runtime_view import RuntimeView

TellEvent = Callable[[RecordEvent], None]
AnyAlive = Callable[[str, tuple[str, ...]], bool]
"""Whether any of a pod's containers has a process, by the pod's cgroup and the containers' ids."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeParts:
    """What hands are made of. `evicted` is kept up to date: uids sent away and still known to the runtime."""

    terminator: Terminator
    collector: Collector
    cleanup: Cleanup
    conditions: ConditionsFile
    tell_event: TellEvent
    any_alive: AnyAlive
    evicted: set[str]


class NodeHands:
    """Hands of this node. `turn` comes first in every cycle."""

    def __init__(self, parts: NodeParts) -> None:
        self._terminator = parts.terminator
        self._collector = parts.collector
        self._cleanup = parts.cleanup
        self._conditions = parts.conditions
        self._tell_event = parts.tell_event
        self._any_alive = parts.any_alive
        self._evicted = parts.evicted
        self._begun: list[EvictPod] = []
        self._dying: dict[str, tuple[str, tuple[str, ...]]] = {}
        self._sight: Sight | None = None
        self._reported: tuple[NodeCondition, ...] = ()

    # --- what the loop asks ----------------------------------------------------------------------------------------

    def turn(self, sight: Sight) -> None:
        """Take in what this cycle sees; forget the evicted pods of which nothing is left."""
        self._sight = sight
        if sight.view is not None:
            self._evicted.intersection_update(sandbox.uid for sandbox in sight.view.sandboxes)

    def prepare(self, state: State, config: EvictionConfig, now: int) -> tuple[State, EvictionConfig]:  # noqa: ARG002
        """Give what the core is to decide with; on a node of its own, what there is."""
        return state, config

    def bound_pods(self, view: RuntimeView | None) -> tuple[Pod, ...] | None:  # noqa: ARG002
        """Give the pods that an API server has bound to this node; `None`: the runtime's are all there are."""
        return None

    def problems(self) -> tuple[Problem, ...]:
        """Tell what does not work: victims that the runtime would not stop, so far."""
        return tuple(
            Problem(source=f"stopping pod {each.uid}", detail=each.errors[-1])
            for each in self._terminator.in_flight()
            if each.errors
        )

    def outcomes(self, state: State) -> Outcomes:
        """Say what became of the decisions so far."""
        victims = [release.uid for release in state.releases if release.uid]
        return Outcomes(
            reclaimed=self._collector.progress() if isinstance(state.phase, Reclaiming) else None,
            cleaned_up=frozenset(uid for uid in victims if self._is_cleaned_up(uid)),
        )

    def _is_cleaned_up(self, uid: str) -> bool:
        termination = self._terminator.progress(uid)
        if termination is None:
            return False
        if termination.finished:
            return self._cleanup.done(uid)
        if self._is_dead(uid):
            self._cleanup.done(uid)  # what it leaves may be what the runtime needs room for, to see that it is dead
        return False

    def _is_dead(self, uid: str) -> bool:
        """Whether containers of a pod ran, also such as were started since it was chosen, and none has a process left."""
        cgroup, containers = self._dying.get(uid, ("", ()))
        if self._sight is not None and self._sight.view is not None:
            containers = (*containers, *running_ids(self._sight.view, uid)[0])
        return bool(cgroup and containers) and not self._any_alive(cgroup, containers)

    def take_evicted(self) -> tuple[EvictPod, ...]:
        """Give the pods that were sent on their way since this was asked last."""
        begun, self._begun = tuple(self._begun), []
        return begun

    def take_refusals(self) -> tuple[Refusal, ...]:
        """Give the pods that were to go and stay; a runtime knows no budgets."""
        return ()

    def reclaimed(self) -> tuple[ReclaimOutcome, ...]:
        """Give what the collectors have come to, if they are done."""
        return self._collector.progress() or ()

    def finished(self, before: State, after: State) -> tuple[Termination, ...]:
        """Give the terminations that nobody waits for any more, and forget them."""
        gone = {release.uid for release in before.releases} - {release.uid for release in after.releases} - {""}
        ended = [termination for uid in sorted(gone) if (termination := self._terminator.progress(uid)) is not None]
        for uid in gone:
            self._terminator.forget(uid)
            self._cleanup.forget(uid)
            self._dying.pop(uid, None)
        return tuple(ended)

    def duties(self) -> None:
        """Do what is due by the clock: heartbeat and periodic collections; and tell the collectors' events."""
        sight = self._sight
        if sight is None:
            return
        for event in self._collector.take_events():
            self.record_event(event)
        if sight.fates is not None:
            self._collector.perform_duties(_moment(sight))

    def heartbeat(self) -> None:
        """Report the conditions again, with a new heartbeat time."""
        if self._sight is not None:
            self.report_conditions(self._reported)

    def resume(self, state: State, view: RuntimeView, now: int) -> None:
        """Go on with the victims that an earlier life of this daemon had begun to stop.

        Their sandboxes are left to the listing that follows the containers: stopping a sandbox kills at once, and a container
        that was started since the view has its grace as well.
        """
        for release in state.releases:
            if release.uid and release.gone_at is None:
                containers, _ = self._note(release.uid, view)
                self._terminator.begin(
                    release.uid, containers=containers, sandboxes=(), grace_seconds=grace_left(release, now)
                )

    # --- decisions (act.perform.Hands) -----------------------------------------------------------------------------

    def report_conditions(self, conditions: tuple[NodeCondition, ...]) -> None:
        """Write the conditions, and tell what has changed."""
        self._reported = conditions
        for event in self._conditions.report(conditions, self._seen().wall):
            self._tell_event(event)

    def record_event(self, event: RecordEvent) -> None:
        """Tell an event on the node."""
        self._tell_event(event)

    def begin_reclaim(self, decision: ReclaimNode) -> None:
        """Set the collectors to work."""
        self._collector.begin(decision, _moment(self._seen()))

    def begin_eviction(self, decision: EvictPod) -> None:
        """Stop the pod's containers, or cut their grace short."""
        view = self._seen().view
        if view is None:
            raise RuntimeUnavailableError(f"{decision.pod.full_name}: its containers are not known")
        if not decision.shortens:  # before anything is killed, as the kubelet records it
            self._tell_event(RecordEvent(type=WARNING, reason=EVICTED, message=decision.message))
        self._evicted.add(decision.pod.uid)
        self._begin(decision.pod.uid, view, decision.grace_period_seconds)
        if not decision.shortens:
            self._begun.append(decision)

    def _begin(self, uid: str, view: RuntimeView, grace_seconds: int) -> None:
        containers, sandboxes = self._note(uid, view)
        self._terminator.begin(uid, containers=containers, sandboxes=sandboxes, grace_seconds=grace_seconds)

    def _note(self, uid: str, view: RuntimeView) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Keep what tells whether anything of a victim lives; gives the ids of its running containers and its sandboxes."""
        containers, sandboxes = running_ids(view, uid)
        self._dying.setdefault(uid, (view.pod_cgroups.get(uid, ""), containers))
        return containers, sandboxes

    def _seen(self) -> Sight:
        if self._sight is None:
            raise AssertionError("nothing can be decided before anything was seen")
        return self._sight


def _moment(sight: Sight) -> NodeMoment:
    if sight.fates is None:
        raise RuntimeUnavailableError("the runtime's pods are not known, so nothing of theirs may be collected")
    return NodeMoment(now=sight.now, wall=sight.wall, fates=sight.fates)


def running_ids(view: RuntimeView, uid: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Give the ids of a pod's containers that may run, and of its sandboxes."""
    sandboxes = tuple(sandbox.id for sandbox in view.sandboxes if sandbox.uid == uid)
    return tuple(c.id for c in view.containers if c.sandbox_id in sandboxes and c.state.may_run), sandboxes


def grace_left(release: Release, now: int) -> int:
    """Give the seconds of grace that a victim still has; its beginning follows from when waiting for it ends."""
    began = release.until - victim_until(release.grace_period_seconds, 0)
    elapsed = max(now - began, 0) // SECOND
    return max(release.grace_period_seconds - elapsed, 0)
