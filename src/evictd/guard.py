"""What becomes of a thread whose work raises what nobody foresaw?

It goes on. The piece of work that failed is told of, once for as long as it fails in the same way, and rests for longer and
longer; the other pieces of the same thread are not concerned. Errors that were foreseen are dealt with by the work itself.
"""

import sys
import traceback
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import TypeVar

from evictd.core.duration import MILLISECOND, SECOND

Complain = Callable[[str, str], None]
"""Tells and counts something that went wrong, by its source; safe from any thread."""

FIRST_REST = 500 * MILLISECOND
LAST_REST = 30 * SECOND
"""How long a piece of work rests: twice as long after each failure in a row, from the first to the last."""
_FORGOTTEN = 10 * LAST_REST

_T = TypeVar("_T")


def to_stderr(source: str, detail: str) -> None:
    """Complain where nobody was named to complain to."""
    sys.stderr.write(f"evictd: {source}: {detail}\n")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Failed:
    times: int
    until: int
    told: str


class Guard:
    """Runs the pieces of work of one thread. Times are `now` in nanoseconds, on whatever clock its owner has."""

    def __init__(self, source: str, complain: Complain = to_stderr) -> None:
        self._source = source
        self._complain = complain
        self._failed: dict[Hashable, _Failed] = {}

    def run(self, piece: Hashable, work: Callable[[], _T], now: int, *, otherwise: _T) -> _T:
        """Give what the work gives; `otherwise` if it raised anything."""
        try:
            result = work()
        except Exception as error:  # whatever it is: a thread that ends silently is worse
            self._note(piece, error, now)
            return otherwise
        self._failed.pop(piece, None)
        return result

    def rests(self, piece: Hashable, now: int) -> bool:
        """Whether a piece of work has failed, and is not to be tried again yet."""
        failed = self._failed.get(piece)
        return failed is not None and now < failed.until

    def wait(self, now: int) -> int | None:
        """Give the nanoseconds until the first piece has rested; `None` where none rests."""
        return min((each.until - now for each in tuple(self._failed.values()) if now < each.until), default=None)

    def _note(self, piece: Hashable, error: Exception, now: int) -> None:
        self._failed = {key: old for key, old in self._failed.items() if now - old.until < _FORGOTTEN}
        before, detail = self._failed.get(piece), describe(error)
        times = 0 if before is None else before.times + 1
        until = now + min(FIRST_REST << min(times, 30), LAST_REST)
        self._failed[piece] = _Failed(times=times, until=until, told=detail)
        if before is None or before.told != detail:
            self._complain(self._source, detail)


def describe(error: Exception) -> str:
    """Say in one line what was raised, and where."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f" ({frames[-1].filename.rpartition('/')[2]}:{frames[-1].lineno})" if frames else ""
    return f"unforeseen: {type(error).__name__}: {error}{place}"
