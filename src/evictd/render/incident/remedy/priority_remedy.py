"""Says which priority would have ranked an evicted pod, which was within its request, behind another one."""

from evictd.core.model.signal import Resource
from evictd.render.history.cause.recorded import IncidentRow
from evictd.render.incident.record.incident import Incident
from evictd.render.incident.remedy.soft_threshold import LEAD_SECONDS
from evictd.render.text import amount_text


def priority_text(found: Incident, victim: IncidentRow, resource: Resource) -> tuple[str, bool]:
    """Write that priority, and tell whether it is advice: one that costs a pod that did not grow is none.

    The text is empty without another pod whose end lasts (`first_that_lasts`): a smaller one makes this one's end no less needed;
    and where a budget refused the eviction first, when the pods held less.
    """
    first = None if found.refusals else first_that_lasts(found)
    if first is None:
        return "", False
    higher = first.priority > victim.priority
    whose = f", whose priority {first.priority} is higher," if higher else ""
    grew = found.verdict is not None and found.verdict.rate_of(first.pod) > 0
    other = f"{first.pod} ({amount_text(first.usage, resource)}){whose}"
    return (
        f"a priority above {max(victim.priority, first.priority)}: {other} would have ranked before it",
        grew,
    )


def first_that_lasts(found: Incident) -> IncidentRow | None:
    """Return the first other pod whose end gives back what was missing and what grows in the next minute; `None` without one.

    The pod that grows most has to hold what was missing only. One that was passed over ranks before the evicted one already.
    """
    if found.missing is None:
        return None
    grower = found.grower
    lasting = found.missing + max(found.rate or 0, 0) * LEAD_SECONDS
    for row in found.ranking:
        least = found.missing if grower is not None and row.pod == grower.pod else lasting
        if (row.usage or 0) >= least and not (row.protected or row.chosen or row.skipped or row.pod in found.siblings):
            return row
    return None
