"""Waits for a condition with a generous bound."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def eventually(condition: Callable[[], T], seconds: float = 120.0) -> T:
    """Return the first true value of `condition`; fail after `seconds`."""
    ends = time.monotonic() + seconds
    while not (value := condition()):
        if time.monotonic() > ends:
            raise AssertionError(f"not so within {seconds} s")
        time.sleep(0.005)
    return value
