"""Declares the parts of `State` about the holders of a supply, and about the amounts that evictions gave back.

`core.eviction.accounts.holdings` and `core.eviction.laws.effect` have the rules. A *supply* is the resource that several signals
observe: the bytes or inodes of one device, memory, PIDs or swap (`core.eviction.accounts.ledger.supply_of`). Amounts are in its
unit. Times are `now` values in nanoseconds.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
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

    def without_time(self, time: int) -> "MeasuredLevel":
        """Return the level as if this time had not passed: its two halves begin later."""
        return self._replace(begun=self.begun + time, since=self.since + time)

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


@dataclass(frozen=True, kw_only=True)
class SupplyHoldings:
    """The holders of a supply at one reading.

    The amounts of the pods are kept by column, each a mapping by uid: a cycle follows every pod, and makes no object for each.
    """

    at: int = 0
    """`now` of the reading."""
    used: Mapping[str, int] = field(default_factory=dict)
    """What each active pod holds that was measured within the last minute."""
    parts: Mapping[str, int] = field(default_factory=dict)
    """How many numbers an amount sums up, where it is not 1. Sums of different parts cannot be compared for growth."""
    last_measured: Mapping[str, int] = field(default_factory=dict)
    """`now` of the measurement of each pod that counts with an earlier one than this reading."""
    begun: int = 0
    """`now` at which the present half of about the last minute began."""
    lowest: Mapping[str, int] = field(default_factory=dict)
    """The lowest amount of the present half."""
    lowest_before: Mapping[str, int] = field(default_factory=dict)
    """The lowest amount of the half before it."""
    since: int = 0
    """`now` at which the earlier half began."""
    arrived: Mapping[str, int] = field(default_factory=dict)
    """`now` of the first measurement of each pod that was not measured before the earlier half began."""
    unmeasured: MeasuredLevel | None = None
    """The amount that all other pods hold together: the pods' cgroup less the measured pods. `None`: unknown."""
    elsewhere: MeasuredLevel | None = None
    """The amount that belongs to no measured pod: host, kernel, images, deleted files. May be negative. `None`: never read."""
    grown_critical: int = 0
    """Growth within about the last minute of the pods that are never evicted: static and critical ones."""

    def without_time(self, time: int) -> "SupplyHoldings":
        """Return the holdings as if this time had not passed: the two halves of about the last minute begin later."""
        unmeasured, elsewhere = self.unmeasured, self.elsewhere
        return replace(
            self,
            begun=self.begun + time,
            since=self.since + time,
            arrived={uid: at + time for uid, at in self.arrived.items()},
            unmeasured=None if unmeasured is None else unmeasured.without_time(time),
            elsewhere=None if elsewhere is None else elsewhere.without_time(time),
        )

    def level(self, uid: str) -> MeasuredLevel | None:
        """Return what one pod holds; `None` if it was not measured within the last minute."""
        if (used := self.used.get(uid)) is None:
            return None
        at, since = self.last_measured.get(uid, self.at), self.arrived.get(uid, self.since)
        return MeasuredLevel(at, used, self.begun, self.lowest[uid], self.lowest_before[uid], since)

    @cached_property
    def growing(self) -> Mapping[str, MeasuredLevel]:
        """The few pods that grew within about the last minute. Only a supply that is short is asked, and more than once."""
        lowest, before = self.lowest, self.lowest_before
        grew = [uid for uid, used in self.used.items() if used > lowest[uid] or used > before[uid]]
        return {uid: known for uid in grew if (known := self.level(uid)) is not None}

    def measured_at(self, now: int) -> Mapping[str, int]:
        """Return what each pod holds that was measured at `now`; any other may hold more by then."""
        if self.at != now:
            return {}
        if not self.last_measured:
            return self.used
        return {uid: used for uid, used in self.used.items() if uid not in self.last_measured}


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
