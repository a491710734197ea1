"""Runs a target on inputs and finds faults: an error other than `EvictdError`, or a time that grows faster than the input."""

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, count
from types import FrameType

from evictd.errors import EvictdError
from tests.fuzz.mutate import Mutator, kept_inputs
from tests.fuzz.targets import SIZES, TARGETS, Target

LONGEST = 32 << 10
"""Bytes of an input."""
BASE_SECONDS, SECONDS_PER_BYTE = 0.1, 100e-6
"""CPU time of an input. Far above what any needs: it finds what grows faster than the input, and no busy machine.

An entry of a volume counts as a byte (`SIZES`)."""
_REPEATS = 5
"""A slow input is given as often again, and the shortest time counts: the garbage collector takes its time in any input."""

ENDLESS_SECONDS = 60.0
"""CPU time of one input, after which it is interrupted."""


@dataclass(frozen=True, slots=True)
class Fault:
    """An input that broke the law."""

    target: str
    data: bytes
    error: BaseException | None
    """`None` for an input that took too long."""

    def __str__(self) -> str:
        wrong = "took too long" if self.error is None else f"{type(self.error).__name__}: {self.error}"[:300]
        return f"{self.target}: {wrong}: {self.data[:200]!r}"


def attempt(name: str, data: bytes) -> Fault | None:
    """Run a target on one input."""
    target, limit = TARGETS[name], BASE_SECONDS + SECONDS_PER_BYTE * SIZES.get(name, len)(data)
    try:
        if _seconds(target, data) > limit and min(_seconds(target, data) for _ in range(_REPEATS)) > limit:
            return Fault(name, data, None)
    except Exception as error:
        return Fault(name, data, error)
    return None


def _seconds(target: Target, data: bytes) -> float:
    begun = time.thread_time()
    try:
        target(data)
    except EvictdError as error:
        if not str(error):
            raise AssertionError(f"{error!r} has no text") from error
    return time.thread_time() - begun


@contextmanager
def interrupted_if_endless() -> Iterator[None]:
    """Let an input that takes `ENDLESS_SECONDS` end with an error, where the interpreter looks at signals."""

    def interrupt(_signal: int, _frame: FrameType | None) -> None:
        raise AssertionError("takes too long")

    before = signal.signal(signal.SIGVTALRM, interrupt)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def faults(name: str, *, seconds: float, seed: int, counts: dict[str, int]) -> Iterator[Fault]:
    """Run the target on the kept inputs and then on made ones until the time is over; `counts` is kept current."""
    inputs = kept_inputs(name)
    mutator = Mutator(inputs, seed, LONGEST)
    until = time.monotonic() + seconds
    for number, data in enumerate(chain(inputs, (mutator.next() for _ in count()))):
        if number >= len(inputs) and time.monotonic() >= until:
            return
        signal.setitimer(signal.ITIMER_VIRTUAL, ENDLESS_SECONDS)
        counts[name] = counts.get(name, 0) + 1
        found = attempt(name, data)
        if found is not None:
            yield found
