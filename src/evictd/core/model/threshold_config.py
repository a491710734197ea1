"""Parses the four threshold maps of the configuration.

Kubelet `ParseThresholdConfig` and `addAllocatableThresholds`. The rules and the texts of the errors are the kubelet's, but all
faults are reported, while the kubelet stops at the first. Thresholds are in configuration order: hard ones, soft ones, then the
allocatable copies.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar

from evictd.core.frozen import frozen
from evictd.core.model.problem import ConfigProblem, shown
from evictd.core.model.signal import SIGNALS, Filesystem, Signal
from evictd.core.model.threshold import Origin, Threshold, ThresholdValue
from evictd.core.units.duration import duration_remedy, parse_duration
from evictd.core.units.percentage import parse_percentage
from evictd.core.units.quantity import parse_quantity
from evictd.errors import InvalidValueError, did_you_mean

T = TypeVar("T")

NODE_ALLOCATABLE_ENFORCEMENT_KEY = "pods"

HARD = "evictionHard"
SOFT = "evictionSoft"
GRACE = "evictionSoftGracePeriod"
MINIMUM_RECLAIM = "evictionMinimumReclaim"

DEFAULT_EVICTION_HARD: Mapping[str, str] = {
    "memory.available": "100Mi",
    "nodefs.available": "10%",
    "nodefs.inodesFree": "5%",
    "imagefs.available": "15%",
    "imagefs.inodesFree": "5%",
}
"""Used for a file without `evictionHard`, or merged if `mergeDefaultEvictionSettings` is set (kubelet `DefaultEvictionHard`)."""

_DROPPED = frozenset({"0%", "100%"})  # exactly these two texts switch a threshold off
_VALUE_REMEDY = "give an amount such as 500Mi, or a percentage of the capacity such as 10%"
_BY_NAME = {signal.value: signal for signal in Signal if not SIGNALS[signal].own}
_SIGNALS = tuple(
    name
    for name, s in _BY_NAME.items()
    if SIGNALS[s].filesystem is not Filesystem.CONTAINERFS and s is not Signal.ALLOCATABLE_MEMORY_AVAILABLE
)


@frozen
class ThresholdMaps:
    """The four maps of the configuration, signal to value, and where the hard values came from."""

    hard: Mapping[str, str] = field(default_factory=dict)
    soft: Mapping[str, str] = field(default_factory=dict)
    soft_grace_period: Mapping[str, str] = field(default_factory=dict)
    minimum_reclaim: Mapping[str, str] = field(default_factory=dict)
    hard_origins: Mapping[str, Origin] = field(default_factory=dict)
    """By signal; a signal that is not listed was set by the user."""
    unread: Collection[str] = ()
    """Paths of fields or entries that are written but could not be read, which is reported elsewhere."""


def parse_threshold_config(
    maps: ThresholdMaps, *, enforce_node_allocatable: Collection[str] = (NODE_ALLOCATABLE_ENFORCEMENT_KEY,)
) -> tuple[tuple[Threshold, ...], tuple[ConfigProblem, ...]]:
    """Parse the thresholds of a configuration, and list all faults.

    The thresholds are complete only if there is no fault. `0%` and `100%` switch a threshold off, so it is left out.
    """
    reader = _Reader()
    hard = list(reader.thresholds(HARD, maps.hard, maps.hard_origins))
    soft = list(reader.thresholds(SOFT, maps.soft, {}))
    graces = dict(reader.values(GRACE, maps.soft_grace_period, parse_grace_period, _duration_fault))
    soft = [_with_grace(threshold, graces, maps, reader.problems) for threshold in soft]
    reclaims = dict(reader.values(MINIMUM_RECLAIM, maps.minimum_reclaim, parse_minimum_reclaim, _amount_fault))
    results = [replace(threshold, min_reclaim=reclaims.get(threshold.signal)) for threshold in (*hard, *soft)]
    if NODE_ALLOCATABLE_ENFORCEMENT_KEY in enforce_node_allocatable:
        results = add_allocatable_thresholds(results)
    return tuple(results), tuple(reader.problems)


def add_allocatable_thresholds(thresholds: Collection[Threshold]) -> list[Threshold]:
    """Append a threshold on the pods' memory for every memory threshold without grace (`addAllocatableThresholds`)."""
    copies = [
        replace(threshold, signal=Signal.ALLOCATABLE_MEMORY_AVAILABLE, origin=Origin.DERIVED)
        for threshold in thresholds
        if threshold.signal is Signal.MEMORY_AVAILABLE and threshold.hard
    ]
    return [*thresholds, *copies]


def _with_grace(
    threshold: Threshold, graces: Mapping[Signal, int | None], maps: ThresholdMaps, problems: list[ConfigProblem]
) -> Threshold:
    signal = threshold.signal
    entry = f"{GRACE}[{signal.value}]"
    if signal not in graces and GRACE not in maps.unread and entry not in maps.unread:
        problems.append(
            ConfigProblem(
                path=f"{SOFT}[{signal.value}]",
                value=maps.soft[signal.value],
                wrong=f"grace period must be specified for the soft eviction threshold {signal.value}",
                remedy=f"add {entry}, such as 1m30s",
            )
        )
    return replace(threshold, grace_period=graces.get(signal) or 0)


def _amount_fault(text: str, error: InvalidValueError) -> tuple[str, str]:
    """Return what is wrong with an amount, and what to write instead."""
    joined = "".join(text.split())
    if joined != text and joined:
        return "has a space in it", f"write {joined}"
    return str(error), _VALUE_REMEDY


def _duration_fault(text: str, error: InvalidValueError) -> tuple[str, str]:
    return str(error), duration_remedy(text)


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads one map after the other and collects the faults."""

    problems: list[ConfigProblem] = field(default_factory=list)

    def thresholds(
        self, name: str, statements: Mapping[str, str], origins: Mapping[str, Origin]
    ) -> Iterator[Threshold]:
        for signal, value in self.values(name, statements, parse_threshold_value, _amount_fault):
            if value is not None:
                yield Threshold(signal=signal, value=value, origin=origins.get(signal.value, Origin.SET))

    def values(
        self,
        name: str,
        entries: Mapping[str, str],
        parse: Callable[[Signal, str], T],
        fault: Callable[[str, InvalidValueError], tuple[str, str]],
    ) -> Iterator[tuple[Signal, T | None]]:
        """Yield the value of each signal, `None` for a faulty one: a faulty grace period is not reported as missing as well.

        `fault` says what is wrong with a text, and what to write instead.
        """
        for signal, text in self._signals(name, entries):
            try:
                yield signal, parse(signal, text)
            except InvalidValueError as error:
                wrong, remedy = fault(text, error)
                path = f"{name}[{signal.value}]"
                self.problems.append(ConfigProblem(path=path, value=text, wrong=wrong, remedy=remedy))
                yield signal, None

    def _signals(self, name: str, entries: Mapping[str, str]) -> Iterator[tuple[Signal, str]]:
        for key, text in entries.items():
            if key in _BY_NAME:
                yield _BY_NAME[key], text
            else:
                wrong = f"unsupported eviction signal {shown(key) if key else ''}"
                self.problems.append(
                    ConfigProblem(path=f"{name}[{shown(key)}]", value=text, wrong=wrong, remedy=_signal_remedy(key))
                )


def _signal_remedy(name: str) -> str:
    return did_you_mean(name, _SIGNALS) or f"the signals are {', '.join(_SIGNALS)}"


def parse_threshold_value(signal: Signal, text: str) -> ThresholdValue | None:
    """Read the value of a threshold; `None` if it is switched off (`parseThresholdStatement`)."""
    if text in _DROPPED:
        return None
    value = _amount(text)
    if value.fraction < 0:
        raise InvalidValueError(f"eviction percentage threshold {signal.value} must be >= 0%: {shown(text)}")
    if value.fraction > 1:
        raise InvalidValueError(f"eviction percentage threshold {signal.value} must be <= 100%: {shown(text)}")
    if value.quantity is not None and value.quantity.sign <= 0:
        raise InvalidValueError(f"eviction threshold {signal.value} must be positive: {value.quantity}")
    return value


def _amount(text: str) -> ThresholdValue:
    if text.endswith("%"):
        return ThresholdValue(fraction=parse_percentage(text))
    return ThresholdValue(quantity=parse_quantity(text))


def parse_grace_period(_signal: Signal, text: str) -> int:
    """Read the grace period of a soft threshold, in nanoseconds; zero makes it a hard one (`parseGracePeriods`)."""
    period = parse_duration(text)
    if period < 0:
        raise InvalidValueError(f"invalid eviction grace period specified: {shown(text)}, must be a positive value")
    return period


def parse_minimum_reclaim(signal: Signal, text: str) -> ThresholdValue:
    """Read the amount to free beyond the threshold (`parseMinimumReclaims`); over 100 % is allowed."""
    value = _amount(text)
    if value.quantity is None and value.fraction <= 0:
        raise InvalidValueError(f"eviction percentage minimum reclaim {signal.value} must be positive: {shown(text)}")
    if value.quantity is not None and value.quantity.sign < 0:
        raise InvalidValueError(f"negative eviction minimum reclaim specified for {signal.value}")
    return value
