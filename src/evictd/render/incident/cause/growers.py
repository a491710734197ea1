"""Says what grew before an eviction, by how much a second, and which of it made the node short."""

from collections.abc import Collection

from evictd.core.model.signal import WITH_REQUEST
from evictd.core.units.duration import MINUTE, SECOND, format_seconds
from evictd.render.incident.record.incident import Incident
from evictd.render.incident.record.readings import falling
from evictd.render.incident.record.verdict import Grower, Need
from evictd.render.text import amount_text, first_of, seconds_text, usage_text

_NEARLY = 50
"""Two rates are the same if they differ by less than this part."""
_SAME = 10
"""One pod alone made the signal fall if their rates differ by less than this part."""
_ALONE = 3
"""The rate of what alone grew may be too low by this factor, or too high by less than half."""
_TOGETHER = 4
"""The rates of several may be wrong by this part of their sum."""
_NAMED = 3
_CALM = 11
"""Seconds between two readings of a calm node, and one more."""


def grower_rate(found: Incident, grower: Grower) -> int:
    """Return by how much a second it grew: its part of what the signal fell by, where that agrees with what was measured.

    The use of a disk by a pod is measured less often than the signal, and the mean of about a minute includes what was before
    the growth began, so its own rate is less exact.
    """
    growers = found.growers
    total, fell, alone = sum(each.rate for each in growers), found.rate or 0, len(growers) == 1
    decided = found.event.because.get("fillRate")
    if alone and isinstance(decided, int) and (abs(decided - fell) * _NEARLY <= fell or _is_brief(found, decided)):
        return decided  # the line of the eviction names it
    all_of_it = alone and abs(total - fell) * _SAME <= fell
    if not all_of_it and found.arrivals.held * SECOND * _NEARLY > max(fell, 0) * found.arrivals.over > 0:
        return grower.rate  # the signal fell by what the pods held that came, too
    if alone:
        return fell if fell <= total * _ALONE and total * 7 <= fell * 10 else grower.rate
    return grower.rate * fell // total if total and abs(fell - total) * _TOGETHER <= total else grower.rate


def _is_brief(found: Incident, decided: int) -> bool:
    """Whether the signal fell from one reading of the calm node to the next: it began later than at the first of these."""
    known = falling(found.points)
    return decided > (found.rate or 0) > 0 and known[-1][0] - known[0][0] <= _CALM


def other_growers(found: Incident) -> tuple[Grower, ...]:
    """Return what else grew notably in the minute before the eviction, or grows on."""
    notable = () if found.verdict is None else found.verdict.notable
    own = {found.event.pod} if found.measured else {found.event.pod, ""}  # what it took then belongs to no measured pod
    if (
        found.verdict is not None
        and (fast := found.verdict.brought_forward_by) is not None
        and fast.pod in found.steady
    ):
        own.add(fast.pod)
    on = () if found.grows_on is None else found.grows_on.pods
    return tuple(each for each in found.growers if each.pod not in own and (each in notable or each.pod in on))


def taken_beside(found: Incident, pods: Collection[str]) -> int:
    """Return what all else takes in a minute: a limit of these pods has to leave that free."""
    own = pods if found.measured else {*pods, ""}  # what an unmeasured pod took belongs to no measured one
    return sum(each.rate for each in found.growers if each.pod not in own) * MINUTE // SECOND


def only_others_grew(found: Incident) -> bool:
    """Whether something grew, none of it the evicted pod or others of its owner."""
    verdict = found.verdict
    if verdict is None or not verdict.growers or not found.measured:
        return False
    kin = {found.event.pod} | found.siblings
    return not any(each.pod in kin for each in verdict.notable)


def grew_together(found: Incident) -> tuple[Grower, ...]:
    """Return the pods beyond their requests that made most of the growth; empty where one did, or the evicted pod grew."""
    verdict, resource = found.verdict, found.resource
    if verdict is None or resource is None or verdict.grew or verdict.grower is not None or found.host_filled:
        return ()
    beyond = {row.pod for row in found.ranking if resource not in WITH_REQUEST or (row.usage or 0) > row.request}
    total = sum(each.rate for each in verdict.growers)
    growers = tuple(each for each in verdict.notable if each.pod in beyond - {verdict.pod})
    return growers if sum(each.rate for each in growers) * 2 > total else ()


def together_text(found: Incident) -> str:
    """Write which pods these are and by how much they grew; empty without any."""
    growers = grew_together(found)
    if not growers or found.resource is None:
        return ""
    rate = usage_text(sum(grower_rate(found, each) for each in growers), found.resource)
    return f"{first_of([each.pod for each in growers], _NAMED)}: they took {rate} a second together"


def grew_beside_text(found: Incident) -> str:
    """Write by how much it grew; empty where it did not by a tenth of all growth, was within its request, or was the cause."""
    verdict, victim, resource = found.verdict, found.victim, found.resource
    if verdict is None or victim is None or resource is None or not (found.host_filled and found.measured):
        return ""
    if not verdict.grew or (resource in WITH_REQUEST and (victim.usage or 0) <= victim.request):
        return ""
    own = next(each for each in verdict.growers if each.pod == verdict.pod)
    return f"{own.pod} grew by {usage_text(grower_rate(found, own), resource)} a second as well"


def larger_culprit(found: Incident) -> tuple[str, ...]:
    """Return a pod that grew as well, though less, and whose end alone would have relieved the node; empty for none."""
    verdict, resource = found.verdict, found.resource
    if verdict is None or resource is None or verdict.need is not Need.ANOTHER_POD or len(verdict.fewest) > 1:
        return ()
    first = verdict.grower
    others = {each.pod for each in verdict.growers if each is not first}
    rows = (row for row in found.ranking if row.pod in others.intersection(verdict.fewest))
    held = ((row.pod, amount_text(row.usage, resource)) for row in rows if row.usage is not None)
    return tuple(f"less growth of {pod}: it held {amount}, and its end would have been enough" for pod, amount in held)


def brought_forward_cause(found: Incident, went: str) -> str:
    """Write by how much the evicted pod had grown, and what brought its eviction forward; empty where nothing did."""
    own, other = _both(found)
    if own is None or other is None or found.resource is None:
        return ""
    grew = f"{own.pod} grew by {usage_text(own.grown or 0, found.resource)} in {_over(own)} and {went}"
    return f"{grew}; {other.pod} only brought it forward"


def brought_forward_remedy(found: Incident) -> str:
    """Write that less growth of the faster pod would only have delayed the eviction; empty where nothing brought it forward."""
    own, other = _both(found)
    if own is None or other is None or found.resource is None:
        return ""
    later = seconds_text((other.grown or 0) / own.rate)
    rate = usage_text(own.rate, found.resource)
    return f"less growth of {other.pod}: {own.pod} grew by {rate} a second, so it would have gone about {later} later"


def _both(found: Incident) -> tuple[Grower | None, Grower | None]:
    """Return the evicted pod and the one that brought its eviction forward; `None` twice where nothing did."""
    other = None if found.verdict is None else found.verdict.brought_forward_by
    if found.verdict is None or other is None or not other.pod:
        return None, None
    return next(each for each in found.verdict.growers if each.pod == found.event.pod), other


def _over(grower: Grower) -> str:
    return format_seconds(grower.over)
