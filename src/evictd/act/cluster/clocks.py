"""The clocks of what acts through an API server, and what wakes its thread."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Clocks:
    """What tells times and spreads them."""

    now: Callable[[], int]
    """Gives boot-time nanoseconds, as `now` is everywhere."""
    wall: Callable[[], int]
    """Gives nanoseconds since the epoch, for what people read."""
    random: Callable[[], float]
    """Gives numbers in [0, 1)."""


class Bell(Protocol):
    """Wakes the thread that sends requests."""

    def notify(self) -> None:
        """Have the request sources asked now; from any thread."""
        ...
