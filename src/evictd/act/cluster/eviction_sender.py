"""Chooses the method of an eviction, and sends its requests."""

from evictd.act.cluster.clocks import Clocks
from evictd.act.cluster.eviction_stages import Event, Request
from evictd.clients.kube.backoff import RetryBackoff
from evictd.clients.kube.eviction import EvictionClient, Outcome
from evictd.codec.times import rfc3339
from evictd.core.eviction.eviction_method import (
    EvictionMethod,
    RefusalResponse,
    choose_eviction_method,
    forbidden_stays,
    refusal_response,
)
from evictd.core.model.decision import EvictPod

_EVENT_OF = {
    EvictionMethod.EVICTION_API: Event.ASK,
    EvictionMethod.DELETE: Event.DELETE,
    EvictionMethod.STATUS: Event.WRITE,
}


class EvictionSender:
    """Sends the requests of evictions, by what the configuration says about them.

    `timeout` is how long a soft eviction waits for a budget, in nanoseconds.
    """

    def __init__(self, client: EvictionClient, clocks: Clocks, *, method: EvictionMethod, timeout: int) -> None:
        self._client = client
        self._clocks = clocks
        self._method = method
        self._timeout = timeout

    def event(self, kubelet: bool | None, *, hard: bool) -> Event | None:
        """Return the event that names the method; None: it depends on whether a kubelet runs the pods, which is not known."""
        if self._method is EvictionMethod.AUTO and kubelet is None:
            return None
        return _EVENT_OF[choose_eviction_method(self._method, hard=hard, kubelet=kubelet is not False)]

    def response(self, waited: int, *, hard: bool) -> RefusalResponse:
        """Return what a budget's refusal leads to."""
        return refusal_response(self._method, hard=hard, waited=waited, eviction_timeout=self._timeout)

    def stays(self, *, hard: bool) -> bool:
        """Whether a pod stays whose eviction the API server refuses for good."""
        return forbidden_stays(self._method, hard=hard)

    def backoff(self) -> RetryBackoff:
        """Return the delays between the tries of one pod's request."""
        return RetryBackoff(self._clocks.random)

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
