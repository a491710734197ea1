"""Chooses the method of an eviction, and sends its requests."""

from dataclasses import dataclass

from evictd.act.cluster.clocks import Clocks
from evictd.act.cluster.pod_eviction import Event, Request
from evictd.clients.kube.eviction import EvictionClient, Outcome
from evictd.codec.times import rfc3339
from evictd.core.eviction.eviction_method import (
    EvictionMethod,
    RefusalResponse,
    choose_eviction_method,
    refusal_response,
)
from evictd.core.model.decision import EvictPod

_EVENT_OF = {
    EvictionMethod.EVICTION_API: Event.ASK,
    EvictionMethod.DELETE: Event.DELETE,
    EvictionMethod.STATUS: Event.WRITE,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class EvictionRules:
    """What the configuration says about evictions."""

    method: EvictionMethod
    timeout: int
    """How long a soft eviction waits for a budget, in nanoseconds."""

    def event(self, kubelet: bool | None, *, hard: bool) -> Event | None:
        """Name the method; `None`: it depends on whether a kubelet runs the pods, which is not known."""
        if self.method is EvictionMethod.AUTO and kubelet is None:
            return None
        return _EVENT_OF[choose_eviction_method(self.method, hard=hard, kubelet=kubelet is not False)]

    def response(self, waited: int, *, hard: bool) -> RefusalResponse:
        """Say what a budget's refusal leads to."""
        return refusal_response(self.method, hard=hard, waited=waited, eviction_timeout=self.timeout)


class EvictionSender:
    """Sends the requests of evictions, by the rules of the configuration."""

    def __init__(self, client: EvictionClient, clocks: Clocks, rules: EvictionRules) -> None:
        self.rules = rules
        self._client = client
        self._clocks = clocks

    def send(self, request: Request, decision: EvictPod) -> Outcome:
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
