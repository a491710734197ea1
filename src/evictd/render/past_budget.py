"""Says of an eviction for how long a disruption budget had refused it, where evictd went past the budget."""

from collections.abc import Iterable, Mapping
from typing import Any

from evictd.codec.records.journal_record import JournalRecord
from evictd.core.model.config import EvictionConfig, EvictionMethod
from evictd.core.model.decision import Decision, begun_evictions
from evictd.render.text import duration_text


def past_budget(record: JournalRecord, decision: Mapping[str, Any]) -> str:
    """Write that a budget refused a recorded soft eviction for `evictionTimeout`, and evictd deletes the pod; else empty."""
    grace = (decision["because"].get("threshold") or {}).get("gracePeriodNanoseconds")
    return _past(decision.get("refusedSince") if grace else None, record.config.eviction_timeout, record.now)


def _past(since: int | None, timeout: int | None, now: int) -> str:
    """Write it of a soft eviction that a budget refuses since a time; empty where it does not, or not for long enough."""
    if since is None or timeout is None or (waited := now - since) < timeout:
        return ""
    return past_budget_text("it", waited, timeout)


def past_budget_text(pod: str, waited: int, timeout: int) -> str:
    """Write what is done with a pod that a budget refused for at least `evictionTimeout`: it goes by either answer."""
    return (
        f"A disruption budget refused {pod} for {duration_text(waited)}; past evictionTimeout ({duration_text(timeout)}) "
        "evictd asks once more, and deletes it if that is refused too (podTermination: Auto; with EvictionAPI the budget holds)."
    )


def with_past_budget(
    why: Mapping[str, str], decisions: Iterable[Decision], config: EvictionConfig, now: int
) -> dict[str, str]:
    """Return why pods were chosen, by uid, with the disruption budget past which evictd deletes a pod."""
    timeout = config.eviction_timeout if config.pod_termination is EvictionMethod.AUTO else None
    soft = (
        each for each in begun_evictions(decisions) if each.because.threshold and each.because.threshold.grace_period
    )
    past = {each.pod.uid: _past(each.refused_since, timeout, now) for each in soft}
    return {uid: " ".join(filter(None, (text, past.get(uid)))) for uid, text in why.items()}
