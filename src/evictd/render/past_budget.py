"""Says of a recorded eviction for how long a disruption budget had refused it, where evictd went past the budget."""

from collections.abc import Mapping
from typing import Any

from evictd.codec.journal_record import JournalRecord
from evictd.render.text import duration_text


def past_budget(record: JournalRecord, decision: Mapping[str, Any]) -> str:
    """Write that a budget refused a soft eviction for `evictionTimeout`, after which evictd deletes the pod; else empty."""
    since, timeout = decision.get("refusedSince"), record.config.eviction_timeout
    grace = (decision["because"].get("threshold") or {}).get("gracePeriodNanoseconds")
    if since is None or timeout is None or not grace or (waited := record.now - since) < timeout:
        return ""
    # `podTermination: EvictionAPI` would ask again instead.
    return past_budget_text("it", waited, timeout)


def past_budget_text(pod: str, waited: int, timeout: int) -> str:
    """Write that a pod was deleted after a budget had refused it for a time that is not shorter than `evictionTimeout`."""
    return (
        f"A disruption budget refused {pod} for {duration_text(waited)}; past evictionTimeout ({duration_text(timeout)}) "
        "evictd deletes it all the same (podTermination: Auto)."
    )
