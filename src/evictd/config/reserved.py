"""Finds thresholds of memory and disk space that pods within their requests meet, because the kubelet reserves less.

The scheduler fills a node up to Allocatable: capacity minus the reservations and `evictionHard` of the kubelet. The kubelet
limits all pods together to capacity minus the reservations alone, which is its `evictionHard` above Allocatable.
"""

from collections.abc import Iterator, Sequence

from evictd.config.lint_model import Lint, LintFinding, Surroundings, amount_on, highest_limit
from evictd.config.much_kept import much_kept
from evictd.core.model.signal import Signal
from evictd.core.model.threshold import Threshold
from evictd.core.units.quantity import ZERO, Quantity

_MI = 1 << 20


def requests_meet(thresholds: Sequence[Threshold], around: Surroundings) -> Iterator[LintFinding]:
    """Yield a finding for the node's memory, that of all pods and its disk, if their highest threshold is not reserved."""
    yield from _disk_requests_meet(thresholds, around)
    if around.kubelet is None or around.kubelet_reserved is None:
        return
    hard = highest_limit([one for one in around.kubelet if one.hard], Signal.MEMORY_AVAILABLE, around) or ZERO
    ours = highest_limit(thresholds, Signal.MEMORY_AVAILABLE, around)
    reserved = hard + around.kubelet_reserved
    if ours is not None and reserved < ours:
        instead = "set an amount, or " if any(much_kept(thresholds, around)) else ""
        yield LintFinding(
            lint=Lint.REQUESTS_MEET_THRESHOLD,
            signal=Signal.MEMORY_AVAILABLE,
            message=f"pods within their requests may meet {_mi(ours)}: the kubelet keeps {_mi(reserved)} from them",
            remedy=f"{instead}raise systemReserved of the kubelet by {_mi(ours - reserved)}, and by what daemons use",
        )
    ours = highest_limit(thresholds, Signal.ALLOCATABLE_MEMORY_AVAILABLE, around)
    if ours is not None and hard < ours and around.kubelet_limits_pods:
        yield LintFinding(
            lint=Lint.REQUESTS_MEET_THRESHOLD,
            signal=Signal.ALLOCATABLE_MEMORY_AVAILABLE,
            message=f"pods within their requests may meet {_mi(ours)}: the kubelet limits them to {_mi(hard)} more",
            remedy=_without_limit(hard),
        )


def _disk_requests_meet(thresholds: Sequence[Threshold], around: Surroundings) -> Iterator[LintFinding]:
    """Find a threshold of nodefs above what is reserved, where that is anything.

    Images are not in the kubelet's sum, so where no disk space is reserved requests of it promise nothing.
    """
    signal, reserved = Signal.NODEFS_AVAILABLE, around.kubelet_reserved_disk
    if around.kubelet is None or reserved is None or reserved.sign <= 0:
        return
    hard = highest_limit([one for one in around.kubelet if one.hard], signal, around) or ZERO
    ours, kept = highest_limit(thresholds, signal, around), hard + reserved
    if ours is not None and kept < ours:
        yield LintFinding(
            lint=Lint.REQUESTS_MEET_THRESHOLD,
            signal=signal,
            message=f"pods within their requests may meet {_mi(ours)}: the kubelet keeps {_mi(kept)} from them",
            remedy=f"raise ephemeral-storage in systemReserved of the kubelet by {_mi(ours - kept)}, and by what images use",
        )


def reserved_beyond(thresholds: Sequence[Threshold], reserved: Quantity, around: Surroundings) -> Iterator[str]:
    """Warn if the reservations and the hard threshold, of the file or of the kubelet, leave no memory of this node to pods."""
    yield from _reserved_beyond(thresholds, reserved, around, "")
    if around.kubelet is not None and around.kubelet_reserved is not None:
        yield from _reserved_beyond(around.kubelet, around.kubelet_reserved, around, " of the kubelet")


def _reserved_beyond(
    thresholds: Sequence[Threshold], reserved: Quantity, around: Surroundings, of: str
) -> Iterator[str]:
    signal = Signal.MEMORY_AVAILABLE
    capacity = around.capacities.get(signal)
    hard = highest_limit([one for one in thresholds if one.hard], signal, around) or ZERO
    if capacity is not None and reserved.sign > 0 and reserved + hard >= capacity:
        starts = "" if reserved + hard == capacity else ", and a kubelet does not start"
        yield (
            f"kubeReserved, systemReserved and the hard threshold{of} are {amount_on(reserved + hard, signal)} of memory, and "
            f"this node has {amount_on(capacity, signal)}: nothing is left to pods{starts}; lower them"
        )


def _without_limit(hard: Quantity) -> str:
    """Return what to do about the pods' limit, which is `hard` above Allocatable.

    At Allocatable itself the OOM killer would act for pods within their requests, so only the kubelet's own setting helps.
    """
    if hard.sign <= 0:
        return (
            "set enforceNodeAllocatable: [none] in the kubelet's configuration, as its limit on all pods is Allocatable"
        )
    return f"set enforceNodeAllocatable: [none], and evictionHard on allocatableMemory.available: {_mi(hard)}"


def _mi(quantity: Quantity) -> str:
    return f"{-(-quantity.value() // _MI)}Mi"
