"""Runs evictd with only some of what wakes it between two cycles, and prints the time of every StopContainer call.

    python -m tests.vm.guest.reaction_daemon WAKER evictd's arguments

WAKER is the name of the notifications to open (`psi`, `memory.events`), after which alone memory is read; `readings`, for the
cheap readings without any notification; or `all`, for evictd as it is.
"""

import sys

from evictd.observe.threshold_watch import memory_watch, watch
from evictd.observe.threshold_watch.kernel_notifiers import FileWatch, PressureTrigger
from evictd.observe.threshold_watch.memory_watch import SHORTEST
from evictd.observe.threshold_watch.renewing_notifier import KernelNotifier, RenewingNotifier

NOTIFICATIONS = {each.name for each in (PressureTrigger, FileWatch)}


def keep_only(waker: str) -> None:
    """Leave every other notifier closed, and with a notification to wait for make no reading due but by it."""

    class Chosen(RenewingNotifier[KernelNotifier]):
        def renew(self) -> None:
            if getattr(self._opener, "name", "") == waker:
                super().renew()

    def at_last(distance: int, fastest_rate: int, *, longest: int, shortest: int = SHORTEST) -> int:
        return longest

    vars(watch)["RenewingNotifier"] = Chosen
    if waker in NOTIFICATIONS:
        vars(memory_watch)["next_reading"] = at_last


if __name__ == "__main__":
    if (chosen := sys.argv.pop(1)) != "all":
        keep_only(chosen)
    import bench.stop_clock  # noqa: F401 # runs evictd
