"""Declares what a process does with the node in time, and computes how much it holds at an age.

A behaviour is a function of the age of its process alone, in nanoseconds since it was started, so one step brings a world up to
date after any time. `amount` is the value of that function, `slope` its present growth a second, and `next_change` the age at
which that growth changes. So the loop computes when a limit is crossed, and need not test each millisecond.

Behaviours compose: those of one pod are added up, by `Usage`.
"""

from collections.abc import Collection, Iterable
from dataclasses import replace
from enum import Enum

from evictd.core.frozen import frozen
from evictd.core.units.duration import SECOND

GIB = 1 << 30


class Usage(Enum):
    """The resources of the node that a behaviour takes: bytes, inodes or processes. The value is the spelling in a world file."""

    MEMORY = "memory"
    """Anonymous memory."""
    MEMORY_VOLUME = "memoryVolume"
    """Files of an emptyDir in memory: they count until the pod is gone, and no OOM kill of a container frees them."""
    PAGE_CACHE = "pageCache"
    """Active file pages: in the working set, and given back by the kernel before memory ends."""
    PROCESSES = "processes"
    LAYER = "layer"
    """Bytes in the containers' writable layers."""
    LOGS = "logs"
    VOLUME = "volume"
    """Bytes in the pod's local volumes."""
    HOST_PATH = "hostPath"
    """Bytes on the node's disk that no pod is charged for, and that stay when the pod is gone. For the host: its own files."""
    UNLINKED = "unlinked"
    """Bytes of deleted files on nodefs that are still open: they go with the process. Policy Standard alone looks for them."""
    IMAGE_DISK = "imageDisk"
    """For the host: bytes on the disk of the images that no collection removes, such as orphaned snapshots."""
    LAYER_INODES = "layerInodes"
    VOLUME_INODES = "volumeInodes"
    HOST_PATH_INODES = "hostPathInodes"
    """Inodes that no pod is charged for; they stay when the pod is gone."""

    __hash__ = object.__hash__


OF_THE_PROCESS = frozenset({Usage.MEMORY, Usage.PAGE_CACHE, Usage.PROCESSES, Usage.UNLINKED})
"""Usages that end with the process; the others end with the pod, or stay."""
ANONYMOUS = (Usage.MEMORY, Usage.MEMORY_VOLUME)
"""Memory that the kernel cannot give back."""
OF_MEMORY = (*ANONYMOUS, Usage.PAGE_CACHE)


@frozen
class Hold:
    """Holds an amount from the beginning."""

    of: Usage
    amount: int


@frozen
class Grow:
    """Grows by `rate` a second from the age `start` on, up to `bound`; `None`: without end."""

    of: Usage
    rate: int
    start: int = 0
    bound: int | None = None


@frozen
class LeakAndRelease:
    """Grows by `rate` a second from `low` to `peak`, then falls back to `low`, again and again."""

    of: Usage
    rate: int
    peak: int
    low: int = 0
    start: int = 0


@frozen
class Burst:
    """Takes `amount` from the age `start` on, `rate` a second, and gives it back after `duration`; again every `every`."""

    of: Usage
    amount: int
    start: int
    duration: int
    every: int | None = None
    rate: int = GIB


@frozen
class TakeRest:
    """Takes `rate` of memory a second as long as more than `leave` bytes are available to processes."""

    rate: int
    leave: int = 0
    start: int = 0


@frozen
class Stops:
    """Ends this long after SIGTERM; `None`: ignores it, and is killed when its grace period is over."""

    after: int | None


@frozen
class Exits:
    """Ends by itself with code 0 at an age: the pod succeeds."""

    after: int


@frozen
class Unreadable:
    """Its statistics cannot be read from the age `start` on, for `duration` (`None`: ever after), every `every` again."""

    start: int = 0
    duration: int | None = None
    every: int | None = None


@frozen
class Stalls:
    """Its tasks stall for memory and I/O for these percentages of the time (PSI `full`), from the age `start` on."""

    memory: float = 0.0
    io: float = 0.0
    start: int = 0
    duration: int | None = None


Taking = Hold | Grow | LeakAndRelease | Burst
"""The behaviours that hold an amount which depends on the age alone."""
Behaviour = Taking | TakeRest | Stops | Exits | Unreadable | Stalls


def amount(behaviour: Taking, age: int) -> int:
    """Return how much a behaviour holds at an age."""
    match behaviour:
        case Hold():
            return behaviour.amount
        case Grow():
            grown = behaviour.rate * max(age - behaviour.start, 0) // SECOND
            return grown if behaviour.bound is None else min(grown, behaviour.bound)
        case LeakAndRelease():
            period = _period(behaviour)
            return behaviour.low + behaviour.rate * (max(age - behaviour.start, 0) % period) // SECOND
        case Burst():
            into = _into(behaviour, age)
            return 0 if into is None else min(behaviour.rate * into // SECOND, behaviour.amount)


def slope(behaviour: Taking, age: int) -> int:
    """Return by how much a second it grows at this age, from the age on; a fall at once counts as 0."""
    match behaviour:
        case Hold():
            return 0
        case Grow():
            full = behaviour.bound is not None and amount(behaviour, age) >= behaviour.bound
            return 0 if age < behaviour.start or full else behaviour.rate
        case LeakAndRelease():
            return 0 if age < behaviour.start else behaviour.rate
        case Burst():
            into = _into(behaviour, age)
            rising = into is not None and behaviour.rate * into // SECOND < behaviour.amount
            return behaviour.rate if rising else 0


def within_pids(behaviours: Iterable[Behaviour], limit: int) -> tuple[Behaviour, ...]:
    """Return the behaviours of a pod whose cgroup has this many PIDs: beyond them its forks fail (`podPidsLimit`).

    The pod has one process at least.
    """
    return within(behaviours, Usage.PROCESSES, max(limit - 1, 0))


def within(behaviours: Iterable[Behaviour], of: Usage, free: int) -> tuple[Behaviour, ...]:
    """Return behaviours with at most this much of a usage: what is held from the beginning first, the others in their order."""
    ordered = sorted(behaviours, key=lambda each: not isinstance(each, Hold))
    bounded = list[Behaviour]()
    for each in ordered:
        if isinstance(each, Taking) and each.of is of:
            found = _with_at_most(each, free)
            free -= most(found, (of,)) or 0
            bounded += found
        else:
            bounded.append(each)
    return tuple(bounded)


def _with_at_most(behaviour: Taking, free: int) -> tuple[Taking, ...]:
    match behaviour:
        case Hold() | Burst():
            return (replace(behaviour, amount=min(behaviour.amount, free)),)
        case Grow():
            return (replace(behaviour, bound=free if behaviour.bound is None else min(behaviour.bound, free)),)
        case LeakAndRelease() if behaviour.peak > free:  # it never reaches its peak, so it releases nothing
            low = min(behaviour.low, free)
            rest = Grow(of=behaviour.of, rate=behaviour.rate, start=behaviour.start, bound=free - low)
            return Hold(of=behaviour.of, amount=low), rest
        case _:
            return (behaviour,)


def most(behaviours: Iterable[Behaviour], of: Iterable[Usage]) -> int | None:
    """Return an amount of these usages that is never exceeded; `None` where one grows without bound."""
    kinds, found = frozenset(of), 0
    for each in behaviours:
        match each:
            case TakeRest() if Usage.MEMORY in kinds:
                return None
            case Grow(bound=None) if each.of in kinds:
                return None
            case Grow(bound=int(bound)) if each.of in kinds:
                found += bound
            case LeakAndRelease() if each.of in kinds:
                found += each.peak
            case Hold() | Burst() if each.of in kinds:
                found += each.amount
            case _:
                pass
    return found


def takes_without_bound(behaviours: Iterable[Behaviour], of: Collection[Usage] = tuple(Usage)) -> bool:
    """Whether one of these behaviours takes more and more of these usages: a `Grow` without `bound`, or `TakeRest`."""
    return any(
        (isinstance(each, TakeRest) and Usage.MEMORY in of)
        or (isinstance(each, Grow) and each.bound is None and each.rate > 0 and each.of in of)
        for each in behaviours
    )


def next_change(behaviour: Taking, age: int) -> int | None:
    """Return the next age at which its growth changes; `None`: never again."""
    match behaviour:
        case Hold():
            return None
        case Grow():
            full = None if behaviour.bound is None else behaviour.start + _duration(behaviour.bound, behaviour.rate)
            return next((each for each in (behaviour.start, full) if each is not None and each > age), None)
        case LeakAndRelease():
            if age < behaviour.start:
                return behaviour.start
            period = _period(behaviour)
            return behaviour.start + ((age - behaviour.start) // period + 1) * period
        case Burst():
            return _next_of_burst(behaviour, age)


def is_now(start: int, duration: int | None, every: int | None, age: int) -> bool:
    """Whether an age lies in a window that begins at `start` and lasts `duration`, repeated each `every`."""
    if age < start:
        return False
    into = age - start if every is None else (age - start) % every
    return duration is None or into < duration


def _period(behaviour: LeakAndRelease) -> int:
    return _duration(behaviour.peak - behaviour.low, behaviour.rate)


def _duration(size: int, rate: int) -> int:
    """Return the nanoseconds, at least 1, in which an amount is taken at this rate, rounded up."""
    return max(-(-size * SECOND // rate), 1) if rate else 1


def _into(behaviour: Burst, age: int) -> int | None:
    """Return how long the present burst has lasted; `None` between two."""
    if age < behaviour.start:
        return None
    into = age - behaviour.start if behaviour.every is None else (age - behaviour.start) % behaviour.every
    return into if into < behaviour.duration else None


def _next_of_burst(behaviour: Burst, age: int) -> int | None:
    if age < behaviour.start:
        return behaviour.start
    every = behaviour.every
    begun = behaviour.start if every is None else age - (age - behaviour.start) % every
    ages = [begun + min(_duration(behaviour.amount, behaviour.rate), behaviour.duration), begun + behaviour.duration]
    ages += [] if every is None else [begun + every]
    return next((each for each in ages if each > age), None)
