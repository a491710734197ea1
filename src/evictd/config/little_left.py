"""Finds memory thresholds that leave little time on a large node, because even the highest one, hard or soft, is low."""

from collections.abc import Iterator, Sequence

from evictd.config.lint_model import Lint, LintFinding, Surroundings, amount_on, highest_limit
from evictd.core.model.signal import Signal
from evictd.core.model.threshold import Threshold
from evictd.core.units.quantity import of_bytes

_MI = 1 << 20
LARGE = of_bytes(3840 * _MI)
"""Memory from which on the documentation advises more (docs/tuning.md): a node of 4 GiB reports a little less than that."""
ADVISED_HARD, ADVISED_SOFT = of_bytes(500 * _MI), of_bytes(1024 * _MI)
"""What the documentation advises from that size on."""
_LITTLE = "leave little time before the OOM killer acts"


def little_left(thresholds: Sequence[Threshold], around: Surroundings) -> Iterator[LintFinding]:
    """Yield a finding where the highest threshold of `memory.available` is below 500Mi.

    A soft one that is hardly above the hard one gives no more time than that.
    """
    signal = Signal.MEMORY_AVAILABLE
    capacity = around.capacities.get(signal)
    if capacity is None or capacity < LARGE:
        return
    highest = highest_limit(thresholds, signal, around)
    if highest is None or highest >= ADVISED_HARD or highest < of_bytes(_MI):
        return  # of a few bytes `AmountWithoutUnit` says more
    yield LintFinding(
        lint=Lint.LITTLE_MEMORY_LEFT,
        signal=signal,
        message=f"this node has {amount_on(capacity, signal)}, and {amount_on(highest, signal)} {_LITTLE}",
        remedy=f"from 4 GiB on set {ADVISED_HARD} hard and {ADVISED_SOFT} soft, unless `evictd advise` proposed less",
    )
