"""Finds the pods that made a node short together, where none of them made most of the growth."""

from evictd.core.model.signal import WITH_REQUEST
from evictd.render.incident.grower_rate import grower_rate
from evictd.render.incident.incident import Incident
from evictd.render.incident.verdict import Grower
from evictd.render.text import first_of, usage_text

_NAMED = 3


def grew_together(found: Incident) -> tuple[Grower, ...]:
    """Return the pods beyond their requests that made most of the growth; empty where one did, or the evicted pod grew."""
    verdict, resource = found.verdict, found.resource
    if verdict is None or resource is None or verdict.grew or verdict.grower is not None or found.host_filled:
        return ()
    beyond = {row.pod for row in found.ranking if resource not in WITH_REQUEST or (row.usage or 0) > row.request}
    total = sum(each.rate for each in verdict.growers)
    growers = tuple(each for each in verdict.growers if each.pod in beyond - {verdict.pod} and each.rate * 10 >= total)
    return growers if sum(each.rate for each in growers) * 2 > total else ()


def together_text(found: Incident) -> str:
    """Write which pods these are and by how much they grew; empty without any."""
    growers = grew_together(found)
    if not growers or found.resource is None:
        return ""
    rate = usage_text(sum(grower_rate(found, each) for each in growers), found.resource)
    return f"{first_of([each.pod for each in growers], _NAMED)}: they took {rate} a second together"
