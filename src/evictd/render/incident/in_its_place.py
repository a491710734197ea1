"""Names the pod that would have gone in the place of the evicted one, where the decision was made again without it."""

from collections.abc import Sequence

from evictd.core.model.signal import Resource
from evictd.render.history.recorded_ranking import IncidentRow
from evictd.render.incident.incident import Incident
from evictd.render.text import amount_text


def grew_instead(found: Incident) -> bool:
    """Whether with a request of what the evicted pod used, which did not grow, the pod that grew most would have gone."""
    verdict = found.verdict
    if verdict is None or verdict.grew or verdict.grower is None:
        return False
    return bool(verdict.grower.pod) and verdict.grower.pod == found.with_request


def in_its_place(pod: str, ranking: Sequence[IncidentRow], resource: Resource) -> str:
    """Return a pod, `namespace/name`, with what it uses, and with the first pod before it, which would have been passed over.

    The ranking is that of the real decision, whose evicted pod is left out: the order of the others is the same.
    """
    row = next((row for row in ranking if row.pod == pod), None)
    if row is None:
        return pod
    used = amount_text(row.usage, resource)
    first = next((each for each in ranking if not (each.protected or each.chosen or each.skipped)), row)
    if first.number >= row.number:
        return f"{pod} ({used})"
    return f"{pod} ({used}; {first.pod}, which ranks before it, would have been passed over)"
