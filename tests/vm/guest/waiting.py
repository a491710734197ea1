"""Waits for conditions, never for a length of time, in the tests inside the machine."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def wait_for(condition: Callable[[], T | None], seconds: float, what: str) -> T:
    """Ask until the answer is true and give it; raises `AssertionError` after so many seconds."""
    deadline = time.monotonic() + seconds
    while not (answer := condition()):
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {seconds:g} s for {what}; last answer: {answer!r}")
        time.sleep(0.3)  # the emulated processors are slow, and shared
    return answer
