"""Declares the owners whose pods come back to this node, and the finding that says for how long they are kept away.

`core.eviction.keep_away` has the rules. Times are `now` values in nanoseconds.
"""

from dataclasses import dataclass

from evictd.core.model.attribution import Attribution
from evictd.core.model.signal import NodeCondition


@dataclass(frozen=True, slots=True, kw_only=True)
class Comeback:
    """The evictions of one owner's pods for one condition; all but the first are of pods that came after it had ended."""

    owner: str
    """`namespace/Kind/name` of the controlling owner."""
    condition: NodeCondition
    evicted_at: tuple[int, ...]
    """When the last of them were; three at most."""
    evictions: int = 1
    """How many there were."""
    present: frozenset[str] = frozenset()
    """Uids of the owner's pods that were here at the last of these evictions: none of them came back."""
    known: frozenset[str] = frozenset()
    """Those, and the pods that came while the condition was not reported."""
    ended: bool = False
    """Whether the condition has ended since the last of these evictions."""
    period: int = 0
    """How long the condition stays for this owner's sake after its threshold was met last; zero: as configured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptAway:
    """Policy Standard: a condition, and its taint, stays longer because an owner's pods come back and are evicted each time."""

    condition: NodeCondition
    owner: str
    """`namespace/Kind/name`."""
    evictions: int
    """Of this owner's pods, each but the first one of a pod that came back."""
    period: int
    """Nanoseconds that the condition stays after its threshold was met last."""
    until: int
    """`now` at which it ends if no threshold is met from now on."""


NodeFinding = Attribution | KeptAway
"""The findings that are about no decision of this cycle: who holds what, and what is kept away."""
