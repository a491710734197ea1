"""Says of pods that would have gone first with another request or priority whether they hold enough."""

from evictd.render.history.recorded_ranking import IncidentRow
from evictd.render.incident.incident import Incident
from evictd.render.incident.within_lead import LEAD_SECONDS


def first_too_little(found: Incident) -> str:
    """Return why the end of all other pods above their requests would not have been enough; empty where it would.

    It would not where they hold less than other pods grow by in the next minute.
    """
    others = [each for each in found.ranking if _may_go_first(each)]
    held = sum(each.usage or 0 for each in others)
    if found.missing is None or not others:
        return ""
    if held < found.missing:
        return "and that is too little"
    growers = found.growers
    names = {each.pod for each in others}
    grown = sum(each.rate for each in growers if each.pod and each.pod not in names) * LEAD_SECONDS
    if held < found.missing + grown:
        return "and all pods above their requests hold less than others grow by in a minute"
    return ""


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


def _may_go_first(row: IncidentRow) -> bool:
    return not row.protected and not row.chosen and (row.usage or 0) > row.request
