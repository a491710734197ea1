"""A node of a cluster so small that everything between the core and the API server is tried: two pods, one threshold on memory.

The core and evictd's own actuator and evictor decide and send; the API server answers what the move says, a kubelet ends what is
deleted by the next cycle, and evictd may be restarted between any two. A world is reached by its moves from the beginning, so
that none of the objects needs to be copied.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from enum import Enum
from types import SimpleNamespace
from typing import Any

from evictd.act.cluster.actuator import ClusterActuator
from evictd.act.cluster.eviction_events import ClusterNode
from evictd.act.cluster.evictor import ClusterEvictor
from evictd.act.cluster.request_queue import Clocks
from evictd.clients.kube.eviction import Answer, Outcome
from evictd.clients.kube.pods import PodSnapshot
from evictd.codec.pods.slim_pods import SlimPod
from evictd.codec.state import decode_state, encode_state
from evictd.core.eviction.synchronize import synchronize
from evictd.core.model.config import EvictionConfig, EvictionMethod
from evictd.core.model.decision import EvictPod, PodCondition, WithdrawEviction
from evictd.core.model.observation import Observation, Outcomes
from evictd.core.model.pod import Pod
from evictd.core.model.state import State, Step, Victim
from evictd.core.units.duration import SECOND
from evictd.errors import ApiRefusedError, ApiUnavailableError
from evictd.observe.reading.reading import Reading
from tests.laws.small_world import AVAILABLE, Place, shifted
from tests.playbook import node, pod, usage

ELAPSED = 20 * SECOND
"""Between two cycles: the deadline of a victim passes within a few of them."""
USES = {"hog": 60, "other": 50}
"""Of memory, of which 40 is missing: each relieves the node alone, so that a second victim would be one too many."""
PODS = {name: pod(name, grace=5) for name in USES}
REQUESTS = 4
"""Requests that are sent between two cycles: ask, mark, delete, and one more."""


class Reply(Enum):
    """The API server's answer to every request between two cycles."""

    DONE = "200"
    FORBIDDEN = "403"
    BUDGET = "429 of a budget"
    BUSY = "429 without a budget"
    ERROR = "500"
    AWAY = "no answer"


@dataclass(frozen=True)
class Turn:
    """What happens in one cycle: evictd is restarted before it or not, the shortage ends or not, and the server answers."""

    reply: Reply
    restarts: bool = False
    ends: bool = False
    """The shortage ends without evictd: another program gave its memory back."""


TURNS = (
    *(Turn(reply) for reply in Reply),
    *(Turn(reply, restarts=True) for reply in (Reply.DONE, Reply.BUDGET, Reply.AWAY)),
    *(Turn(reply, ends=True) for reply in (Reply.DONE, Reply.AWAY)),
)


@dataclass(slots=True)
class Server:
    """The API server with the two pods. It answers as `reply` says."""

    reply: Reply = Reply.DONE
    pods: dict[str, bool] = field(default_factory=lambda: dict.fromkeys(PODS, False))
    """The objects by uid; True for one that is being deleted."""
    failed: set[str] = field(default_factory=set)
    """Those whose status says that they were evicted."""
    asked: list[tuple[str, str]] = field(default_factory=list)
    """The requests that were sent, also in vain, and the uids of their pods."""

    def evict(self, pod: Pod, _grace: int) -> Outcome:
        """Answer a request of the Eviction API."""
        return self._answer("evict", pod, deletes=True)

    def delete(self, pod: Pod, _grace: int) -> Outcome:
        """Answer a DELETE."""
        return self._answer("delete", pod, deletes=True)

    def mark_disrupted(self, pod: Pod, _condition: PodCondition, _since: str) -> Outcome:
        """Answer a patch of the status."""
        return self._answer("mark", pod, deletes=False)

    def mark_evicted(self, pod: Pod, _message: str, _condition: PodCondition | None, _since: str) -> Outcome:
        """Answer the write of an evicted pod's status."""
        outcome = self._answer("write", pod, deletes=False)
        self.failed.add(pod.uid)
        return outcome

    def _answer(self, verb: str, pod: Pod, *, deletes: bool) -> Outcome:
        self.asked.append((verb, pod.uid))
        if self.reply in {Reply.BUSY, Reply.ERROR}:
            raise ApiUnavailableError(self.reply.value, reached=True)
        if self.reply is Reply.FORBIDDEN:
            raise ApiRefusedError("no", status=403)
        if self.reply is Reply.BUDGET and verb == "evict":
            return Outcome(answer=Answer.BLOCKED, retry_after_seconds=10, message="budget")
        if pod.uid not in self.pods:
            return Outcome(answer=Answer.GONE)
        self.pods[pod.uid] = self.pods[pod.uid] or deletes
        return Outcome(answer=Answer.DONE)


class _Stopper:
    """Stops containers by the next cycle; what one run of evictd began, the next one does not know."""

    def __init__(self, server: Server) -> None:
        self.begun: set[str] = set()
        self.done: set[str] = set()
        self._server = server

    def stop(self, pod: Pod, _grace: int, *, freeze: bool = False) -> None:
        self.begun.add(pod.uid)

    def stopped(self, uid: str) -> bool:
        return uid in self.done

    def forget(self, uid: str) -> None:
        self.begun.discard(uid)

    def update(self, _view: object) -> None:
        """Take the runtime's listing."""


class ConsentWorld:
    """The world after some moves. `seen` is what the laws are about."""

    def __init__(self, config: EvictionConfig, method: EvictionMethod) -> None:
        self.server = Server()
        self.state = State()
        self.now = 0
        self.dead: set[str] = set()
        self.ended = False
        self.decided: list[EvictPod] = []
        self.withdrawn: list[str] = []
        self.step = Step(state=self.state, decisions=(), findings=())
        self._config = config
        self._method = method
        self._start()

    def _start(self) -> None:
        """Start evictd: everything but the state and the objects is new."""
        clocks = Clocks(now=lambda: self.now, wall=lambda: self.now, random=lambda: 0.5)
        server: Any = self.server
        self.stopper = _Stopper(self.server)
        self.synced = False
        quiet: Any = SimpleNamespace(
            record=lambda *_, **__: None, record_again=lambda *_: None, node_name="n1", notify=lambda: None
        )
        node_seen = ClusterNode(pods=lambda: self.snapshot, kubelet=lambda: True, conditions_pending=lambda: False)
        self.evictor = ClusterEvictor(
            server,
            self.stopper,
            node_seen,
            quiet,
            quiet,
            clocks=clocks,
            method=self._method,
            timeout=self._config.eviction_timeout,
        )
        reporter = SimpleNamespace(kubelet=True)
        cluster: Any = SimpleNamespace(evictor=self.evictor, watch=self, reporter=reporter, events=quiet)
        self.actuator = ClusterActuator(_node_part(self.stopper), cluster)

    # --- the node as the evictor and the actuator see it -----------------------------------------------------------------

    @property
    def snapshot(self) -> PodSnapshot:
        entries = {
            uid: SlimPod(
                pod=replace(PODS[uid], deletion_grace_period_seconds=1 if deleting else None, phase=self._phase(uid))
            )
            for uid, deleting in self.server.pods.items()
        }
        return PodSnapshot(pods=entries, synced=self.synced)

    def _phase(self, uid: str) -> str:
        return "Failed" if uid in self.server.failed else "Running"

    # --- moves --------------------------------------------------------------------------------------------------------

    def move(self, turn: Turn) -> None:
        """One cycle, and the requests until the next one."""
        self.now += ELAPSED
        self._kubelet()
        if turn.restarts:
            self.state = decode_state(encode_state(self.state))
            self._start()
        self.ended = self.ended or turn.ends
        self.server.reply = turn.reply
        self.synced = self.synced or turn.reply is not Reply.AWAY
        observation = self._observe()
        self.step = synchronize(self.state, observation, self._config, self.now)
        self.state = self.step.state
        reading: Any = SimpleNamespace(now=self.now, view=object(), reasons={}, observation=observation)
        self._perform(reading)
        self.actuator.advance(self.state, reading)
        if turn.reply is not Reply.AWAY:
            self._send()

    def _kubelet(self) -> None:
        """End the pods that were deleted before the last cycle, and those whose containers were stopped."""
        self.stopper.done |= self.stopper.begun
        gone = {uid for uid, deleting in self.server.pods.items() if deleting}
        self.dead |= gone | self.stopper.done
        self.server.pods = {uid: deleting for uid, deleting in self.server.pods.items() if uid not in gone}

    def _observe(self) -> Observation:
        freed = sum(USES[uid] for uid in self.dead) + (60 if self.ended else 0)
        alive = [uid for uid in sorted(PODS) if uid not in self.dead]
        outcomes: Outcomes = self.actuator.outcomes(self.state)
        return Observation(
            node=node(memory=f"{AVAILABLE + freed} of 1000", nodefs="900 of 1000", imagefs="900 of 1000"),
            pods=tuple(PODS[uid] for uid in alive),
            pod_stats={uid: usage(PODS[uid], memory=str(USES[uid]), logs="0", inodes=0) for uid in alive},
            outcomes=replace(outcomes, cleaned_up=outcomes.cleaned_up | (self.dead & _uids(self.state.in_flight))),
        )

    def _perform(self, reading: Reading) -> None:
        for decision in self.step.decisions:
            if isinstance(decision, EvictPod):
                self.actuator.begin_eviction(decision, reading)
                if not decision.shortens:
                    self.decided.append(decision)
            elif isinstance(decision, WithdrawEviction):
                self.actuator.withdraw_eviction(decision, reading)
                self.withdrawn.append(decision.pod.uid)

    def _send(self) -> None:
        for _ in range(REQUESTS):
            call = self.evictor.call(self.now)
            if call is None:
                return
            try:
                call()
            except ApiRefusedError as error:
                self.evictor.refused(error, self.now)
            self.evictor.advance(self.now)

    @property
    def key(self) -> object:
        """What tells two worlds apart: all that a later move may depend on, with times as of now."""
        state, evictions = self.state, self.evictor._evictions
        place = Place(state=shifted(state, self.now, measured=True)).key
        sides = tuple(
            (
                uid,
                each.stage,
                each.containers,
                each.hard,
                each.settled_at is not None,
                max(0, each.not_before - self.now),
                max(0, each.postponed_until - self.now),
                None if each.first_refused_at is None else min(self.now - each.first_refused_at, 20 * SECOND),
                min(self.now - each.begun_at, 20 * SECOND) if each.hard else 0,
                None if each.answer is None else (each.answer.kind, each.answer.at >= _since(state, uid)),
            )
            for uid, each in evictions.items()
        )
        flags = tuple((v.uid, v.withdrawn, v.counted) for v in state.in_flight)
        previous = self.actuator._previous
        return (
            place, sides, flags, frozenset(self.dead), frozenset(self.server.pods.items()), frozenset(self.stopper.begun),
            self.ended, self.synced, frozenset(state.clear_since), frozenset(state.pauses),
            None if previous is None else frozenset(previous), frozenset(self.server.asked),
            frozenset(self.withdrawn), tuple(sorted(self.evictor._backoffs)),
        )  # fmt: skip


def _since(state: State, uid: str) -> int:
    return next((victim.since for victim in state.in_flight if victim.uid == uid), 0)


def _uids(victims: Iterable[Victim]) -> frozenset[str]:
    return frozenset(victim.uid for victim in victims)


def _node_part(stopper: _Stopper) -> Any:
    """The part of the actuator that is the node's own: it stops containers, and nothing is collected."""

    def resume(victims: Iterable[Victim], _reading: object) -> None:
        for victim in victims:
            stopper.stop(PODS[victim.uid], 1)

    return SimpleNamespace(
        outcomes=lambda state: Outcomes(reclaimed=(), stopped=frozenset(stopper.done) & _uids(state.in_flight)),
        stopped=stopper.stopped,
        stopper=stopper,
        resume=resume,
        advance=lambda *_: (),
        cleanup=SimpleNamespace(done=lambda _: True, begin=lambda _: None),
    )
