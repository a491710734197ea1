"""Finds memory thresholds that are never met, because the OOM killer strikes first.

`memory.available` as the kubelet computes it never falls to what no process can have (`observe.cgroups.unallocatable`). On a node
of 2 GiB it still said 107 MiB when the OOM killer struck, so the documented default of 100Mi did nothing.
"""

from collections.abc import Iterator, Sequence

from evictd.config.lint_model import Lint, LintFinding, Surroundings, limit_on
from evictd.core.model.signal import Signal
from evictd.core.model.threshold import Threshold
from evictd.core.units.quantity import of_bytes

_MI = 1 << 20
_USABLE = 100 * _MI
"""What a threshold should leave of memory that can be used: the kubelet's default threshold."""
_ROUND = 10 * _MI


def memory_never_met(thresholds: Sequence[Threshold], around: Surroundings) -> Iterator[LintFinding]:
    """Return a finding for each threshold of `memory.available` that cannot be met on this node, with the value that can."""
    unallocatable = around.unallocatable_bytes
    for threshold in thresholds:
        limit = limit_on(threshold, around.capacities)
        if threshold.signal is not Signal.MEMORY_AVAILABLE or limit is None or unallocatable is None:
            continue
        if limit <= of_bytes(unallocatable):
            yield LintFinding(
                lint=Lint.MEMORY_THRESHOLD_NEVER_MET,
                signal=threshold.signal,
                message=(
                    f"{threshold.value} cannot be met: {-(-unallocatable // _MI)}Mi count as available that no process can have "
                    "(kernel memory, reserves, watermarks), so the kernel's OOM killer acts first"
                ),
                remedy=f"set it to {useful_threshold(unallocatable) // _MI}Mi, or memory.formula: Lowest",
            )


def useful_threshold(unallocatable: int) -> int:
    """Return the value in bytes, in steps of 10Mi, that leaves 100Mi that can be used."""
    return -(-(unallocatable + _USABLE) // _ROUND) * _ROUND
