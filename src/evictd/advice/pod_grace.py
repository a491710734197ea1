"""Finds the `evictionMaxPodGracePeriod` that gives pods the time that they take to end.

How quickly the evicted pods ended says nothing of other pods: the value is never lower than that of a node, nor than the API's
default for a pod. A pod that was killed at the end of its grace period does not show how long it takes.
"""

from collections.abc import Sequence

from evictd.advice.enough import quantile
from evictd.advice.episode import Episode
from evictd.advice.evidence import NodeEvidence
from evictd.core.frozen import frozen
from evictd.core.units.duration import SECOND

DEFAULT_POD_GRACE = 30
"""The API's default grace period of a pod in seconds."""


@frozen
class PodGrace:
    """What pods took to end, and what is right for all nodes, in seconds."""

    seconds: int
    took: int
    """What pods took for a soft threshold, rounded up; 0 where too few ended."""
    ends: int
    """The pods whose end for a soft threshold was recorded."""
    timed_out: tuple[Episode, ...]
    """Those of them that were killed at the end of their grace period."""
    raises: bool
    """Whether enough pods ended, and a node gives less than that."""
    unlimited: bool
    """Whether a node gives pods all of their own grace period, which no number does."""
    cuts: tuple[int, str] | None = None
    """The greatest `terminationGracePeriodSeconds` of a recorded pod, and that pod, if it is above `seconds`."""


def pod_grace(nodes: Sequence[NodeEvidence], cover: int, least: int) -> PodGrace:
    """Return the grace period for all nodes; what pods took counts from `least` recorded ends on."""
    soft = [each for node in nodes for each in node.episodes if each.ended and not each.hard and not each.shortened]
    ends = [each.took for each in soft if not each.timed_out]
    took = -(-quantile(ends, cover) // (5 * SECOND)) * 5 if len(ends) >= least else 0
    now = [node.max_pod_grace for node in nodes if node.readings]
    wanted = max(took, DEFAULT_POD_GRACE)
    seconds = max([wanted, *now])
    longest = max((node.longest_grace for node in nodes), default=(0, ""))
    return PodGrace(
        seconds=seconds,
        cuts=longest if longest[0] > seconds else None,
        took=took,
        ends=len(soft),
        timed_out=tuple(each for each in soft if each.timed_out),
        raises=len(soft) >= least and any(0 <= each < wanted for each in now),
        unlimited=any(each < 0 for each in now),
    )
