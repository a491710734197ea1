"""What is allowed, but most likely not meant: lints over thresholds.

Each lint answers a complaint that operators really had: a disk that nobody watched, a soft threshold that never came before
the hard one, a memory threshold under the kernel's own reserve, no threshold on PIDs, and two managers on one signal.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from evictd.core.quantity import Quantity, of_bytes
from evictd.core.signal import MEMORY_SIGNALS, SIGNAL_TO_FILESYSTEM, Filesystem, Signal
from evictd.core.threshold import Operator, Origin, Threshold


class Lint(Enum):
    """What kind of finding it is; the value is its name in the output."""

    FILESYSTEM_WITHOUT_THRESHOLD = "FilesystemWithoutThreshold"
    SOFT_NEVER_FIRST = "SoftNeverFirst"
    BELOW_LOW_WATERMARK = "BelowLowWatermark"
    NO_PID_THRESHOLD = "NoPIDThreshold"
    KUBELET_ACTS_FIRST = "KubeletActsFirst"


@dataclass(frozen=True, slots=True, kw_only=True)
class LintFinding:
    """One finding, with what to do about it."""

    lint: Lint
    signal: Signal
    message: str
    remedy: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What is known of the node; everything may be unknown."""

    capacities: Mapping[Signal, Quantity] = field(default_factory=dict)
    filesystems: Collection[Filesystem] = (Filesystem.NODEFS, Filesystem.IMAGEFS)
    """The ones that have to have thresholds."""
    low_watermark_bytes: int | None = None
    """Where the kernel itself begins to reclaim."""
    kubelet: Sequence[Threshold] | None = None
    """The thresholds of the kubelet on the same node; `None`: there is none."""


def lint(thresholds: Sequence[Threshold], surroundings: Surroundings) -> tuple[LintFinding, ...]:
    """Give every finding, in the order of the signals."""
    active = [threshold for threshold in thresholds if threshold.operator is Operator.LESS_THAN]
    findings = [
        *_filesystems_without_threshold(active, surroundings),
        *_soft_never_first(active, surroundings),
        *_below_low_watermark(active, surroundings),
        *_no_pid_threshold(active),
        *_kubelet_acts_first(active, surroundings),
    ]
    order = list(Signal)
    return tuple(sorted(findings, key=lambda finding: order.index(finding.signal)))


def low_watermark_pages(zoneinfo: str) -> int | None:
    """Sum the low watermarks of all zones, in pages, out of /proc/zoneinfo; `None` where there are none."""
    lows = [int(low) for low in re.findall(r"^\s+low\s+([0-9]{1,18})$", zoneinfo, re.MULTILINE | re.ASCII)]
    return sum(lows) if lows else None


def limit_on(threshold: Threshold, capacities: Mapping[Signal, Quantity]) -> Quantity | None:
    """Give the amount of a threshold on this node; `None` for a percentage of an unknown capacity."""
    if threshold.value.quantity is not None:
        return threshold.value.quantity
    capacity = capacities.get(threshold.signal)
    return None if capacity is None else threshold.value.resolve(capacity)


# --- the lints --------------------------------------------------------------------------------------------------------


def _filesystems_without_threshold(thresholds: Sequence[Threshold], around: Surroundings) -> Iterator[LintFinding]:
    have = {threshold.signal for threshold in thresholds}
    for signal, filesystem in SIGNAL_TO_FILESYSTEM.items():
        if filesystem in around.filesystems and signal not in have:
            what = "inodes" if signal.value.endswith("inodesFree") else "space"
            yield LintFinding(
                lint=Lint.FILESYSTEM_WITHOUT_THRESHOLD,
                signal=signal,
                message=f"has no threshold, so nobody watches the {what} of {filesystem.value}",
                remedy="set one, or mergeDefaultEvictionSettings: true for the default",
            )


def _soft_never_first(thresholds: Sequence[Threshold], around: Surroundings) -> Iterator[LintFinding]:
    for soft in thresholds:
        hards = [
            one for one in thresholds if one.hard and one.signal is soft.signal and one.origin is not Origin.DERIVED
        ]
        if soft.hard or not hards or soft.origin is Origin.DERIVED:
            continue
        hard = hards[-1]
        if _at_most(soft, hard, around):
            yield LintFinding(
                lint=Lint.SOFT_NEVER_FIRST,
                signal=soft.signal,
                message=f"the soft threshold {_value(soft)} is not above the hard one {_value(hard)}: it can never act first",
                remedy="raise the soft one",
            )


def _below_low_watermark(thresholds: Sequence[Threshold], around: Surroundings) -> Iterator[LintFinding]:
    for threshold in thresholds:
        if threshold.signal not in MEMORY_SIGNALS or threshold.origin is Origin.DERIVED:
            continue
        limit, watermark = limit_on(threshold, around.capacities), around.low_watermark_bytes
        if limit is not None and watermark is not None and limit <= of_bytes(watermark):
            yield LintFinding(
                lint=Lint.BELOW_LOW_WATERMARK,
                signal=threshold.signal,
                message=(
                    f"{_value(threshold)} is not above the kernel's low watermark of {watermark // 2**20}Mi: the kernel "
                    "stalls or kills before evictd acts"
                ),
                remedy="raise the threshold, or lower vm.min_free_kbytes",
            )


def _no_pid_threshold(thresholds: Sequence[Threshold]) -> Iterator[LintFinding]:
    if not any(threshold.signal is Signal.PID_AVAILABLE for threshold in thresholds):
        yield LintFinding(
            lint=Lint.NO_PID_THRESHOLD,
            signal=Signal.PID_AVAILABLE,
            message="has no threshold, and no default either, so nobody watches the PIDs",
            remedy="set one, such as pid.available: 5%",
        )


def _kubelet_acts_first(thresholds: Sequence[Threshold], around: Surroundings) -> Iterator[LintFinding]:
    """Two managers on one signal evict twice: evictd has to act earlier, with the kubelet as the last line."""
    for theirs in around.kubelet or ():
        if not theirs.hard or theirs.origin is Origin.DERIVED:
            continue
        ours = [one for one in thresholds if one.signal is theirs.signal]
        beaten = [one for one in ours if _at_most(one, theirs, around)]
        if ours and len(beaten) == len(ours):
            yield LintFinding(
                lint=Lint.KUBELET_ACTS_FIRST,
                signal=theirs.signal,
                message=f"the kubelet acts at {_value(theirs)}, not later than evictd at {_value(ours[0])}",
                remedy="raise evictd's threshold, or switch the kubelet's off with 0%",
            )


def _at_most(one: Threshold, other: Threshold, around: Surroundings) -> bool:
    """Whether one is surely not above the other: by unit where they share it, else by amount on this node."""
    if one.value.quantity is None and other.value.quantity is None:
        return one.value.fraction <= other.value.fraction
    first, second = limit_on(one, around.capacities), limit_on(other, around.capacities)
    return first is not None and second is not None and first <= second


def _value(threshold: Threshold) -> str:
    return value_text(threshold.value.quantity, threshold.value.fraction)


def value_text(quantity: Quantity | None, fraction: float) -> str:
    """Write a threshold's value as it stands in a configuration: `500Mi`, `10%`."""
    return str(quantity) if quantity is not None else f"{float(f'{fraction * 100:.6g}'):g}%"
