"""Says why no pod is evicted, or why nothing more is done: as one sentence, and as the parts that it consists of.

The headline of the page shows the first part only; the log and every command show the whole sentence.
"""

from evictd.core.eviction.laws.shortage import needed_with_growth
from evictd.core.frozen import frozen
from evictd.core.model.amount_text import amount_with
from evictd.core.model.finding import NoAction, NoActionReason
from evictd.core.model.pod import Pod
from evictd.core.model.signal import SIGNALS, Resource
from evictd.core.units.quantity import Quantity
from evictd.render.text import clean, pod_name, quantity_text, usage_text

_COLLECTORS = "the collectors"
"""How the journal names node-level reclaim that is waited for."""
_RECLAIM = "node-level reclaim"


@frozen
class StopReason:
    """A reason in parts; as text one sentence without the signal."""

    name: str = ""
    """The finding's name, where a person looks more up by it (`docs/reference/findings.md`)."""
    first: str
    """The reason itself."""
    rest: str = ""
    """The amounts, or what follows from it, with the separator in front."""

    def __str__(self) -> str:
        """Return the whole sentence."""
        return f"{self.name}: {self.first}{self.rest}" if self.name else f"{self.first}{self.rest}"


_PLAIN = {
    NoActionReason.NO_STATS: StopReason(first="the stats could not be read, so nothing is decided"),
    NoActionReason.RECLAIM_SUFFICED: StopReason(first="node-level reclaim was enough", rest="; no pod is evicted"),
    NoActionReason.NO_RANK_FUNCTION: StopReason(first="pods cannot be ranked for this signal"),
    NoActionReason.NO_ACTIVE_PODS: StopReason(first="there are no active pods to evict"),
    NoActionReason.PODS_UNKNOWN: StopReason(first="the pods are unknown: the container runtime does not answer"),
    NoActionReason.NOTHING_EVICTABLE: StopReason(
        first="no active pod is left that may be evicted: protected pods never are"
    ),
    NoActionReason.NO_POD_MEASURED: StopReason(first="no evictable pod is measured for this signal, so none is chosen"),
    NoActionReason.API_PODS_STANDALONE: StopReason(
        first="the pods are an API server's and evictd runs standalone", rest="; it only reports"
    ),
    NoActionReason.FILESYSTEM_READ_ONLY: StopReason(
        first="the filesystem is read-only", rest="; an eviction would free nothing of it"
    ),
    NoActionReason.NOTHING_HELPS: StopReason(first="no evictable pod uses any of it, so no eviction would free any"),
    NoActionReason.HELD_BACK: StopReason(first="each pod whose eviction would help is skipped for now"),
    NoActionReason.THRESHOLD_NEVER_CLEAR: StopReason(
        name=NoActionReason.THRESHOLD_NEVER_CLEAR.value,
        first="the threshold has been met since it was configured, and three pods were evicted for it within ten minutes",
        rest="; check its value",
    ),
    NoActionReason.LAYOUT_UNKNOWN: StopReason(
        first="it is not known which disks hold images and pods",
        rest="; thresholds on disks wait for it, under policy Kubelet all thresholds",
    ),
}
"""The reasons without amounts."""


def no_action_text(finding: NoAction) -> str:
    """Write why nothing (more) was decided, without the signal."""
    return str(stop_reason(finding))


def plain_reason_text(why: NoActionReason) -> str:
    """Write a reason that has no amounts, without the signal."""
    return str(_PLAIN[why])


def stop_reason(finding: NoAction) -> StopReason:
    """Return why nothing (more) was decided, in parts."""
    why, threshold = finding.why, finding.threshold
    waited_for = clean(finding.detail) or (pod_name(finding.pod) if finding.pod is not None else "the last victims")
    if why is NoActionReason.WAITING_FOR_VICTIM:
        return StopReason(first=f"waiting for {waited_for} to be gone before another pod is chosen")
    if why is NoActionReason.WAITING_FOR_RELEASE:
        return StopReason(first=f"waiting for what {_RECLAIM if waited_for == _COLLECTORS else waited_for} should free")
    if why in _PLAIN or threshold is None:
        return _PLAIN[why]
    first, rest = _with_amounts(finding, SIGNALS[threshold.signal].resource)
    return StopReason(name=why.value, first=first, rest=rest)


def _with_amounts(finding: NoAction, resource: Resource) -> tuple[str, str]:
    """Return the first part and the rest of a reason that has amounts."""
    detail, needed = clean(finding.detail), amount_with(finding.needed, resource)
    reachable = quantity_text(finding.reachable, resource)
    match finding.why:
        case NoActionReason.PROTECTED_CULPRIT if finding.pod is not None:
            return _culprit_parts(finding, finding.pod, resource)
        case NoActionReason.EVICTION_LIMIT_REACHED:
            limit = detail or (pod_name(finding.pod) if finding.pod is not None else "the last victims")
            missing = "" if _misses_nothing(finding.needed) else f"; {needed} missing"
            return f"evictionLimit allows no more than {limit}", missing
        case NoActionReason.EVICTIONS_DO_NOT_HELP if _misses_nothing(finding.needed):
            but = f", but {detail}" if detail else ""
            return f"the last two evictions {_gave_back(finding, resource)}{but}", "; evictions pause"
        case NoActionReason.EVICTIONS_DO_NOT_HELP:
            therefore = f"{detail}, so" if detail else "so"
            gave_back = _gave_back(finding, resource)
            if finding.needed is not None and finding.reachable is not None and finding.reachable >= finding.needed:
                return (
                    f"the last two evictions {gave_back}, and {needed} missing again",
                    f"; {therefore} evictions pause",
                )
            return f"{needed} missing, and the last two evictions {gave_back}", f"; {therefore} evictions pause"
        case NoActionReason.UNMEASURED_CULPRIT:
            others = f"pods that were not measured hold or grow more than all others, which hold {reachable} together"
            return (
                others,
                f"; {needed_with_growth(finding, resource)}, so no pod within its request is evicted in their place",
            )
        case NoActionReason.NOT_SHORT_OF_MEMORY:
            wanted = quantity_text(finding.needed, resource)
            return (
                f"MemAvailable is {reachable}, above the {wanted} wanted; only page cache holds the threshold met",
                f" ({detail}), so only a hard threshold evicts a pod until tasks stall",
            )
        case _:
            raise KeyError(finding.why)


def _culprit_parts(finding: NoAction, culprit: Pod, resource: Resource) -> tuple[str, str]:
    """Return why no pod goes in the place of a culprit that may not go: which it is and why it may not, and then the amounts."""
    name = pod_name(culprit)
    if finding.needed is None:
        why = clean(finding.detail) or "stalls and may not be evicted now"
        return f"{name} {why}", "; no other pod goes in its place"
    pod = f"{name} {clean(finding.detail) or 'holds or grows more and may not go'}"
    pod = pod.replace("all of them", "all pods that may be evicted")
    reachable = "-" if finding.reachable is None else usage_text(finding.reachable.value(), resource)
    needed = needed_with_growth(finding, resource)
    held = f"The others that may be evicted hold {reachable} together"
    if finding.reachable is not None and not finding.reachable.nano:
        return pod, f"; {needed}, and no pod that may be evicted holds any"
    if finding.suffices:
        return f"{pod}, and no pod within its request goes in its place yet", f"; {needed}. {held}"
    return pod, f"; {needed}. {held}, so evicting them would not help"


def _misses_nothing(needed: Quantity | None) -> bool:
    """Whether nothing is missing yet: the least amount is 1, also of a threshold that is not met."""
    return needed is not None and needed.value() <= 1


def _gave_back(finding: NoAction, resource: Resource) -> str:
    """Write what the last two evictions gave back."""
    some = finding.reachable is not None and finding.reachable.value() > 0
    return f"gave back {quantity_text(finding.reachable, resource)}" if some else "left no more available"
