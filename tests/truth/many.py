"""Says how many generated worlds the slow tests play: `EVICTD_WORLDS=5` has five times as many as the gate.

The gate has a time limit, and its tests play few worlds each; a change of what is said is tried with more.
"""

import os

_TIMES = int(os.environ.get("EVICTD_WORLDS", "1"))


def seeds(first: int, number: int) -> range:
    """Return the seeds of so many worlds, or a multiple of them."""
    return range(first, first + number * _TIMES)
