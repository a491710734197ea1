"""Remembers how long the last stops took, for the grace of the next ones."""

from evictd.act.stop.termination import Termination
from evictd.core.eviction.time_left import LONGEST_STOP_TIME

KEPT = 8
"""The number of stops that are remembered: a slow one counts until as many others were faster."""


class StopTimes:
    """Durations of the last stops beyond their grace, until the pod has no process and its memory is free.

    The end is seen by the runtime's answer or by the pod's cgroup, whichever is first. The core uses the longest
    (`core.eviction.time_left`). One that took longer than `LONGEST_STOP_TIME` hung, and counts only until the next one ends.
    Added to by one thread, read by any.
    """

    def __init__(self) -> None:
        self._times: tuple[tuple[tuple[str, int], int], ...] = ()

    def add(self, termination: Termination, at: int) -> None:
        """Note that nothing of this pod runs at the time `at`; only the first time counts.

        A pod that ended within its grace does not say how long a kill takes, and is left out.
        """
        key = termination.uid, termination.started_at
        if at >= termination.grace_ends_at and all(key != known for known, _ in self._times):
            self._times = (*self._times, (key, at - termination.grace_ends_at))[-KEPT:]

    def longest(self) -> int | None:
        """Return the nanoseconds of the longest; `None` before the first."""
        times = [time for _, time in self._times]
        return max((*(time for time in times if time <= LONGEST_STOP_TIME), *times[-1:]), default=None)
