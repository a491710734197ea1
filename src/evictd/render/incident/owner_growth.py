"""Tells of an incident whether the pods of the evicted pod's owner had no part in what made the node short."""

from evictd.core.units.duration import SECOND
from evictd.render.incident.aftermath import AFTER
from evictd.render.incident.incident import Incident


def only_others_grew(found: Incident) -> bool:
    """Whether something grew, none of it the evicted pod or others of its owner, and no new pod of that came here soon."""
    verdict = found.verdict
    back = any(seconds * SECOND <= AFTER for _, seconds in found.successors)
    if verdict is None or not verdict.growers or not found.measured or back:
        return False
    total = sum(each.rate for each in verdict.growers)
    kin = {found.event.pod} | found.siblings
    return not any(each.pod in kin and each.rate * 10 >= total for each in verdict.growers)
