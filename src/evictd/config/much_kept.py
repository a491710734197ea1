"""Finds thresholds of memory that keep far more free than an eviction needs time for: on a large node percentages."""

from collections.abc import Iterator, Sequence

from evictd.config.lint_model import Lint, LintFinding, Surroundings, amount_on, limit_on
from evictd.config.little_left import ADVISED_HARD, ADVISED_SOFT, LARGE
from evictd.core.model.signal import Signal
from evictd.core.model.threshold import Origin, Threshold
from evictd.core.units.quantity import Quantity, parse_quantity

_FAR = 8
"""How many times the advised amount is far above it: 10 % from 40 GiB on."""
_FAR_SMALL = 2
_ADVISED_SMALL = (parse_quantity("150Mi"), parse_quantity("400Mi"))
"""Hard and soft on a node of less than `LARGE`."""


def much_kept(thresholds: Sequence[Threshold], around: Surroundings) -> Iterator[LintFinding]:
    """Yield a finding for each threshold of memory far above the advised amount; on a large node amounts are meant."""
    signal = Signal.MEMORY_AVAILABLE
    for each in thresholds:
        limit, capacity = limit_on(each, around.capacities), around.capacities.get(signal)
        if each.signal is not signal or each.origin is Origin.DERIVED or limit is None or capacity is None:
            continue
        advised, far = _advised(each, capacity)
        meant = each.value.quantity is not None and capacity >= LARGE
        # Above half of the capacity is an error of its own.
        if meant or limit.nano * 2 > capacity.nano or limit.nano < advised.nano * far:
            continue
        kind = "hard" if each.hard else "soft"
        amount = (
            f"{amount_on(limit, signal)} here"
            if each.value.quantity is None
            else f"much of {amount_on(capacity, signal)}"
        )
        yield LintFinding(
            lint=Lint.MUCH_MEMORY_KEPT,
            signal=signal,
            message=f"{each.value} is {amount}: pods are evicted while so much is left",
            remedy=f"set an amount, such as {advised} {kind}, in the kubelet's configuration too if one runs here",
        )


def _advised(threshold: Threshold, capacity: Quantity) -> tuple[Quantity, int]:
    """Return the amount that is advised for a node of this capacity, and how many times that is far above it."""
    if capacity < LARGE:
        return _ADVISED_SMALL[not threshold.hard], _FAR_SMALL
    return ADVISED_HARD if threshold.hard else ADVISED_SOFT, _FAR
