"""Declares the clocks of the parts that speak to an API server, and what wakes their thread."""

from collections.abc import Callable
from typing import Protocol

from evictd.core.frozen import frozen


@frozen
class Clocks:
    """The clocks and the source of random spread."""

    now: Callable[[], int]
    """Return boot-time nanoseconds, as `now` is everywhere."""
    wall: Callable[[], int]
    """Return nanoseconds since the epoch, for what people read."""
    random: Callable[[], float]
    """Return numbers in [0, 1)."""


class Bell(Protocol):
    """Wakes the thread that sends requests."""

    def notify(self) -> None:
        """Wake the request queue, from any thread."""
        ...
