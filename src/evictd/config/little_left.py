"""Finds a hard memory threshold that leaves little time on a large node, where no soft threshold acts before it."""

from collections.abc import Iterator, Sequence

from evictd.config.lint_model import Lint, LintFinding, Surroundings, amount_on, limit_on
from evictd.core.model.signal import Signal
from evictd.core.model.threshold import Threshold
from evictd.core.units.quantity import of_bytes

_MI = 1 << 20
_LARGE = of_bytes(3840 * _MI)
"""Memory from which on the documentation advises more (docs/tuning.md): a node of 4 GiB reports a little less than that."""
_ADVISED = of_bytes(500 * _MI)
_LITTLE = "leave little time before the OOM killer acts"


def little_left(thresholds: Sequence[Threshold], around: Surroundings) -> Iterator[LintFinding]:
    """Return a finding where the highest hard threshold of `memory.available` is below 500Mi and no soft one is above it."""
    signal = Signal.MEMORY_AVAILABLE
    capacity = around.capacities.get(signal)
    if capacity is None or capacity < _LARGE:
        return
    limits = [(one, limit_on(one, around.capacities)) for one in thresholds if one.signal is signal]
    hard = max((limit for one, limit in limits if one.hard and limit is not None), default=None)
    if hard is None or hard >= _ADVISED or any(not one.hard and limit and limit > hard for one, limit in limits):
        return
    yield LintFinding(
        lint=Lint.LITTLE_MEMORY_LEFT,
        signal=signal,
        message=f"this node has {amount_on(capacity, signal)}, and {amount_on(hard, signal)} {_LITTLE}",
        remedy="from 4 GiB on set 500Mi hard and 1Gi soft, which leave more",
    )
