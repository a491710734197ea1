"""Declares the kinds and severities of lint findings, and what lints know of the node."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import field
from enum import Enum
from pathlib import Path
from typing import NamedTuple

from evictd.core.frozen import frozen
from evictd.core.model.config import MemoryFormula
from evictd.core.model.signal import DISK_SIGNALS, SIGNALS, Filesystem, Resource, Signal
from evictd.core.model.threshold import Threshold
from evictd.core.units.approximate import bytes_text, count_text
from evictd.core.units.quantity import Quantity


class Lint(Enum):
    """Kind of a finding; the value is its name in the output."""

    FILE_UNREADABLE = "FileUnreadable"
    """A file of the configuration (`cluster.kubeconfig`, `hooks`) is not on this machine, or cannot be read."""
    RUNTIME_MISSING = "RuntimeMissing"
    """The socket of the container runtime is not on this machine; right on a machine that is no node."""
    RUNTIME_UNAVAILABLE = "RuntimeUnavailable"
    """The container runtime on this machine does not answer, or not to this user."""
    FIELD_MISSPELT = "FieldMisspelt"
    """An unknown field of the kubelet's document is spelt almost like a known one; `evictd run` ignores it."""
    FILESYSTEM_WITHOUT_THRESHOLD = "FilesystemWithoutThreshold"
    """A filesystem of this node has no threshold on its space or its inodes."""
    SOFT_NEVER_FIRST = "SoftNeverFirst"
    """A soft threshold is not above the hard one of its signal, so it never acts first."""
    SOFT_AFTER_HARD = "SoftAfterHard"
    """A soft memory threshold is above the hard one by less than what no process can allocate, so the hard one acts first."""
    BELOW_LOW_WATERMARK = "BelowLowWatermark"
    """A memory threshold is not above the kernel's low watermark (/proc/zoneinfo): the kernel stalls or kills first."""
    LITTLE_MEMORY_LEFT = "LittleMemoryLeft"
    """From 4 GiB on: no threshold on memory is 500Mi or more, so there is little time to act."""
    LONG_MEMORY_GRACE = "LongMemoryGrace"
    """A soft memory threshold has a grace period of 30 minutes or more."""
    MUCH_MEMORY_KEPT = "MuchMemoryKept"
    """A percentage of memory is 8 times the advised amount or more, so pods are evicted while much is left."""
    NO_MEMORY_THRESHOLD = "NoMemoryThreshold"
    """There is no threshold on memory: the OOM killer chooses when it ends."""
    NO_PID_THRESHOLD = "NoPIDThreshold"
    """There is no threshold on PIDs, and no default either."""
    PID_THRESHOLD_NEVER_MET = "PIDThresholdNeverMet"
    """A PID threshold is not above the PIDs below 300, which the kernel gives to no new task."""
    MEMORY_THRESHOLD_NEVER_MET = "MemoryThresholdNeverMet"
    """A memory threshold is never met: it is not above the memory that processes cannot allocate."""
    STALL_NOT_OBSERVED = "StallNotObserved"
    """A threshold of `pressure` cannot be met here: the kernel reports no such stalls (cgroup v1, or PSI is off)."""
    SWAP_NOT_OBSERVED = "SwapNotObserved"
    """A threshold of `swap` cannot be met here: the node has no swap."""
    KUBELET_ACTS_FIRST = "KubeletActsFirst"
    """The kubelet (file, drop-ins, flags), or `--kubelet-config`, has a threshold that none of evictd's, as quick, is above."""
    REQUESTS_MEET_THRESHOLD = "RequestsMeetThreshold"
    """Pods within their requests may meet a threshold of memory or disk: the kubelet on this node reserves less."""
    OOMD_KILLS = "OomdKills"
    """systemd-oomd runs and may kill in a slice with pods: `ManagedOOMSwap=kill` or `ManagedOOMMemoryPressure=kill`."""
    WITHOUT_UNIT = "AmountWithoutUnit"
    """An amount is so small that a unit was probably omitted."""
    MET_ALREADY = "MetAlready"
    """A threshold is met on this node now."""
    NOT_BELOW_CAPACITY = "NotBelowCapacity"
    """A threshold is not below the capacity, so it is always met."""
    ABOVE_HALF_OF_CAPACITY = "AboveHalfOfCapacity"
    """A threshold is above half of the capacity."""
    RECLAIM_TOO_LARGE = "MinimumReclaimTooLarge"
    """A threshold and its minimum reclaim together are above half of the capacity."""
    RECLAIM_ABOVE_AVAILABLE = "MinimumReclaimAboveAvailable"
    """A minimum reclaim is above its threshold, and both together above what is available now."""


class Severity(Enum):
    """How bad a finding is; only an error makes `evictd check` end with 1."""

    ERROR = "error"
    """Pods would be evicted that a correct configuration spares, a field that was meant is not read, or a unit is missing."""
    WARNING = "warning"
    """A threshold never acts, acts late or is missing, or something could not be read; no pod is evicted for it."""
    NOTE = "note"
    """Nothing is wrong on a machine that is no node, or where a threshold is meant to be low."""


_SEVERITIES = {
    Lint.FIELD_MISSPELT: Severity.ERROR,
    Lint.WITHOUT_UNIT: Severity.ERROR,
    Lint.MET_ALREADY: Severity.ERROR,
    Lint.NOT_BELOW_CAPACITY: Severity.ERROR,
    Lint.ABOVE_HALF_OF_CAPACITY: Severity.ERROR,
    Lint.RECLAIM_TOO_LARGE: Severity.ERROR,
    Lint.RUNTIME_MISSING: Severity.NOTE,
    Lint.LITTLE_MEMORY_LEFT: Severity.NOTE,
    Lint.LONG_MEMORY_GRACE: Severity.NOTE,
    Lint.MUCH_MEMORY_KEPT: Severity.NOTE,
}
"""Of the kinds that are no warning."""


_NODEFS_AND_IMAGEFS = {*DISK_SIGNALS[Filesystem.NODEFS], *DISK_SIGNALS[Filesystem.IMAGEFS]}


@frozen
class LintFinding:
    """One finding, with its remedy."""

    lint: Lint
    signal: Signal | None = None
    """The signal of the threshold; `None` for what is no threshold."""
    message: str
    remedy: str

    @property
    def severity(self) -> Severity:
        """The severity of this kind of finding."""
        return _SEVERITIES.get(self.lint, Severity.WARNING)


OOMD_SETTINGS = ("ManagedOOMSwap", "ManagedOOMMemoryPressure")


class OomdKill(NamedTuple):
    """A slice with pods in which systemd-oomd may kill."""

    unit: str
    settings: Mapping[str, Path]
    """The settings of `OOMD_SETTINGS` that are `kill`, each with the file that sets it."""

    @property
    def finding(self) -> LintFinding:
        """What they mean for pods: systemd-oomd kills their containers whatever their priority, beside evictd."""
        names = " and ".join(f"{name}=kill ({file})" for name, file in self.settings.items())
        auto = " ".join(f"{name}=auto" for name in self.settings)
        return LintFinding(
            lint=Lint.OOMD_KILLS,
            signal=Signal.MEMORY_AVAILABLE,
            message=f"systemd-oomd may kill containers before evictd acts, of pods of any priority: {self.unit} has {names}",
            remedy=f"run systemctl set-property -- {self.unit} {auto}, or stop systemd-oomd",
        )


@frozen
class Surroundings:
    """The node's amounts that checks compare thresholds with; every field may be unknown."""

    capacities: Mapping[Signal, Quantity] = field(default_factory=dict)
    available: Mapping[Signal, Quantity] = field(default_factory=dict)
    """Available amount of each signal now."""
    filesystems: Collection[Filesystem] = (Filesystem.NODEFS, Filesystem.IMAGEFS)
    """The filesystems that need thresholds."""
    low_watermark_bytes: int | None = None
    """Available memory at which the kernel starts to reclaim, in bytes."""
    unallocatable_bytes: int | None = None
    """Bytes that count as available memory although no process can allocate them; `None` with a formula that excludes them."""
    formula: MemoryFormula = MemoryFormula.WORKING_SET
    """The formula of `memory.available`; with `Auto` only soft thresholds use the documented one."""
    unusable_pids: int | None = None
    """Number of PIDs that count as available but that the kernel never assigns."""
    kubelet: Sequence[Threshold] | None = None
    """The thresholds of the kubelet on the same node; `None` without a kubelet."""
    kubelet_reserved: Quantity | None = None
    """Memory that this kubelet reserves; `None` without a kubelet."""
    kubelet_reserved_disk: Quantity | None = None
    """The same of disk space."""
    kubelet_limits_pods: bool = False
    """Whether this kubelet limits the memory of all pods together (its `enforceNodeAllocatable` has `pods`)."""
    oomd: Sequence[OomdKill] = ()
    """The slices with pods in which systemd-oomd may kill."""


def limit_on(threshold: Threshold, capacities: Mapping[Signal, Quantity]) -> Quantity | None:
    """Return a threshold's amount on this node; `None` for a percentage of an unknown capacity."""
    if threshold.value.quantity is not None:
        return threshold.value.quantity
    capacity = capacities.get(threshold.signal)
    return None if capacity is None else threshold.value.resolve(capacity)


def highest_limit(thresholds: Sequence[Threshold], signal: Signal, around: Surroundings) -> Quantity | None:
    """Return the greatest amount of these thresholds of a signal on this node; `None` without one, or if none is known."""
    limits = [limit_on(one, around.capacities) for one in thresholds if one.signal is signal]
    return max((limit for limit in limits if limit is not None), default=None)


def at_most(one: Threshold, other: Threshold, around: Surroundings) -> bool:
    """Whether one is certainly not above the other: both as percentages, else by their amounts on this node."""
    if one.value.quantity is None and other.value.quantity is None:
        return one.value.fraction <= other.value.fraction
    first, second = limit_on(one, around.capacities), limit_on(other, around.capacities)
    return first is not None and second is not None and first <= second


def same_supply(one: Signal, other: Signal, around: Surroundings) -> bool:
    """Whether two signals measure the same: without an imagefs of its own, images are on the disk of nodefs."""
    if Filesystem.IMAGEFS in around.filesystems or not {one, other} <= _NODEFS_AND_IMAGEFS:
        return one is other
    return SIGNALS[one].resource is SIGNALS[other].resource


def amount_on(quantity: Quantity, signal: Signal) -> str:
    """Write an amount of what this signal measures."""
    counted = SIGNALS[signal].resource in {Resource.INODES, Resource.PIDS}
    return (count_text if counted else bytes_text)(quantity.value())
