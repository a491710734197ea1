"""Declares who holds a supply, by kind of holder, and how much each kind took since the supply became short.

`core.eviction.accounts.attribution` makes it from what is kept of the holdings. A *supply* is what the signals of one device, or
of memory, PIDs or swap, have in common (`core.eviction.accounts.ledger.supply_of`); amounts are in its unit. Times are `now`
values in nanoseconds.
"""

from collections.abc import Iterable, Mapping
from dataclasses import field

from evictd.core.frozen import frozen
from evictd.core.model.amount_text import unit_text
from evictd.core.model.signal import SIGNALS, Filesystem, Resource, Signal, Unit
from evictd.core.units.duration import SECOND, format_seconds

_NAMES = {
    Resource.EPHEMERAL_STORAGE: "the disk",
    Resource.INODES: "inodes",
    Resource.PIDS: "PIDs",
}
"""Names of supplies in sentences; other supplies go by the name of their resource."""

_RECLAIMABLE = {
    Resource.MEMORY: "{} of all are clean file pages, which the kernel can give back",
    Resource.EPHEMERAL_STORAGE: "up to {} of all are unused images, which the runtime can remove",
}
"""Sentences about what can be freed without ending a pod, by resource."""

_NOTABLE = 100
"""Sentences omit growth elsewhere that is less than this part of all growth."""

_ALL = "all of it"
_FEW = 10
"""Sentences name no pod where the pods took less than this part of all growth."""


@frozen
class Crossing:
    """The holdings of a supply when it became short. Each is the lowest of about the minute before, so growth shows the cause."""

    at: int
    """`now` at which the growth of that minute began (`growth_began`), or the minute where nothing grew."""
    pods: Mapping[str, int] = field(default_factory=dict)
    """By uid: the pods that were measured."""
    parts: Mapping[str, int] = field(default_factory=dict)
    """By uid, where it is not 1: how many numbers the amount sums up. Sums of different parts cannot be compared for growth."""
    unmeasured_pods: frozenset[str] = frozenset()
    """Uids of the pods that were not measured."""
    unmeasured: int | None = None
    """The amount that the unmeasured pods held together; `None`: unknown."""
    elsewhere: int | None = None
    """The amount that belonged to no pod. The lowest since then: it included pods that were measured later."""


@frozen
class Share:
    """The share of a supply that one kind of holder has."""

    held: int | None
    """`None`: not known."""
    grown: int = 0
    """Growth since the crossing; 0 while the supply is not short."""
    pods: int = 0


@frozen
class Attribution:
    """The holders of the used part of a supply, by kind. A protected pod that is leaving counts as leaving."""

    signal: Signal
    """The signal that stands for the supply."""
    used: int
    over: int | None
    """Nanoseconds over which `grown` is counted; `None` while the supply is not short."""
    evictable: Share
    protected: Share
    leaving: Share
    unmeasured: Share
    """Pods that were not measured within the last minute. For memory: the pods' cgroup less the measured pods."""
    reclaimable: int | None = None
    """The most that can be freed without ending a pod: of memory the clean file pages of node and pods, of the images' disk the
    unused images. `None`: unknown."""
    outdated: int = 0
    """How many pods count with an earlier measurement than this cycle's: what they took since is `elsewhere`."""
    unread: int = 0
    """Nanoseconds since the pods' parts on a disk were read, where they may have taken since all that grew elsewhere; else 0."""
    elsewhere: Share
    """The rest: the host, the kernel, images, deleted files, and pods that were not measured if their share is not known."""
    grower: str = ""
    """`namespace/name` of the measured pod that grew most; empty while the supply is not short, and where none grew."""
    grower_grown: int = 0
    """By how much it grew."""

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
        return self.of_pods + self.grown_elsewhere

    @property
    def grown_elsewhere(self) -> int:
        """By how much the rest grew: no more than it holds, where node and pods were read so alike that it holds something.

        A pod that ends gives back also what it took since it was measured: for a moment the rest seems to be less than nothing.
        The journals of earlier versions record more.
        """
        grown, held = self.elsewhere.grown, self.elsewhere.held or 0
        return max(min(grown, held) if held > 0 else grown, 0)

    @property
    def main_grower(self) -> str:
        """The pod that took more than half of what the pods took; empty if none did, or if the pods took little of all."""
        of_pods = self.of_pods
        return self.grower if self.grower_grown * 2 > of_pods and of_pods * _FEW > self.filled else ""

    @property
    def grower_alone(self) -> bool:
        """Whether one pod took all that filled the supply, but for a hundredth."""
        return bool(self.main_grower) and (self.filled - self.grower_grown) * _NOTABLE < self.filled


def growth_began(grown: Iterable[tuple[int, int]]) -> int | None:
    """Return since when all grew but a hundredth, of amounts with the time since which each is counted; `None`: nothing grew.

    A pod that came within the minute is counted from its first measurement on: where it alone grew, that is the begin.
    """
    known = sorted((since, amount) for amount, since in grown if amount > 0)
    total, sum_of_first = sum(amount for _, amount in known), 0
    for since, amount in known:
        sum_of_first += amount
        if sum_of_first * _NOTABLE >= total:
            return since
    return None


def growth_text(found: Attribution, *, since: str = "", named: bool = True) -> str:
    """Write who took what filled a supply: `of 1.2Gi that filled memory since 10:02:00, pods took 30Mi; ...`.

    `since` is a time of the day; without it the length of the time is written. With `named` the pod that took most of the pods'
    part is named. Empty where nothing grew.
    """
    if found.over is None or not found.filled:
        return ""
    when = f"since {since}" if since else f"in the last {format_seconds(max(found.over, SECOND))}"
    others = (("protected", found.protected), ("leaving", found.leaving), ("unmeasured", found.unmeasured))
    grower = _grower_text(found) if named else ""
    grown = [(name, share.grown) for name, share in others if share.grown > 0]
    if grower.startswith(_ALL) and [amount for _, amount in grown] == [found.grower_grown]:
        parts = [f"{grower}, a {grown[0][0]} pod"]
    else:
        parts = [*filter(None, (grower,)), *(f"{name} ones {_amount(found, amount)}" for name, amount in grown)]
    took = f"pods took {_amount(found, found.of_pods)}" + (f" ({', '.join(parts)})" if parts else "")
    if found.grown_elsewhere * _NOTABLE < found.filled:
        rest = "nothing else grew"
    else:
        of_whom = (
            f"were taken in the {_ago(found.unread)} since the pods were read" if found.unread else _elsewhere(found)
        )
        rest = f"{_amount(found, found.grown_elsewhere)} {of_whom}"
    filled = f"{_name(found)} taken" if _is_counted(found) else f"that filled {_name(found)}"
    return f"of {_amount(found, found.filled)} {filled} {when}, {took}; {rest}"


def _grower_text(found: Attribution) -> str:
    if not found.main_grower:
        return ""
    alone = abs(found.of_pods - found.grower_grown) * _NOTABLE < found.of_pods
    return f"{_ALL} {found.grower}" if alone else f"most of it {found.grower}, {_amount(found, found.grower_grown)}"


def holders_text(found: Attribution) -> str:
    """Write who holds a supply now: `of 7.5Gi used of memory, evictable pods hold 2Gi, ...`."""
    parts = [
        f"{name} pods hold {_amount(found, share.held)}"
        for name, share in found.shares.items()
        if share.held and share is not found.elsewhere
    ]
    held = found.elsewhere.held or 0
    # Node and pods are read one after the other, so their sum may be a little more than what is used.
    rest = f"; {_amount(found, held)} {_elsewhere(found)}" if held >= 0 else ""
    if found.reclaimable:
        rest += f"; {_RECLAIMABLE[SIGNALS[found.signal].resource].format(_amount(found, found.reclaimable))}"
    used = f"{_name(found)} used" if _is_counted(found) else f"used of {_name(found)}"
    return f"of {_amount(found, found.used)} {used}, {', '.join(parts) or 'pods hold nothing'}{rest}"


def _ago(unread: int) -> str:
    return format_seconds(max(unread, SECOND))


def _elsewhere(found: Attribution) -> str:
    """Write what is no pod's: it may be that of a pod that was not measured, and of a disk it may lie in a hostPath volume."""
    hides = found.outdated or (found.unmeasured.pods and found.unmeasured.held is None)
    on_disk = SIGNALS[found.signal].filesystem is not None
    return f"belong to no {'measured ' if hides else ''}pod{' or lie in hostPath volumes' if on_disk else ''}"


def _name(found: Attribution) -> str:
    """Return the name of the supply; where images have a disk of their own it is another than that of `nodefs`."""
    shape = SIGNALS[found.signal]
    name = _NAMES.get(shape.resource, shape.resource.value)
    if shape.filesystem is None or shape.filesystem is Filesystem.NODEFS:
        return name
    return f"{name} of {shape.filesystem.value}"


def _is_counted(found: Attribution) -> bool:
    """Whether amounts have no unit, so that the name of the supply says what they count."""
    return SIGNALS[found.signal].unit is Unit.COUNT


def _amount(found: Attribution, amount: int) -> str:
    return unit_text(amount, SIGNALS[found.signal].unit)
