"""Parses the four threshold maps of the configuration.

Kubelet `ParseThresholdConfig` and `addAllocatableThresholds`. The rules and the texts of the errors are the kubelet's, but all
faults are reported, while the kubelet stops at the first. Thresholds are in configuration order: hard ones, soft ones, then the
allocatable copies.
"""

import difflib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace

from evictd.core.frozen import frozen
from evictd.core.model.problem import ConfigProblem, shown
from evictd.core.model.signal import SIGNALS, Filesystem, Signal
from evictd.core.model.threshold import Origin, Threshold, ThresholdValue
from evictd.core.units.duration import duration_remedy, parse_duration
from evictd.core.units.percentage import parse_percentage
from evictd.core.units.quantity import parse_quantity
from evictd.errors import InvalidValueError

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
_SIMILAR = 0.6
"""The least similarity of a name and a signal, from 0 to 1, for which the signal is suggested."""


@frozen
class ThresholdMaps:
    """The four maps of the configuration, signal to value, and where the hard values came from."""

    hard: Mapping[str, str] = field(default_factory=dict)
    soft: Mapping[str, str] = field(default_factory=dict)
    soft_grace_period: Mapping[str, str] = field(default_factory=dict)
    minimum_reclaim: Mapping[str, str] = field(default_factory=dict)
    hard_origins: Mapping[str, Origin] = field(default_factory=dict)
    """By signal; a signal that is not listed was set by the user."""


def parse_threshold_config(
    maps: ThresholdMaps, *, enforce_node_allocatable: Collection[str] = (NODE_ALLOCATABLE_ENFORCEMENT_KEY,)
) -> tuple[tuple[Threshold, ...], tuple[ConfigProblem, ...]]:
    """Parse the thresholds of a configuration, and list all faults.

    The thresholds are complete only if there is no fault. `0%` and `100%` switch a threshold off, so it is left out.
    """
    reader = _Reader()
    hard = list(reader.thresholds(HARD, maps.hard, maps.hard_origins))
    soft = list(reader.thresholds(SOFT, maps.soft, {}))
    graces = reader.grace_periods(maps.soft_grace_period)
    soft = [_with_grace(threshold, graces, maps, reader.problems) for threshold in soft]
    reclaims = reader.minimum_reclaims(maps.minimum_reclaim)
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
    if signal not in graces:
        problems.append(
            ConfigProblem(
                path=f"{SOFT}[{signal.value}]",
                value=maps.soft[signal.value],
                wrong=f"grace period must be specified for the soft eviction threshold {signal.value}",
                remedy=f"add {GRACE}[{signal.value}], such as 1m30s",
            )
        )
    return replace(threshold, grace_period=graces.get(signal) or 0)


def _value_fault(text: str, error: InvalidValueError) -> tuple[str, str]:
    """Return what is wrong with an amount, and what to write instead."""
    joined = "".join(text.split())
    if joined != text and joined:
        return "has a space in it", f"write {joined}"
    return str(error), _VALUE_REMEDY


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads one map after the other and collects the faults."""

    problems: list[ConfigProblem] = field(default_factory=list)

    def thresholds(
        self, name: str, statements: Mapping[str, str], origins: Mapping[str, Origin]
    ) -> Iterator[Threshold]:
        for signal, text in self._signals(name, statements):
            try:
                value = parse_threshold_value(signal, text)
            except InvalidValueError as error:
                self._add(name, signal, text, *_value_fault(text, error))
                continue
            if value is not None:
                yield Threshold(signal=signal, value=value, origin=origins.get(signal.value, Origin.SET))

    def grace_periods(self, periods: Mapping[str, str]) -> dict[Signal, int | None]:
        """Return nanoseconds by signal; `None` for a faulty one, so that it is not reported as missing as well."""
        results: dict[Signal, int | None] = {}
        for signal, text in self._signals(GRACE, periods):
            try:
                results[signal] = parse_grace_period(text)
            except InvalidValueError as error:
                results[signal] = None
                self._add(GRACE, signal, text, str(error), duration_remedy(text))
        return results

    def minimum_reclaims(self, minimums: Mapping[str, str]) -> dict[Signal, ThresholdValue]:
        results = {}
        for signal, text in self._signals(MINIMUM_RECLAIM, minimums):
            try:
                results[signal] = parse_minimum_reclaim(signal, text)
            except InvalidValueError as error:
                self._add(MINIMUM_RECLAIM, signal, text, *_value_fault(text, error))
        return results

    def _signals(self, name: str, entries: Mapping[str, str]) -> Iterator[tuple[Signal, str]]:
        for key, text in entries.items():
            if key in _BY_NAME:
                yield _BY_NAME[key], text
            else:
                wrong = f"unsupported eviction signal {shown(key) if key else ''}"
                self.problems.append(
                    ConfigProblem(path=f"{name}[{shown(key)}]", value=text, wrong=wrong, remedy=_signal_remedy(key))
                )

    def _add(self, name: str, signal: Signal, text: str, wrong: str, remedy: str) -> None:
        self.problems.append(ConfigProblem(path=f"{name}[{signal.value}]", value=text, wrong=wrong, remedy=remedy))


def _signal_remedy(name: str) -> str:
    near = difflib.get_close_matches(name[:64], _SIGNALS, n=1, cutoff=_SIMILAR)
    return f"did you mean {near[0]}?" if near else f"the signals are {', '.join(_SIGNALS)}"


def parse_threshold_value(signal: Signal, text: str) -> ThresholdValue | None:
    """Read the value of a threshold; `None` if it is switched off (`parseThresholdStatement`)."""
    if text in _DROPPED:
        return None
    if text.endswith("%"):
        fraction = parse_percentage(text)
        if fraction < 0:
            raise InvalidValueError(f"eviction percentage threshold {signal.value} must be >= 0%: {shown(text)}")
        if fraction > 1:
            raise InvalidValueError(f"eviction percentage threshold {signal.value} must be <= 100%: {shown(text)}")
        return ThresholdValue(fraction=fraction)
    quantity = parse_quantity(text)
    if quantity.sign <= 0:
        raise InvalidValueError(f"eviction threshold {signal.value} must be positive: {quantity}")
    return ThresholdValue(quantity=quantity)


def parse_grace_period(text: str) -> int:
    """Read the grace period of a soft threshold, in nanoseconds; zero makes it a hard one (`parseGracePeriods`)."""
    period = parse_duration(text)
    if period < 0:
        raise InvalidValueError(f"invalid eviction grace period specified: {shown(text)}, must be a positive value")
    return period


def parse_minimum_reclaim(signal: Signal, text: str) -> ThresholdValue:
    """Read the amount to free beyond the threshold (`parseMinimumReclaims`); over 100 % is allowed."""
    if text.endswith("%"):
        fraction = parse_percentage(text)
        if fraction <= 0:
            raise InvalidValueError(
                f"eviction percentage minimum reclaim {signal.value} must be positive: {shown(text)}"
            )
        return ThresholdValue(fraction=fraction)
    quantity = parse_quantity(text)
    if quantity.sign < 0:
        raise InvalidValueError(f"negative eviction minimum reclaim specified for {signal.value}")
    return ThresholdValue(quantity=quantity)
