"""Declares the owners whose pods come back to this node, and the finding that says for how long they are kept away.

`core.eviction.keep_away` has the rules. Times are `now` values in nanoseconds.
"""

from evictd.core.frozen import frozen
from evictd.core.model.attribution import Attribution
from evictd.core.model.signal import NodeCondition


@frozen
class Comeback:
    """The evictions of one owner's pods for one condition; all but the first are of pods that came after it had ended."""

    owner: str
    """`namespace/Kind/name` of the controlling owner."""
    condition: NodeCondition
    evicted_at: tuple[int, ...]
    """`now` of the last evictions, at most three."""
    evictions: int = 1
    """Number of evictions."""
    present: frozenset[str] = frozenset()
    """Uids of the owner's pods that were here at the last of these evictions: none of them came back."""
    known: frozenset[str] = frozenset()
    """The pods of `present`, and those that came while the condition was not reported."""
    ended: bool = False
    """Whether the condition has ended since the last of these evictions."""
    period: int = 0
    """Nanoseconds that the condition stays because of this owner after its threshold was last met; 0: as configured."""


@frozen
class KeptAway:
    """Policy Standard: a condition, and its taint, stays longer because an owner's pods come back and are evicted each time."""

    condition: NodeCondition
    owner: str
    """`namespace/Kind/name`."""
    evictions: int
    """Number of evictions of this owner's pods; all but the first were of pods that came back."""
    period: int
    """Nanoseconds that the condition stays after its threshold was last met."""
    until: int
    """`now` at which it ends if no threshold is met from now on."""


NodeFinding = Attribution | KeptAway
"""The findings that belong to no decision of this cycle."""
