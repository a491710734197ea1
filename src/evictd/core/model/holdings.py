"""Declares the parts of `State` about the holders of a supply, and about the amounts that evictions gave back.

`core.eviction.holdings` and `core.eviction.effect` have the rules. A *supply* is the resource that several signals observe: the
bytes or inodes of one device, memory, PIDs or swap (`core.eviction.ledger.supply_of`). Amounts are in its unit. Times are `now`
values in nanoseconds.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from operator import itemgetter
from typing import NamedTuple

from evictd.core.frozen import frozen
from evictd.core.units.duration import SECOND


class MeasuredLevel(NamedTuple):
    """An amount as last measured, and the lowest that it was within about the last minute."""

    at: int
    """`now` of the measurement."""
    used: int
    begun: int
    """`now` at which the present half of that minute began."""
    lowest: int
    """The lowest of the present half."""
    lowest_before: int
    """The lowest of the half before it."""
    since: int
    """`now` at which the earlier half began."""
    parts: int = 1
    """How many numbers `used` sums up. Sums of different parts cannot be compared for growth."""

    @property
    def grown(self) -> int:
        """The rise above the lowest amount; 0 after a first measurement, when the pod has just arrived."""
        return self.used - self.lowest_of_both

    @property
    def lowest_of_both(self) -> int:
        """The lowest of the whole minute; not above `used`."""
        return min(self.lowest, self.lowest_before)

    @property
    def rate(self) -> int:
        """Average growth per second since the earlier half began."""
        return self.grown * SECOND // max(self.at - self.since, SECOND)


def _reader(field_name: str) -> Callable[[MeasuredLevel], int]:
    """Return a function that reads one field by its index: rules read it of every pod, and this takes half the time."""
    return itemgetter(MeasuredLevel._fields.index(field_name))


USED_OF = _reader("used")
SINCE_OF = _reader("since")
PARTS_OF = _reader("parts")


@dataclass(frozen=True, kw_only=True)
class SupplyHoldings:
    """The holders of a supply at one reading."""

    pods: Mapping[str, MeasuredLevel] = field(default_factory=dict)
    """By uid: the active pods that were measured within the last minute."""
    unmeasured: MeasuredLevel | None = None
    """The amount that all other pods hold together: the pods' cgroup less the measured pods. `None`: unknown."""
    elsewhere: MeasuredLevel | None = None
    """The amount that belongs to no measured pod: host, kernel, images, deleted files. May be negative. `None`: never read."""
    grown_critical: int = 0
    """Growth within about the last minute of the pods that are never evicted: static and critical ones."""
    growing: Mapping[str, MeasuredLevel] = field(init=False, repr=False, compare=False)
    """The few of `pods` that grew within about the last minute; computed once, because several rules use it."""

    def __post_init__(self) -> None:
        # `used` above `lowest` or `lowest_before`: by their places, because this is asked of every pod in every cycle.
        growing = {uid: level for uid, level in self.pods.items() if level[1] > level[3] or level[1] > level[4]}
        object.__setattr__(self, "growing", growing)

    @cached_property
    def held(self) -> Mapping[str, int]:
        """By uid: what each measured pod holds. Only a supply that is short is asked, and more than once."""
        return dict(zip(self.pods, map(USED_OF, self.pods.values()), strict=True))


@frozen
class Effect:
    """The effect of one eviction on a supply after the pod has ended."""

    uid: str
    owner: str = ""
    siblings: frozenset[str] = frozenset()
    """Uids of the owner's pods that were here when it was chosen."""
    chosen_at: int
    held: int
    """The amount that the pod held, as measured when it was chosen."""
    missing: int
    """The amount that was missing to the target then, minimum reclaim included."""
    available_before: int | None = None
    freed: int = 0
    """The largest rise of the available amount since then, until `until`."""
    until: int
    """`now` from which evictd no longer waits for its bytes."""
    elsewhere_grew: bool = False
    """Whether growth elsewhere was more than twice that of the pods when it was chosen."""


@frozen
class Pause:
    """Evictions for a supply are paused because the last ones did not help."""

    until: int
    """`now` from which one more eviction may be tried."""
    wait: int
    """Nanoseconds between that and the last eviction tried; each one doubles it."""
    for_growth: bool = False
    """Only because of growth elsewhere: the victims gave back enough, so the pause ends with that growth."""
