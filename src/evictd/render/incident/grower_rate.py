"""Returns by how much a second a pod grew before an eviction: one report has one rate."""

from evictd.core.units.duration import SECOND
from evictd.render.incident.incident import Incident
from evictd.render.incident.verdict import Grower

_NEARLY = 50
"""Two rates are the same if they differ by less than this part."""
_SAME = 10
"""One pod alone made the signal fall if their rates differ by less than this part."""
_ALONE = 3
"""The rate of what alone grew may be wrong by this factor."""
_TOGETHER = 4
"""The rates of several may be wrong by this part of their sum."""


def grower_rate(found: Incident, grower: Grower) -> int:
    """Return by how much a second it grew: its part of what the signal fell by, where that agrees with what was measured.

    The use of a disk by a pod is measured less often than the signal, and the mean of about a minute includes what was before
    the growth began, so its own rate is less exact.
    """
    growers = () if found.verdict is None else found.verdict.growers
    total, fell = sum(each.rate for each in growers), found.rate or 0
    all_of_it = len(growers) == 1 and abs(total - fell) * _SAME <= fell
    if not all_of_it and found.arrivals.held * SECOND * _NEARLY > max(fell, 0) * found.arrivals.over > 0:
        return grower.rate  # the signal fell by what the pods held that came, too
    decided = found.event.evidence.get("because", {}).get("fillRate")
    if len(growers) == 1 and isinstance(decided, int) and abs(decided - fell) * _NEARLY <= fell:
        return decided  # the line of the eviction names it
    if len(growers) == 1:
        return fell if fell <= total * _ALONE and total <= fell * _ALONE else grower.rate
    return grower.rate * fell // total if total and abs(fell - total) * _TOGETHER <= total else grower.rate
