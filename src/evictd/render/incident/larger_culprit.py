"""Finds a pod that grew slower than the fastest one before an eviction, and held what was missing."""

from evictd.render.incident.incident import Incident
from evictd.render.incident.verdict import Need
from evictd.render.text import amount_text


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
