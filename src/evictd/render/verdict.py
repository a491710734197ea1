"""Says whether an eviction was needed, to an observer who sees everything go on growing as it did in the minute before.

`evictd.world.oracle` finds the fewest pods whose end relieves the node; this module writes what that means for the evicted pod.
"""

from enum import Enum

from evictd.core.frozen import frozen
from evictd.core.units.duration import format_duration


class Need(Enum):
    """What the end of the pod was needed for."""

    NEEDED = "Needed"
    """It is one of the fewest pods whose end relieves the node."""
    ANOTHER_POD = "AnotherPod"
    """The fewest pods whose end relieves the node are others."""
    NOTHING_SHORT = "NothingShort"
    """No threshold would have been met."""
    NO_POD_HELPS = "NoPodHelps"
    """No end of any pod relieves the node."""


@frozen
class EvictionVerdict:
    """Whether the end of a pod was needed, and the fewest pods whose end relieves the node."""

    need: Need
    pod: str
    """`namespace/name` of the evicted pod."""
    fewest: tuple[str, ...] = ()
    """`namespace/name` of each; empty where no pod helps or none is needed."""
    played: int
    """For how many nanoseconds the node was played on."""

    @property
    def text(self) -> str:
        """The verdict as a sentence without a full stop."""
        length = format_duration(self.played)
        grown = f"had everything gone on growing for {length} as in the minute before"
        names = ", ".join(self.fewest)
        match self.need:
            case Need.NEEDED if self.fewest == (self.pod,):
                return f"its end was needed: {grown}, its end alone would have relieved the node"
            case Need.NEEDED:
                return f"its end was needed: {grown}, the fewest pods that relieve the node are {names}"
            case Need.ANOTHER_POD:
                return f"{grown}, the end of {names} in its place would have relieved the node"
            case Need.NOTHING_SHORT:
                return f"its end was not needed: {grown}, no threshold would have been met"
            case Need.NO_POD_HELPS:
                return (
                    f"{grown}, no end of any pod would have relieved the node: the host or a protected pod is the cause"
                )
