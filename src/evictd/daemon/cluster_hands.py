"""Who carries decisions out on a node of a cluster?

Conditions, taints and events go to the API server, and a pod goes the way that `act.cluster` knows; collectors work as they do
everywhere. The kubelet removes volumes there. What a budget refuses is taken back out of the state, and who is spared for now is
protected for this cycle: both before the core decides, so that the journal holds what it really decided on.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from evictd.act.perform import Refusal
from evictd.core.config import EvictionConfig
from evictd.core.container_gc import with_api_pods
from evictd.core.decision import EvictPod, RecordEvent
from evictd.core.grace import IMMEDIATE_EVICTION_GRACE_PERIOD_SECONDS
from evictd.core.observation import Outcomes, Problem
from evictd.core.pod import Pod
from evictd.core.signal import NodeCondition
from evictd.core.state import Reclaiming, State
from evictd.core.termination import without
from evictd.daemon.hands import NodeHands, NodeParts, running_ids
from evictd.daemon.sight import Sight
from evictd.observe.runtime_view import RuntimeView

if TYPE_CHECKING:  # the wiring brings the API's client along
    from evictd.act.cluster.wiring import Cluster


class LastView:
    """The runtime's last listing, for whoever stops pods on another thread."""

    def __init__(self) -> None:
        self.view: RuntimeView | None = None

    def ids(self, uid: str) -> tuple[Iterable[str], Iterable[str]]:
        """Give the ids of a pod's running containers and of its sandboxes; empty where unknown."""
        return ((), ()) if self.view is None else running_ids(self.view, uid)


class ClusterHands(NodeHands):
    """Hands of a node with an API server; `cluster` was started by its owner, and is closed by it."""

    def __init__(self, parts: NodeParts, cluster: "Cluster", last: LastView) -> None:
        super().__init__(parts)
        self._cluster = cluster
        self._last = last
        self._now = 0
        self._asked_for: frozenset[str] = frozenset()

    def turn(self, sight: Sight) -> None:
        """Take in what this cycle sees; for the collectors nobody is gone who is still an object of the API."""
        fates = None if sight.fates is None else with_api_pods(sight.fates, self._cluster.known_pods())
        super().turn(replace(sight, fates=fates))
        self._see(sight.view)

    def _see(self, view: "RuntimeView | None") -> None:
        if view is not None:
            self._last.view = view

    def prepare(self, state: State, config: EvictionConfig, now: int) -> tuple[State, EvictionConfig]:
        """Take back who stays because of a budget, and protect who is spared for now."""
        self._now = now
        hard = any(threshold.hard for threshold in state.thresholds_met)
        never = config.protected_pods | self._cluster.own_pod
        spared = self._cluster.evictor.withheld(now, hard=hard, never=never) | self._cluster.own_pod
        state = self._resumed(without(state, self._cluster.evictor.withdrawn()), now)
        if not spared - config.protected_pods:
            return state, config
        return state, replace(config, protected_pods=config.protected_pods | spared)

    def bound_pods(self, view: "RuntimeView | None") -> tuple[Pod, ...] | None:
        """Give the pods that the API server has bound to this node; `None` before it has told."""
        self._see(view)
        return self._cluster.active_pods()

    def problems(self) -> tuple[Problem, ...]:
        """Tell what does not work, also between us and the API server."""
        return (*super().problems(), *self._cluster.problems())

    def outcomes(self, state: State) -> Outcomes:
        """Say what became of the decisions so far."""
        victims = {release.uid for release in state.releases if release.uid}
        stopped = {uid for uid in victims if (end := self._terminator.progress(uid)) is not None and end.finished}
        gone = self._cluster.evictor.cleaned_up(self._now) | stopped
        return Outcomes(
            reclaimed=self._collector.progress() if isinstance(state.phase, Reclaiming) else None,
            cleaned_up=frozenset(uid for uid in gone if uid not in stopped or self._volumes_are_gone(uid)),
        )

    def _volumes_are_gone(self, uid: str) -> bool:
        """Whether what only this stopped pod could use is removed; where a kubelet reports, or may, that is its work."""
        return self._cluster.reporter.kubelet is not False or self._cleanup.done(uid)

    def resume(self, state: State, view: "RuntimeView", now: int) -> None:
        """Go on with the victims of an earlier life; with those of a soft threshold once it is known whether anybody agreed."""
        # Only a hard threshold's grace is this one; its victims nobody was asked about.
        self._asked_for = frozenset(
            release.uid
            for release in state.releases
            if release.gone_at is None and release.grace_period_seconds != IMMEDIATE_EVICTION_GRACE_PERIOD_SECONDS
        )
        super().resume(without(state, self._asked_for), view, now)

    def _resumed(self, state: State, now: int) -> State:
        """Go on with whom the API server lets go, and take back whom a budget may still protect: it may be chosen anew."""
        if not self._asked_for or self._last.view is None:
            return state
        answers = {uid: self._cluster.evictor.may_stop(uid) for uid in self._asked_for}
        agreed, self._asked_for = _of(answers, True), _of(answers, None)
        super().resume(without(state, frozenset(each.uid for each in state.releases) - agreed), self._last.view, now)
        return without(state, _of(answers, False))

    def heartbeat(self) -> None:
        """Keep what was said to the API server right."""
        self._cluster.reporter.heartbeat(self._now)

    def report_conditions(self, conditions: tuple[NodeCondition, ...]) -> None:
        """Report to the API server, and tell the events that go with it."""
        for event in self._cluster.reporter.report(conditions, self._now):
            self.record_event(event)

    def record_event(self, event: RecordEvent) -> None:
        """Record an event on the node, and tell it."""
        self._cluster.events.record(event, self._now)
        self._tell_event(event)

    def begin_eviction(self, decision: EvictPod) -> None:
        """Send the pod on its way; which way is the cluster's to know."""
        self._asked_for -= {decision.pod.uid}  # it is on its way by this life's own doing
        self._cluster.evictor.begin(decision, self._now)

    def take_evicted(self) -> tuple[EvictPod, ...]:
        """Give the evictions that have become sure: a budget may still refuse what was only asked for."""
        return self._cluster.evictor.take_evicted()

    def take_refusals(self) -> tuple[Refusal, ...]:
        """Give the pods that stay because a budget protects them."""
        return self._cluster.evictor.take_refusals()


def _of(answers: Mapping[str, bool | None], answer: bool | None) -> frozenset[str]:
    return frozenset(uid for uid, each in answers.items() if each is answer)
