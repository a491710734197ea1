"""Says of an incident which smaller soft threshold would not have been met."""

from evictd.render.incident.incident import Incident
from evictd.render.text import rounded_below, signal_amount


def hidden_from_soft(found: Incident) -> int:
    """Return by how much a soft threshold acts below its configured amount: by the memory that no process can allocate."""
    return max((found.soft - each for kind, each in found.levels if kind == "soft" and found.soft), default=0)


def smaller_soft_text(found: Incident) -> str:
    """Write the soft threshold that what was left did not reach; empty where a smaller one would have been met as well.

    Where something still filled the supply, a smaller one would only have been met later. It is the amount to configure, with
    which the soft threshold is met before the hard one.
    """
    because, verdict = found.event.because, found.verdict
    threshold = because.get("threshold") or {}
    if found.signal is None or found.available is None or verdict is None or verdict.growers or (found.rate or 0) > 0:
        return ""
    lowest = min((amount for seconds, amount in found.points if seconds <= 0), default=found.available)
    enough = rounded_below(min(lowest, found.available))
    hard = max((limit for kind, limit in found.levels if kind == "hard"), default=0)
    if not threshold.get("gracePeriodNanoseconds") or enough <= hard:
        return ""
    hidden = hidden_from_soft(found)
    amount = signal_amount(enough + hidden, found.signal)
    had = "" if found.soft is None else f" (it was {signal_amount(found.soft, found.signal)})"
    less = f" ({amount} less what no process can allocate)" if hidden else ""
    left = f"{signal_amount(enough, found.signal)} or more was left{less}, and nothing grew any more"
    return f"a soft threshold of at most {amount}{had}: {left}"
