"""Evicts pods through the API server and the runtime.

Beside a kubelet a status patch alone evicts nothing, and a stopped container is started again; deleting the object is robust, and
stopping the containers at the same time is fast. So soft thresholds ask the Eviction API, hard ones delete and stop at once, and
only on a node without a kubelet the pod's status is written. Which method is used, and what a budget's refusal means, is decided
in `core.eviction`; the path of each pod is the state machine of `pod_eviction`. The evictor turns the API server's answers into
the machine's events, and the machine's requests into calls; `eviction_events` turns the clock, the runtime and the list of pods
into events.
"""

import threading
from collections import deque

from evictd.act.cluster.events import EventRecorder, eviction_identity, note_with, owner_reference, pod_reference
from evictd.act.cluster.eviction_events import (
    EVENT_OF,
    ClusterNode,
    Stopper,
    due_events,
    next_event_at,
    nothing_runs,
)
from evictd.act.cluster.eviction_stages import REQUEST_OF, Containers, Event, Request, Stage
from evictd.act.cluster.pod_eviction import PodEviction
from evictd.act.cluster.request_queue import CONFLICT, Bell, Call, Clocks
from evictd.act.repeated import RepeatedEvictions, repeated_eviction
from evictd.clients.kube.backoff import RetryBackoff
from evictd.clients.kube.eviction import Answer, EvictionClient, Outcome
from evictd.codec.times import rfc3339
from evictd.core.eviction.choice.evict import EVICTED
from evictd.core.eviction.draft import WARNING
from evictd.core.eviction.refusals.eviction_method import (
    RefusalResponse,
    choose_eviction_method,
    forbidden_stays,
    is_hard,
    refusal_response,
)
from evictd.core.model.config import EvictionMethod
from evictd.core.model.decision import EvictPod, RecordEvent
from evictd.core.model.observation import EvictionAnswer
from evictd.core.units.duration import SECOND
from evictd.errors import ApiRefusedError, ApiUnavailableError

UNREAD = 1000
"""Number of evictions that are kept for `take_evicted`."""


class ClusterEvictor:
    """Evicts pods; a source of the request queue. Called by the loop and by the queue's thread.

    `method` is the configured one, and `timeout` how long a soft eviction waits for a budget, in nanoseconds.
    """

    def __init__(
        self,
        client: EvictionClient,
        stopper: Stopper,
        node: ClusterNode,
        events: EventRecorder,
        bell: Bell,
        *,
        clocks: Clocks,
        method: EvictionMethod,
        timeout: int,
    ) -> None:
        self._client = client
        self._clocks = clocks
        self._method = method
        self._timeout = timeout
        self._stopper = stopper
        self._node = node
        self._events = events
        self._repeated = RepeatedEvictions()
        self._bell = bell
        self._lock = threading.RLock()
        self._evictions: dict[str, PodEviction] = {}
        self._backoffs: dict[str, RetryBackoff] = {}
        """By uid, of the pods whose last request the server could not do for now."""
        self._last_sent: tuple[PodEviction, Stage] | None = None
        """The eviction of the last `call`, and its stage then, for `refused`."""
        self._being_sent: PodEviction | None = None
        """The eviction whose request waits for its answer."""
        self._evicted: deque[EvictPod] = deque(maxlen=UNREAD)
        self._problems: deque[tuple[str, str]] = deque(maxlen=20)

    # --- from the loop ------------------------------------------------------------------------------------------------

    def begin(self, decision: EvictPod, now: int, *, why: str = "") -> None:
        """Begin to evict a pod, or shorten the grace of one that is being evicted; `why` is for its event. Returns at once.

        A pod that had stopped and is chosen again runs again, as a kubelet sees to while the API server is away: it is stopped
        once more. Where its eviction was still under way, what the server is asked for stays as it was; else a new eviction
        begins, and nothing of the earlier one is kept.
        """
        hard = is_hard(decision) or decision.shortens
        with self._lock:
            known = self._evictions.get(decision.pod.uid)
            if known is not None:
                known.withdrawing = False
            if known is None or known.replaceable:
                self._begin(decision, known, now, hard=hard, why=why)
            elif known.containers is Containers.STOPPED:
                self._perform(known, known.receive(Event.RESTARTED, now), now)
            elif decision.shortens or hard > known.hard:
                self._perform(known, known.shorten(decision, now), now)
            self._advance(now)
        self._bell.notify()

    def _begin(self, decision: EvictPod, known: PodEviction | None, now: int, *, hard: bool, why: str) -> None:
        # A decision that only shortens was announced when it was first made, if need be by the previous run.
        announced = decision.shortens and (known is None or known.stage is Stage.DONE)
        made = PodEviction(decision, now, hard=hard, announced=announced)
        made.why = why
        made.first_refused_at = decision.refused_since
        self._drop_problems(decision.pod.uid)
        self._evictions[decision.pod.uid] = made
        self._choose(made, now)
        self._perform(made, made.begin(now), now)

    def withdraw(self, uid: str, now: int) -> None:
        """Withdraw the eviction if it is not certain yet; a request that is being sent decides by its answer."""
        with self._lock:
            known = self._evictions.get(uid)
            if known is None:
                return
            if self._being_sent is known:
                known.withdrawing = True
            else:
                self._perform(known, known.withdraw(now), now)
        self._bell.notify()

    def resume(self, decision: EvictPod, now: int, *, hard: bool) -> None:
        """Resume an eviction that the previous run started and announced; may repeat requests of that run.

        Its object may still have to be deleted, or, where no kubelet does that, its status to be written.
        """
        with self._lock:
            made = PodEviction(decision, now, hard=hard, announced=True)
            self._evictions[decision.pod.uid] = made
            self._advance(now)
        self._bell.notify()

    def answers(self) -> tuple[EvictionAnswer, ...]:
        """Return the last answer about each pod that is being evicted, or was a while ago."""
        with self._lock:
            return tuple(each.answer for each in self._evictions.values() if each.answer is not None)

    def unanswered(self) -> frozenset[str]:
        """Return the uids of the pods that go only if the API server agrees, and it has not yet."""
        with self._lock:
            return frozenset(uid for uid, each in self._evictions.items() if each.withdrawable and not each.settled)

    def cleaned_up(self) -> frozenset[str]:
        """Return the uids of the evicted pods of which nothing is left running."""
        with self._lock:
            pods = self._node.pods()
            return frozenset(uid for uid, each in self._evictions.items() if nothing_runs(each, pods, self._stopper))

    def may_stop(self, uid: str) -> bool | None:
        """Whether a victim that the previous run chose by a soft threshold may be stopped; `None`: not known yet.

        Its eviction may have been refused, or never asked for; the object shows whether the API server agreed.
        """
        if (
            choose_eviction_method(self._method, hard=False, kubelet=self._node.kubelet() is not False)
            is EvictionMethod.STATUS
        ):
            return True
        pods = self._node.pods()
        if not pods.synced:
            return None
        entry = pods.pods.get(uid)
        return entry is None or entry.terminal or entry.pod.deletion_grace_period_seconds is not None

    def take_evicted(self) -> tuple[EvictPod, ...]:
        """Return the evictions that have become certain, each once."""
        with self._lock:
            evicted = tuple(self._evicted)
            self._evicted.clear()
        return evicted

    @property
    def problems(self) -> tuple[str, ...]:
        """The requests that the API server refused for good, while the pod is remembered, or cannot serve at the moment."""
        with self._lock:
            postponed = tuple(each.problem for each in self._evictions.values() if each.problem)
            return (*(text for _, text in self._problems), *postponed)

    def postponed(self) -> frozenset[str]:
        """Return the uids of the pods whose last request the server could not do for now."""
        with self._lock:
            return frozenset(uid for uid, each in self._evictions.items() if each.problem)

    def in_flight(self) -> tuple[str, ...]:
        """Return the uids of the pods that are being evicted, in the order of their beginning."""
        with self._lock:
            return tuple(uid for uid, each in self._evictions.items() if not each.settled)

    # --- a source of the request queue --------------------------------------------------------------------------------

    def advance(self, now: int) -> int | None:
        """Move on what waits for the runtime, the pods' list or the clock; return when to do so again without a `notify`."""
        with self._lock:
            self._advance(now)
            looks = (next_event_at(each, now) for each in self._evictions.values())
            return min((look for look in looks if look is not None), default=None)

    def call(self, now: int) -> Call | None:
        """Return the request of the pod that has waited longest; hard ones first, and after the conditions for a while."""
        with self._lock:
            pending = self._node.conditions_pending()
            ready = [
                each
                for each in self._evictions.values()
                if each.request(now) is not None and not (pending and now < each.clear_at)
            ]
            if not ready:
                return None
            chosen = min(ready, key=lambda each: (not each.hard, each.begun_at))
            self._last_sent = chosen, chosen.stage
            return lambda: self._send(chosen, now)

    def due_at(self, now: int) -> int | None:
        """Return when the next request may be sent that waits for a time; the thread is woken for any other."""
        with self._lock:
            waiting = [each for each in self._evictions.values() if each.request_at is not None]
            pending = self._node.conditions_pending()
            return min((max(each.request_at or 0, each.clear_at if pending else now) for each in waiting), default=None)

    def refused(self, error: ApiRefusedError, now: int) -> None:
        """Take note that the last request was refused for good."""
        with self._lock:
            if self._last_sent is None:
                return
            eviction, sent = self._last_sent
            self._answered(eviction)
            self._problems.append((eviction.uid, str(error)))
            if eviction.stage is not sent:  # it was shortened meanwhile, and its next request was not refused
                return
            if sent is Stage.ASKING and forbidden_stays(self._method, hard=eviction.hard):
                self._perform(eviction, eviction.refuse(now, retry_after=None, detail=str(error)), now)
            else:
                self._perform(eviction, eviction.receive(Event.FORBIDDEN, now), now)

    # --- events of the machines ---------------------------------------------------------------------------------------

    def _advance(self, now: int) -> None:
        pods = self._node.pods()
        for eviction in self._evictions.values():
            if eviction.stage is Stage.CHOOSING:
                self._choose(eviction, now)
            for event in due_events(eviction, pods, self._stopper, self._node, now):
                self._perform(eviction, eviction.receive(event, now), now)
        self._forget(now)

    def _choose(self, eviction: PodEviction, now: int) -> None:
        kubelet = self._node.kubelet()
        if self._method is EvictionMethod.AUTO and kubelet is None:
            return  # the method depends on whether a kubelet runs the pods
        method = choose_eviction_method(self._method, hard=eviction.hard, kubelet=kubelet is not False)
        self._perform(eviction, eviction.choose(EVENT_OF[method], now, kubelet=kubelet is not False), now)

    def _forget(self, now: int) -> None:
        for uid, each in tuple(self._evictions.items()):
            if each.is_forgettable(now):
                del self._evictions[uid]
                self._backoffs.pop(uid, None)
                self._stopper.forget(uid)
                self._drop_problems(uid)

    def _drop_problems(self, uid: str) -> None:
        self._problems = deque((kept for kept in self._problems if kept[0] != uid), maxlen=self._problems.maxlen)

    # --- requests of the machines -------------------------------------------------------------------------------------

    def _perform(self, eviction: PodEviction, requests: tuple[Request, ...], now: int) -> None:
        """Do what an event asks for, and wake the threads: there may be another request, or something else to look for."""
        decision = eviction.decision
        for request in requests:
            match request:
                case Request.ANNOUNCE:
                    self._announce(eviction, now)
                case Request.STOP | Request.STOP_AGAIN:
                    self._stopper.stop(decision.pod, decision.grace_period_seconds, freeze=decision.freeze)
                case _:  # sent by the queue
                    pass
        self._bell.notify()

    def _announce(self, eviction: PodEviction, now: int) -> None:
        decision = eviction.decision
        self._evicted.append(decision)
        self._events.record(
            RecordEvent(type=WARNING, reason=EVICTED, message=note_with(decision.message, eviction.why)),
            now,
            about=pod_reference(decision.pod),
            annotations=decision.annotations,
            identity=eviction_identity(eviction.uid, eviction.begun_at),
        )
        number, owner = self._repeated.note(decision.pod, now), owner_reference(decision.pod)
        if number and owner is not None:
            self._events.record(repeated_eviction(decision, number, self._events.node_name), now, about=owner)

    def _send(self, eviction: PodEviction, now: int) -> None:
        with self._lock:
            decision, stage = eviction.decision, eviction.stage
            if stage not in REQUEST_OF:  # withdrawn a moment ago
                return
            self._being_sent = eviction
        try:
            outcome = self._request(REQUEST_OF[stage], decision)
        except ApiUnavailableError as error:
            if not error.reached:
                raise
            self._postpone(eviction, stage, str(error), error.retry_after_seconds, now)
        except ApiRefusedError as error:
            if error.status != CONFLICT:
                raise
            self._postpone(eviction, stage, str(error), None, now)
        else:
            self._receive(eviction, stage, outcome, now)
        finally:
            with self._lock:
                self._being_sent = None
                if eviction.withdrawing:
                    self._perform(eviction, eviction.withdraw(now), now)

    def _request(self, request: Request, decision: EvictPod) -> Outcome:
        """Send one request; raises `ApiUnavailableError` and `ApiRefusedError`."""
        pod, since = decision.pod, rfc3339(self._clocks.wall())
        match request:
            case Request.EVICT:
                return self._client.evict(pod, decision.grace_period_seconds)
            case Request.MARK if decision.condition is not None:
                return self._client.mark_disrupted(pod, decision.condition, since)
            case Request.WRITE:
                return self._client.mark_evicted(pod, decision.message, decision.condition, since)
            case _:
                return self._client.delete(pod, decision.grace_period_seconds)

    def _receive(self, eviction: PodEviction, stage: Stage, outcome: Outcome, now: int) -> None:
        with self._lock:
            self._answered(eviction)
            if eviction.stage is stage:  # else it was shortened while the request was being sent
                self._perform(eviction, self._received(eviction, outcome, now), now)

    def _postpone(
        self, eviction: PodEviction, stage: Stage, problem: str, retry_after_seconds: int | None, now: int
    ) -> None:
        """Try this pod's request again later; the other pods' requests are not delayed."""
        with self._lock:
            if eviction.stage is stage:
                backoff = self._backoffs.setdefault(eviction.uid, RetryBackoff(self._clocks.random))
                eviction.postpone(now + backoff.next(retry_after_seconds), problem)

    def _answered(self, eviction: PodEviction) -> None:
        self._backoffs.pop(eviction.uid, None)
        eviction.answered()

    def _received(self, eviction: PodEviction, outcome: Outcome, now: int) -> tuple[Request, ...]:
        """Turn an answer into an event."""
        if outcome.answer is Answer.BLOCKED:
            return self._blocked(eviction, outcome, now)
        if outcome.answer is Answer.GONE:
            return eviction.receive(Event.NOT_FOUND, now)
        if outcome.message:
            self._problems.append((eviction.uid, outcome.message))
        if eviction.stage is Stage.WRITING:
            return eviction.wrote(outcome.version, now)
        return eviction.receive(Event.ACCEPTED, now)

    def _blocked(self, eviction: PodEviction, outcome: Outcome, now: int) -> tuple[Request, ...]:
        after = outcome.retry_after_seconds
        retry = None if after is None else after * SECOND
        first = now if eviction.first_refused_at is None else eviction.first_refused_at
        eviction.first_refused_at = first
        match refusal_response(self._method, hard=eviction.hard, waited=now - first, eviction_timeout=self._timeout):
            case RefusalResponse.BYPASS:
                return eviction.receive(Event.BYPASS, now)
            case RefusalResponse.ASK_AGAIN:
                eviction.ask_later(now, min(retry or SECOND, SECOND))
                return ()
            case RefusalResponse.NEXT_CANDIDATE:
                return eviction.refuse(now, retry_after=retry, detail=outcome.message)
