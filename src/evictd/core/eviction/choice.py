"""Declares the result of a choice: the pod that goes, if any, and the findings that explain it."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from evictd.core.model.decision import EvictPod
from evictd.core.model.finding import Finding, NoActionReason, PodSkipped, ProtectedPodSkipped, RankedPod, SkipReason

Skip = ProtectedPodSkipped | PodSkipped
"""The finding that says why a pod cannot be chosen now."""


class Choice(NamedTuple):
    """The chosen pod, if any, and the findings that explain the choice."""

    eviction: EvictPod | None
    findings: tuple[Finding, ...] = ()
    missing: int = 0
    """Policy Standard: what was missing of the supply when the pod was chosen."""
    elsewhere_grew: bool = False
    """Policy Standard: growth elsewhere was more than twice that of the pods."""


def in_rank_order(rows: Iterable[RankedPod], skips: Mapping[str, Skip]) -> tuple[Skip, ...]:
    """Return the findings of these rows that are skipped."""
    return tuple(skips[row.uid] for row in rows if row.uid in skips)


_NO_POD = {
    SkipReason.BUDGET: NoActionReason.HELD_BACK,
    SkipReason.OWNER: NoActionReason.HELD_BACK,
    SkipReason.NOT_MEASURED: NoActionReason.NO_POD_MEASURED,
    SkipReason.USES_NOTHING: NoActionReason.NOTHING_HELPS,
    SkipReason.STALLS_LITTLE: NoActionReason.NOTHING_HELPS,
    SkipReason.IN_FLIGHT: NoActionReason.NOTHING_EVICTABLE,
}
"""The reason for doing nothing when every pod is skipped: that of the first skip reason in this order which any pod has."""


def why_no_pod(skips: Iterable[Skip]) -> NoActionReason:
    """Return the reason for doing nothing when every pod is skipped."""
    found = {skip.reason for skip in skips if isinstance(skip, PodSkipped)}
    return next((why for reason, why in _NO_POD.items() if reason in found), NoActionReason.NOTHING_EVICTABLE)
