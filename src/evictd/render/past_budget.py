"""Says of an eviction for how long a disruption budget had refused it, where evictd went past the budget."""

from collections.abc import Iterable, Mapping
from typing import Any

from evictd.codec.decision import encode_decision
from evictd.core.model.config import EvictionConfig, EvictionMethod
from evictd.core.model.decision import Decision, begun_evictions
from evictd.render.text import duration_text


def past_budget(decision: Mapping[str, Any], timeout: int | None, now: int) -> str:
    """Write that a budget refused a soft eviction for `evictionTimeout`, after which evictd deletes the pod; else empty."""
    since = decision.get("refusedSince")
    grace = (decision["because"].get("threshold") or {}).get("gracePeriodNanoseconds")
    if since is None or timeout is None or not grace or (waited := now - since) < timeout:
        return ""
    return past_budget_text("it", waited, timeout)


def past_budget_text(pod: str, waited: int, timeout: int) -> str:
    """Write that a pod was deleted after a budget had refused it for a time that is not shorter than `evictionTimeout`."""
    return (
        f"A disruption budget refused {pod} for {duration_text(waited)}; past evictionTimeout ({duration_text(timeout)}) "
        "evictd deletes it all the same (podTermination: Auto; with EvictionAPI the budget holds)."
    )


def with_past_budget(
    why: Mapping[str, str], decisions: Iterable[Decision], config: EvictionConfig, now: int
) -> dict[str, str]:
    """Return why pods were chosen, by uid, with the disruption budget past which evictd deletes a pod."""
    timeout = config.eviction_timeout if config.pod_termination is EvictionMethod.AUTO else None
    past = {each.pod.uid: past_budget(encode_decision(each), timeout, now) for each in begun_evictions(decisions)}
    return {uid: " ".join(filter(None, (text, past.get(uid)))) for uid, text in why.items()}
