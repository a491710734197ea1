"""Answers evictions as an API server with budgets, refusals and outages does, by the rules of evictd's cluster actuator.

A hard threshold's victim is deleted; for a soft one's the Eviction API is asked (`choose_eviction_method`). A budget
answers 429; what follows is decided by `refusal_response`. While the API server cannot be reached, a pod is stopped over the
runtime where the eviction may not wait, and otherwise there is no answer until the outage is over.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from evictd.core.eviction.refusals.eviction_method import (
    RefusalResponse,
    choose_eviction_method,
    is_hard,
    refusal_response,
)
from evictd.core.model.config import EvictionMethod
from evictd.core.model.decision import EvictPod
from evictd.core.model.observation import EvictionAnswer, EvictionAnswerKind
from evictd.world.model import ApiServer, DisruptionBudget, Outage

TOO_MANY_REQUESTS = 429
FORBIDDEN = 403


@dataclass(slots=True)
class SimulatedApiServer:
    """The API server, the answers that evictd has from it, and the evictions that it has not answered."""

    spec: ApiServer
    eviction_timeout: int
    answers: dict[str, EvictionAnswer] = field(default_factory=dict)
    """The last one by uid."""
    unanswered: dict[str, EvictPod] = field(default_factory=dict)
    _allowed: dict[DisruptionBudget, int] = field(default_factory=dict)

    def evict(self, decision: EvictPod, slot: str, now: int) -> bool:
        """Ask for an eviction; return whether the pod is stopped now. `slot` is the name under which budgets know the pod."""
        uid, hard = decision.pod.uid, is_hard(decision)
        method = choose_eviction_method(self.spec.termination, hard=hard, kubelet=self.spec.kubelet)
        outage = outage_at(self.spec.outages, now)
        if outage is not None and waits_for(outage, self.spec, hard=hard):
            self.unanswered[uid] = decision
            return False
        self.unanswered.pop(uid, None)
        if method is EvictionMethod.EVICTION_API and (outage is not None or self._refuses(slot)):
            since = now if decision.refused_since is None else decision.refused_since
            response = refusal_response(
                self.spec.termination, hard=hard, waited=now - since, eviction_timeout=self.eviction_timeout
            )
            if response is not RefusalResponse.BYPASS:
                self._answer(uid, EvictionAnswerKind.REFUSED, now, self.spec.retry_after)
                return False
        self._answer(uid, EvictionAnswerKind.AGREED, now)
        return True

    def ask_again(self, slots: dict[str, str], now: int) -> list[EvictPod]:
        """Repeat unanswered requests; return the evictions that are agreed to. `slots`: running pods by uid."""
        self.unanswered = {uid: each for uid, each in self.unanswered.items() if uid in slots}
        return [each for uid, each in list(self.unanswered.items()) if self.evict(each, slots[uid], now)]

    def withdraw(self, uid: str, now: int) -> None:
        """Drop an eviction that was not answered."""
        if self.unanswered.pop(uid, None) is not None:
            self._answer(uid, EvictionAnswerKind.NOT_ASKED, now)

    def _answer(self, uid: str, kind: EvictionAnswerKind, now: int, retry_after: int | None = None) -> None:
        self.answers[uid] = EvictionAnswer(uid=uid, kind=kind, at=now, retry_after=retry_after)

    def _refuses(self, slot: str) -> bool:
        """Whether a budget does not allow it; counts it where it does."""
        concerned = [budget for budget in self.spec.budgets if slot in budget.pods]
        if any(self._allowed.get(budget, budget.allowed) <= 0 for budget in concerned):
            return True
        for budget in concerned:
            self._allowed[budget] = self._allowed.get(budget, budget.allowed) - 1
        return False


def outage_at(outages: Iterable[Outage], now: int) -> Outage | None:
    """Return the outage of the API server at a time; `None` where there is none."""
    return next((each for each in outages if each.start <= now < each.start + each.duration), None)


def waits_for(outage: Outage, spec: ApiServer, *, hard: bool) -> bool:
    """Whether an eviction has no answer until the outage is over; with `Status` evictd stops the pod and writes afterwards."""
    method = choose_eviction_method(spec.termination, hard=hard, kubelet=spec.kubelet)
    needs_server = not hard and method is not EvictionMethod.STATUS
    return needs_server and outage.status not in {TOO_MANY_REQUESTS, FORBIDDEN}
