"""Says how many processes or files of a pod leave the threshold clear, of which no limit in its manifest counts any.

`podPidsLimit` of the kubelet is one number for all pods of a node: it has to be more than the largest pod needs without growth.
"""

from evictd.core.model.signal import Resource
from evictd.render.history.cause.recorded import IncidentRow
from evictd.render.history.evictions import signal_of
from evictd.render.history.history import EventKind
from evictd.render.incident.record.earlier import of_one_owner
from evictd.render.incident.record.incident import Incident
from evictd.render.incident.remedy.limit_remedy import limit_sum, limit_then
from evictd.render.text import first_of, rounded_below, usage_text

_NAMED = 3
_SPARE = 4
"""How many times what the largest pod uses is proposed."""
_LEAST = 128
"""Below it a runtime with many threads does not start."""
_FIT = 2
"""How many pods have to be able to reach a proposed number at once."""
_LOOK = "`pids.peak` of the other pods' cgroups shows what they need, which is more than that"


def pids_limit_text(found: Incident, pod: str) -> str:
    """Write which podPidsLimit would have bounded the growth of a pod, `namespace/name`, and of what grew beside it."""
    limit = "podPidsLimit of the kubelet"
    if first := _first_evicted(found):
        return f"{limit}: `evictd incident {first}`, the first eviction for it, has the number"
    growing = _growing(found, pod)
    if (together := _most_together(found, growing)) is None:
        return f"{limit}: the journal does not have what all others held; `pids.peak` of each pod's cgroup shows what it needs"
    most, largest = together // len(growing), _largest_without(found, growing)
    each = "it" if len(growing) == 1 else f"each of {first_of([row.pod for row in growing], _NAMED)}"
    text = f"{limit} of at most {most}: with that many processes of {each} the threshold would have been clear"
    if largest is None:
        return f"{text}; {_LOOK}"
    if largest >= most:
        return f"{text}; but a pod uses {largest} without that growth, so no number fits all pods of this node"
    good = max(_LEAST, 1 << (_SPARE * largest - 1).bit_length())
    if (fits := together // good) < _FIT:
        return f"{text}; without that growth no pod uses more than {largest}"
    enough = f"so {good} is enough for each, and {fits} pods may reach that at once"
    return f"{text}; without that growth no pod uses more than {largest}, {enough}"


def inodes_text(found: Incident, pod: str) -> str:
    """Write how many files of a pod would have left the threshold clear."""
    row = next((row for row in found.ranking if row.pod == pod), None)
    no_limit = "no limit of a pod counts inodes"
    if row is None or row.usage is None or not found.missing or row.usage <= found.missing:
        return f"fewer files of {pod}: {no_limit}; `df -i` on the node shows how many are free"
    most = row.usage - found.missing
    how = limit_sum(row.usage, found.missing, 0, Resource.INODES)
    most, how = limit_then(found, (pod,), most, 0) or (most, how)
    return f"fewer files of {pod}, at most {usage_text(rounded_below(most), Resource.INODES)} {how}: {no_limit}"


def _growing(found: Incident, pod: str) -> list[IncidentRow]:
    """Return the rows of a pod and of the others that grew notably."""
    notable = () if found.verdict is None else found.verdict.notable
    names = {pod, *(each.pod for each in notable)}
    return [row for row in found.ranking if row.pod in names]


def _first_evicted(found: Incident) -> str:
    """Return the first pod that was evicted for the signal in the minutes before or for the same growth; empty for none.

    It is of another owner. Its end freed some, so a number from this eviction would not have avoided that one.
    """
    soon = (each for each in found.before if each.kind is EventKind.EVICTED and each.uid != found.event.uid)
    evicted = (*(each.event for each in found.earlier), *soon)
    others = (each for each in evicted if not (each.dry_run or of_one_owner(each, found.event)))
    return next((each.pod for each in others if signal_of(each) is found.signal), "")


def _most_together(found: Incident, growing: list[IncidentRow]) -> int | None:
    """Return how many processes these pods may have together while the threshold is clear; `None` where that is not known."""
    usages = [row.usage for row in growing if row.usage is not None]
    if not growing or found.missing is None or len(usages) < len(growing):
        return None
    most = sum(usages) - found.missing
    return most if most > 0 else None


def _largest_without(found: Incident, growing: list[IncidentRow]) -> int | None:
    """Return the most processes that a pod has without growth; `None` where the journal does not have all pods."""
    others = [row.usage for row in found.ranking if row not in growing]
    known = [each for each in others if each is not None]
    grown = {each.pod: each.grown for each in found.growers if each.grown is not None}
    known += [(row.usage or 0) - grown[row.pod] for row in growing if row.pod in grown]
    if found.pods > len(found.ranking) or not known or len(known) < len(others):
        return None
    return max(known)
