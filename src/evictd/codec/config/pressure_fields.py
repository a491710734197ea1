"""Declares the thresholds that only `EvictdConfiguration` has: on stalled tasks (`pressure`) and on free swap (`swap`)."""

from collections.abc import Iterable, Iterator
from typing import Annotated

import msgspec
from msgspec import field

from evictd.codec.config.fields import about
from evictd.codec.strict import Duration
from evictd.core.model.problem import ConfigProblem, quoted
from evictd.core.model.signal import ALL_OF_THE_TIME, STALLS, Signal, Stall, StalledResource, StallScope, StallType
from evictd.core.model.threshold import Threshold, stall_threshold
from evictd.core.model.threshold_config import parse_threshold_value
from evictd.core.units.duration import SECOND, format_duration
from evictd.core.units.percentage import parse_percentage
from evictd.errors import InvalidValueError

_For = Annotated[
    Duration,
    about("How long it must be met, as evictionSoftGracePeriod: the threshold is soft, or hard with 0s."),
]
_Hard = Annotated[
    bool,
    about("After `for`, stop the pod as a hard threshold does, without its own grace period or a disruption budget."),
]


_SIGNALS = {stall: signal for signal, stall in STALLS.items()}
_WINDOWS = " or ".join(f"{average}s" for average in sorted({stall.average for stall in _SIGNALS}))


class StallFields(msgspec.Struct, kw_only=True, frozen=True, rename="camel"):
    """A threshold on stalled tasks, as the kernel's PSI files report them."""

    resource: Annotated[StalledResource, about("What the tasks wait for.")] = StalledResource.MEMORY
    above: Annotated[str, about("Share of the time above which the threshold is met, such as 20%; required.")] = ""
    type: Annotated[
        StallType,
        about("full: time in which all tasks that were not idle stalled; some: time in which at least one task did."),
    ] = StallType.FULL
    average: Annotated[Duration, about(f"Window of the average: {_WINDOWS}.")] = Duration(10 * SECOND)
    for_: _For = field(default=Duration(30 * SECOND), name="for")
    hard: _Hard = False
    scope: Annotated[
        StallScope, about("All pods' tasks, or the node's; which pod stalls is known on cgroup v2 only.")
    ] = StallScope.PODS


class SwapFields(msgspec.Struct, kw_only=True, frozen=True, rename="camel"):
    """A threshold on the node's free swap (`swap.available`)."""

    available: Annotated[str, about("Amount or share of the swap below which the threshold is met; required.")] = ""
    for_: _For = field(default=Duration(30 * SECOND), name="for")
    hard: _Hard = False


def stall_thresholds(fields: Iterable[StallFields]) -> tuple[Threshold, ...]:
    """Return the thresholds of `pressure`, in which `pressure_problems` has found no fault."""
    return tuple(
        stall_threshold(
            _SIGNALS[_stall(each)],
            round(parse_percentage(each.above) * ALL_OF_THE_TIME),
            duration=int(each.for_),
            hard=each.hard,
        )
        for each in fields
    )


def swap_thresholds(fields: Iterable[SwapFields]) -> tuple[Threshold, ...]:
    """Return the thresholds of `swap`, in which `swap_problems` has found no fault."""
    return tuple(
        Threshold(
            signal=Signal.SWAP_AVAILABLE,
            value=value,
            grace_period=int(each.for_),
            hard_after_grace=each.hard and each.for_ > 0,
        )
        for each in fields
        if (value := parse_threshold_value(Signal.SWAP_AVAILABLE, each.available)) is not None
    )


def pressure_problems(thresholds: Iterable[StallFields]) -> Iterator[ConfigProblem]:
    """List the faults of `pressure`."""
    for number, each in enumerate(thresholds):
        path = f"pressure[{number}]"
        try:
            share = parse_percentage(each.above) if each.above.endswith("%") else 0.0
        except InvalidValueError:
            share = 0.0
        if not 0.0001 <= share < 1:
            wrong, remedy = "is not a percentage between 0.01% and 100%", "give a share of the time, such as 20%"
            yield ConfigProblem(path=f"{path}.above", value=quoted(each.above), wrong=wrong, remedy=remedy)
        if each.average % SECOND or _stall(each) not in _SIGNALS:
            wrong, remedy = "is no window of the kernel's averages", f"give {_WINDOWS}"
            yield ConfigProblem(path=f"{path}.average", value=format_duration(each.average), wrong=wrong, remedy=remedy)
        yield from _duration_problems(path, each.for_)


def _stall(fields: StallFields) -> Stall:
    return Stall(fields.scope, fields.resource, fields.type, fields.average // SECOND)


def swap_problems(thresholds: Iterable[SwapFields]) -> Iterator[ConfigProblem]:
    """List the faults of `swap`."""
    for number, each in enumerate(thresholds):
        try:
            parse_threshold_value(Signal.SWAP_AVAILABLE, each.available)
        except InvalidValueError as error:
            path, remedy = f"swap[{number}].available", "give an amount such as 512Mi, or a percentage such as 10%"
            yield ConfigProblem(path=path, value=quoted(each.available), wrong=str(error), remedy=remedy)
        yield from _duration_problems(f"swap[{number}]", each.for_)


def _duration_problems(path: str, duration: int) -> Iterator[ConfigProblem]:
    if duration < 0:
        value = format_duration(duration)
        yield ConfigProblem(path=f"{path}.for", value=value, wrong="is negative", remedy="give 0s or more")
