"""Says which pods the API server is asked to evict, and which it refused, from the document of `/statusz`."""

from collections.abc import Mapping, Sequence
from typing import Any

from evictd.render.status.times.timing import Approach, approaches, graces, hard_then
from evictd.render.text import clean, first_of, seconds_text

Document = Mapping[str, Any]

_NAMED = 3
_AUTO = "Auto"
"""`EvictionMethod.AUTO`, whose module `status` need not load."""
_BUDGET = "let the disruption budget of {pod} allow its eviction (`kubectl -n {namespace} get pdb`), or limit or move that pod"


def asked_text(asked: Sequence[Document]) -> str:
    """Write that the API server is asked to evict these pods, which it has not agreed to, and whose eviction it refused.

    Of several refused pods the one that should go stands at the front: which one is asked for changes with each attempt.
    """
    names = first_of([clean(row["pod"]) for row in asked], _NAMED)
    if not asked[0]["refusals"]:
        return f"the API server is asked to evict {names}, and has not answered yet"
    since = f"{_times(asked[0])} since {asked[0]['refusedSince'][11:19]} UTC"
    first = clean(asked[0]["refusedFirst"])
    if not first or (asked[0]["refusedPods"] == 1 and names == first):
        return f"the API server is asked to evict {names}; it refused {since}"
    others = asked[0]["refusedPods"] - 1
    more = f" and {others} other {'pod' if others == 1 else 'pods'}" if others else ""
    return (
        f"the API server refused to evict {first}{', which comes first,' if others else ''}{more} ({since}); "
        f"it is asked for {names} now"
    )


def refused_lately(pod: Document) -> str:
    """Write of the pod that would go, after a comma, that a disruption budget refused its eviction, and when; empty if none did.

    evictd knows of a budget when the API server has refused, and for some minutes.
    """
    ago = pod["refusedSecondsAgo"]
    return "" if ago is None else f", but a disruption budget refused its eviction {seconds_text(ago)} ago"


def unread_budgets(status: Document) -> str:
    """Write that a disruption budget may refuse the first pod that would go soon; empty where none can, or no pod would soon.

    With `podTermination: Auto` none can at a hard threshold.
    """
    if status["leaving"] or status["asked"]:
        return ""
    first = next(((each.entry, each.hard) for each in graces(status)), None) or next(
        ((each.entry, _acts_at_hard(each)) for each in approaches(status)), None
    )
    if first is None or (first[1] and status["podTermination"] == _AUTO):
        return ""
    pod = first[0]["next"]
    if pod is None or not pod["budgetMayRefuse"]:
        return ""
    beside = " beside a kubelet" if status["podTermination"] == _AUTO else ""
    return f"evictd does not read disruption budgets: one may refuse the eviction of {clean(pod['pod'])}{beside}"


def _acts_at_hard(near: Approach) -> bool:
    """Whether a hard threshold acts first: this one, or one that is met before the end of this one's grace period."""
    within = near.seconds + near.threshold["gracePeriodSeconds"]
    return near.threshold["kind"] == "hard" or hard_then(near.entry, within) is not None


def _times(row: Document) -> str:
    return "once" if row["refusals"] == 1 else f"{row['refusals']} times"


def asked_remedy(status: Document) -> str:
    """Return what to do about the refused pod that should go; empty where none is known."""
    first = next((row["refusedFirst"] for row in status["asked"] if row["refusedFirst"]), "")
    return budget_remedy(first) if first else ""


def budget_remedy(pod: str) -> str:
    """Return what to do about a disruption budget that refuses the eviction of a pod."""
    return _BUDGET.format(pod=clean(pod), namespace=clean(pod.partition("/")[0]))
