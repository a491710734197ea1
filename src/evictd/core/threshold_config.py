"""Which thresholds the four maps of the configuration make.

Kubelet `ParseThresholdConfig` and `addAllocatableThresholds`. The rules and the words of the errors are the kubelet's;
but every fault is reported, where the kubelet stops at the first. Thresholds come in configuration order: hard ones, soft
ones, and last the allocatable copies.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace

from evictd.core.duration import parse_duration
from evictd.core.percentage import parse_percentage
from evictd.core.problem import Problem, shown
from evictd.core.quantity import parse_quantity
from evictd.core.signal import CONTAINERFS_SIGNALS, Signal
from evictd.core.threshold import Origin, Threshold, ThresholdValue
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
"""For a file that sets no `evictionHard` at all, or that asks for merging (kubelet `DefaultEvictionHard`)."""

_DROPPED = frozenset({"0%", "100%"})  # exactly these two texts switch a threshold off
_VALUE_REMEDY = "give an amount such as 500Mi, or a percentage of the capacity such as 10%"
_SIGNAL_REMEDY = "the signals are " + ", ".join(
    s.value for s in Signal if s not in CONTAINERFS_SIGNALS and s is not Signal.ALLOCATABLE_MEMORY_AVAILABLE
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ThresholdMaps:
    """The four maps as they stand in the configuration, signal to value, and where the hard values came from."""

    hard: Mapping[str, str] = field(default_factory=dict)
    soft: Mapping[str, str] = field(default_factory=dict)
    soft_grace_period: Mapping[str, str] = field(default_factory=dict)
    minimum_reclaim: Mapping[str, str] = field(default_factory=dict)
    hard_origins: Mapping[str, Origin] = field(default_factory=dict)
    """By signal; a signal that is not listed was set by the user."""


def parse_threshold_config(
    maps: ThresholdMaps, *, enforce_node_allocatable: Collection[str] = (NODE_ALLOCATABLE_ENFORCEMENT_KEY,)
) -> tuple[tuple[Threshold, ...], tuple[Problem, ...]]:
    """Make the thresholds of a configuration, and list everything that is wrong with it.

    The thresholds are complete only where there is no problem. A threshold of `0%` or `100%` is left out: that is how
    one is switched off.
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
    threshold: Threshold, graces: Mapping[Signal, int | None], maps: ThresholdMaps, problems: list[Problem]
) -> Threshold:
    signal = threshold.signal
    if signal not in graces:
        problems.append(
            Problem(
                path=f"{SOFT}[{signal.value}]",
                value=maps.soft[signal.value],
                wrong=f"grace period must be specified for the soft eviction threshold {signal.value}",
                remedy=f"add {GRACE}[{signal.value}], such as 1m30s",
            )
        )
    return replace(threshold, grace_period=graces.get(signal) or 0)


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads one map after the other and keeps what was wrong."""

    problems: list[Problem] = field(default_factory=list)

    def thresholds(
        self, name: str, statements: Mapping[str, str], origins: Mapping[str, Origin]
    ) -> Iterator[Threshold]:
        for signal, text in self._signals(name, statements):
            try:
                value = parse_threshold_value(signal, text)
            except InvalidValueError as error:
                self._add(name, signal, text, str(error), _VALUE_REMEDY)
                continue
            if value is not None:
                yield Threshold(signal=signal, value=value, origin=origins.get(signal.value, Origin.SET))

    def grace_periods(self, periods: Mapping[str, str]) -> dict[Signal, int | None]:
        """Give nanoseconds by signal; `None` for one that is there but wrong, so that it is not also called missing."""
        results: dict[Signal, int | None] = {}
        for signal, text in self._signals(GRACE, periods):
            try:
                results[signal] = parse_grace_period(text)
            except InvalidValueError as error:
                results[signal] = None
                self._add(GRACE, signal, text, str(error), "give a duration with its unit, such as 1m30s")
        return results

    def minimum_reclaims(self, minimums: Mapping[str, str]) -> dict[Signal, ThresholdValue]:
        results = {}
        for signal, text in self._signals(MINIMUM_RECLAIM, minimums):
            try:
                results[signal] = parse_minimum_reclaim(signal, text)
            except InvalidValueError as error:
                self._add(MINIMUM_RECLAIM, signal, text, str(error), _VALUE_REMEDY)
        return results

    def _signals(self, name: str, entries: Mapping[str, str]) -> Iterator[tuple[Signal, str]]:
        for key, text in entries.items():
            try:
                yield Signal(key), text
            except ValueError:
                wrong = f"unsupported eviction signal {shown(key) if key else ''}"
                self.problems.append(
                    Problem(path=f"{name}[{shown(key)}]", value=text, wrong=wrong, remedy=_SIGNAL_REMEDY)
                )

    def _add(self, name: str, signal: Signal, text: str, wrong: str, remedy: str) -> None:
        self.problems.append(Problem(path=f"{name}[{signal.value}]", value=text, wrong=wrong, remedy=remedy))


def parse_threshold_value(signal: Signal, text: str) -> ThresholdValue | None:
    """Read the value of a threshold; `None` where it is switched off (`parseThresholdStatement`)."""
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
    """Read how much more is to be freed than the threshold asks for (`parseMinimumReclaims`); over 100 % is allowed."""
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
