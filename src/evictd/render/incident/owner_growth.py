"""Tells of an incident whether the pods of the evicted pod's owner had no part in what made the node short."""

from evictd.render.incident.incident import Incident


def only_others_grew(found: Incident) -> bool:
    """Whether something grew, none of it the evicted pod or others of its owner, and no new pod of that came here."""
    verdict = found.verdict
    if verdict is None or not verdict.growers or not found.measured or found.successors:
        return False
    total = sum(each.rate for each in verdict.growers)
    kin = {found.event.pod} | found.siblings
    return not any(each.pod in kin and each.rate * 10 >= total for each in verdict.growers)
