"""Finds what grew before an eviction beside the evicted pod."""

from evictd.render.incident.incident import Incident
from evictd.render.incident.verdict import Grower


def other_growers(found: Incident) -> tuple[Grower, ...]:
    """Return what else grew in the minute before the eviction, by at least a tenth of all growth, or grows on."""
    growers = () if found.verdict is None else found.verdict.growers
    total = sum(each.rate for each in growers)
    own = {found.event.pod} if found.measured else {found.event.pod, ""}  # what it took then belongs to no measured pod
    if found.verdict is not None and (fast := found.verdict.hastened_by) is not None and fast.pod in found.steady:
        own.add(fast.pod)
    on = () if found.grows_on is None else found.grows_on.pods
    return tuple(each for each in growers if each.pod not in own and (each.rate * 10 >= total or each.pod in on))
