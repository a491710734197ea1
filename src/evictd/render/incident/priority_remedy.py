"""Says which priority would have ranked an evicted pod, which was within its request, behind another one."""

from evictd.core.model.signal import Resource
from evictd.render.history.recorded_ranking import IncidentRow
from evictd.render.incident.first_too_little import first_that_lasts
from evictd.render.incident.incident import Incident
from evictd.render.text import amount_text


def priority_text(found: Incident, victim: IncidentRow, resource: Resource) -> tuple[str, bool]:
    """Write that priority, and tell whether it is advice: one that costs a pod of higher priority, which did not grow, is none.

    The text is empty without another pod whose end lasts (`first_that_lasts`): a smaller one makes this one's end no less needed.
    """
    first = first_that_lasts(found)
    if first is None:
        return "", False
    higher = first.priority > victim.priority
    whose = f", whose priority {first.priority} is higher," if higher else ""
    grew = found.verdict is not None and found.verdict.rate_of(first.pod) > 0
    other = f"{first.pod} ({amount_text(first.usage, resource)}){whose}"
    return (
        f"a priority above {max(victim.priority, first.priority)}: {other} would have ranked before it",
        grew or not higher,
    )
