"""Reads the clocks: the only module that does. The loop reads them once a cycle, and passes the times on as values."""

import time


def boot_clock() -> int:
    """Return nanoseconds since the machine started, its sleep included; setting the wall clock does not change it."""
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


def thread_clock() -> int:
    """Return the nanoseconds of processor time that the calling thread has used."""
    return time.thread_time_ns()


def wall_clock() -> int:
    """Return nanoseconds since the epoch; for people, logs and the runtime's time stamps only."""
    return time.time_ns()


def monotonic_clock() -> int:
    """Return the clock that systemd expects with the notification of a reload, in nanoseconds."""
    return time.monotonic_ns()
