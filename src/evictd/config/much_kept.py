"""Finds percentages of memory that on a large node keep far more free than an eviction needs time for."""

from collections.abc import Iterator, Sequence

from evictd.config.lint_model import Lint, LintFinding, Surroundings, amount_on, limit_on
from evictd.config.little_left import ADVISED_HARD, ADVISED_SOFT
from evictd.core.model.signal import Signal
from evictd.core.model.threshold import Origin, Threshold

_FAR = 8
"""How many times the advised amount is far above it: 10 % from 40 GiB on."""


def much_kept(thresholds: Sequence[Threshold], around: Surroundings) -> Iterator[LintFinding]:
    """Yield a finding for each percentage of `memory.available` that is far above the advised amount; an amount is meant so."""
    signal = Signal.MEMORY_AVAILABLE
    for each in thresholds:
        limit, capacity = limit_on(each, around.capacities), around.capacities.get(signal)
        if each.signal is not signal or each.value.quantity is not None or each.origin is Origin.DERIVED:
            continue
        advised, kind = (ADVISED_HARD, "hard") if each.hard else (ADVISED_SOFT, "soft")
        # Above half of the capacity is an error of its own.
        if limit is None or capacity is None or limit.nano * 2 > capacity.nano or limit.nano < advised.nano * _FAR:
            continue
        yield LintFinding(
            lint=Lint.MUCH_MEMORY_KEPT,
            signal=signal,
            message=f"{each.value} is {amount_on(limit, signal)} here: pods are evicted while so much is left",
            remedy=f"set an amount, such as {advised} {kind}, in the kubelet's configuration too if one runs here",
        )
