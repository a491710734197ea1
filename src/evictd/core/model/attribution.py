"""Declares who holds a supply, by kind of holder, and how much each kind took since the supply became short.

`core.eviction.attribution` makes it from what is kept of the holdings. A *supply* is what the signals of one device, or of
memory, PIDs or swap, have in common (`core.eviction.ledger.supply_of`); amounts are in its unit. Times are `now` values in
nanoseconds.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from evictd.core.model.signal import SIGNALS, Resource, Signal
from evictd.core.units.approximate import bytes_text, count_text
from evictd.core.units.duration import SECOND, format_duration

_NAMES = {
    Resource.EPHEMERAL_STORAGE: "the disk",
    Resource.INODES: "inodes",
    Resource.PIDS: "PIDs",
}
"""How a supply is named in a sentence; the others have the name of their resource."""

_RECLAIMABLE = {
    Resource.MEMORY: "{} of all are clean file pages, which the kernel can give back",
    Resource.EPHEMERAL_STORAGE: "up to {} of all are unused images, which the runtime can remove",
}
"""What can be freed without the end of a pod, by resource."""

_NOTABLE = 100
"""Growth elsewhere below this part of all growth is not worth a number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Crossing:
    """What everything held when a supply became short; at the lowest of about the minute before that, to see what led to it."""

    at: int
    """When that minute began."""
    pods: Mapping[str, int] = field(default_factory=dict)
    """By uid: the pods that were measured."""
    parts: Mapping[str, int] = field(default_factory=dict)
    """By uid: of how many numbers that was the sum, where not of one. Two sums of different parts say nothing about growth."""
    unmeasured_pods: frozenset[str] = frozenset()
    """Uids of the others."""
    unmeasured: int | None = None
    """What those held together, where it is known."""
    elsewhere: int | None = None
    """What belonged to no pod; the lowest since, because what is measured of a pod later belonged to none before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """What one kind of holder has of a supply."""

    held: int | None
    """`None`: not known."""
    grown: int = 0
    """By how much more than at the crossing; 0 while the supply is not short."""
    pods: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Attribution:
    """Who holds what is used of a supply. A pod that leaves counts as one that leaves, also if it is protected."""

    signal: Signal
    """The signal that stands for the supply."""
    used: int
    over: int | None
    """Nanoseconds since what `grown` is counted from; `None` while the supply is not short."""
    evictable: Share
    protected: Share
    leaving: Share
    unmeasured: Share
    """Pods that were not measured within the last minute: of memory the pods' cgroup less the measured ones."""
    reclaimable: int | None = None
    """What can be freed without the end of a pod, at most: of memory the clean file pages of node and pods, of the images' disk
    the unused images. `None`: not known."""
    elsewhere: Share
    """The rest: the host, the kernel, images, deleted files, and pods that were not measured if their share is not known."""

    @property
    def shares(self) -> Mapping[str, Share]:
        """The shares by kind of holder."""
        return {
            "evictable": self.evictable,
            "protected": self.protected,
            "leaving": self.leaving,
            "unmeasured": self.unmeasured,
            "elsewhere": self.elsewhere,
        }

    @property
    def of_pods(self) -> int:
        """By how much all pods together grew; what pods gave back that have ended since does not count."""
        return max(sum(each.grown for each in (self.evictable, self.protected, self.leaving, self.unmeasured)), 0)

    @property
    def filled(self) -> int:
        """By how much everything grew that did grow."""
        return self.of_pods + max(self.elsewhere.grown, 0)


def growth_text(found: Attribution, *, since: str = "") -> str:
    """Write who took what filled a supply: `of 1.2Gi that filled memory since 10:02:00, pods took 30Mi; ...`.

    `since` is a time of the day; without it the length of the time is written. Empty where nothing grew.
    """
    if found.over is None or not found.filled:
        return ""
    when = f"since {since}" if since else f"in the last {format_duration(max(found.over // SECOND, 1) * SECOND)}"
    others = (("protected", found.protected), ("leaving", found.leaving), ("unmeasured", found.unmeasured))
    parts = [f"{name} ones {_amount(found, share.grown)}" for name, share in others if share.grown > 0]
    took = f"pods took {_amount(found, found.of_pods)}" + (f" ({', '.join(parts)})" if parts else "")
    nothing = found.elsewhere.grown * _NOTABLE < found.filled
    rest = "nothing else grew" if nothing else f"{_amount(found, found.elsewhere.grown)} belong to no pod"
    return f"of {_amount(found, found.filled)} that filled {_name(found)} {when}, {took}; {rest}"


def holders_text(found: Attribution) -> str:
    """Write who holds a supply now: `of 7.5Gi used of memory, evictable pods hold 2Gi, ...`."""
    parts = [
        f"{name} pods hold {_amount(found, share.held)}"
        for name, share in found.shares.items()
        if share.held and share is not found.elsewhere
    ]
    held = found.elsewhere.held or 0
    # Node and pods are read one after the other, so their sum may be a little more than what is used.
    rest = f"; {_amount(found, held)} belong to no {'measured ' if _hides(found) else ''}pod" if held >= 0 else ""
    if found.reclaimable:
        rest += f"; {_RECLAIMABLE[SIGNALS[found.signal].resource].format(_amount(found, found.reclaimable))}"
    return f"of {_amount(found, found.used)} used of {_name(found)}, {', '.join(parts) or 'pods hold nothing'}{rest}"


def _hides(found: Attribution) -> bool:
    return bool(found.unmeasured.pods) and found.unmeasured.held is None


def _name(found: Attribution) -> str:
    resource = SIGNALS[found.signal].resource
    return _NAMES.get(resource, resource.value)


def _amount(found: Attribution, amount: int) -> str:
    counted = SIGNALS[found.signal].resource in {Resource.INODES, Resource.PIDS}
    return count_text(amount) if counted else bytes_text(amount)
