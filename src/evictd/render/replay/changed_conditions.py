"""Says whether node conditions that are reported otherwise could have changed which pods a journal has.

While a condition is reported, its taint keeps new pods away. One that is reported for longer only keeps more of them away, so
nothing differs where no pod came after that, and none was evicted.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import dropwhile
from typing import Any

from evictd.core.frozen import frozen

Plain = Mapping[str, Any]
REPORTS = "ReportConditions"


@frozen
class ReportedConditions:
    """The conditions after a cycle, then and now, with the pods that were read in it."""

    then: frozenset[str]
    now: frozenset[str]
    pods: frozenset[str]
    evicts: bool
    """Whether a pod is evicted in it, then or now."""

    @property
    def otherwise(self) -> bool:
        """Whether they differ."""
        return self.then != self.now


def conditions_after(decisions: Iterable[Plain], before: frozenset[str]) -> frozenset[str]:
    """Return the conditions after recorded decisions."""
    reported = [each.get("conditions") for each in decisions if each.get("kind") == REPORTS]
    last = reported[-1] if reported else None
    return frozenset(map(str, last)) if isinstance(last, list) else before


def may_change_pods(cycles: Sequence[ReportedConditions]) -> bool:
    """Whether other conditions could have changed which pods came, or were evicted, from the first difference on."""
    rest = list(dropwhile(lambda cycle: not cycle.otherwise, cycles))
    if not all(each.now >= each.then for each in rest):
        return True
    return any(each.evicts or not each.pods <= rest[0].pods for each in rest[1:])
