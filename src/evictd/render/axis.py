"""Chooses round numbers for the amounts at the edge and the ticks of a chart."""

from evictd.core.model.signal import ALL_OF_THE_TIME, SIGNALS, Signal, Unit

_BINARY_STEPS = (1, 2, 5, 10, 20, 50, 100, 200, 256, 512)
_DECIMAL_STEPS = (1, 2, 5, 10, 20, 50, 100, 200, 500)
_MOST_STEPS = 8
"""Steps below an edge: with more of them less of the chart stays empty, with fewer the edge is rounder."""


def axis_top(highest: int, signal: Signal) -> int:
    """Return a round amount for the upper edge of a chart, at least `highest`."""
    unit = SIGNALS[signal].unit
    if unit is Unit.SHARE:
        return ALL_OF_THE_TIME
    step = nice_step(max(highest, 1), binary=unit is Unit.BYTES, most=_MOST_STEPS)
    return -(-max(highest, 1) // step) * step


def nice_step(highest: float, *, binary: bool, most: int = 4) -> int:
    """Return the distance between two ticks: at most `most` of them, in round numbers of the unit that fits."""
    base = 1
    while binary and base * 1024 <= highest:
        base *= 1024
    if binary and highest / base < 2 and base > 1:
        base //= 1024
    unit = base
    while True:
        for factor in _BINARY_STEPS if binary else _DECIMAL_STEPS:
            if highest / (unit * factor) <= most:
                return max(1, unit * factor)
        unit *= 1024 if binary else 1000
