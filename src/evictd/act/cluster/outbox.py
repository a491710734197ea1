"""In which order, and how fast, does anything go to the API server?

One thread sends, one request at a time, never more than five in any second. The lanes are asked in their order, so that
conditions go before pods and pods before events, also when a server comes back after an hour: it gets the latest state of
each lane, not a replay. While nobody answers only one request at a time tries, with a growing and jittered pause.
"""

import threading
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol

from evictd.clients.kube.backoff import Backoff
from evictd.core.duration import SECOND
from evictd.errors import ApiRefusedError, ApiUnavailableError
from evictd.guard import Complain, Guard, to_stderr

PER_SECOND = 5
_CONFLICT = 409

Call = Callable[[], None]
"""Sends one request and takes note of its answer."""


class Lane(Protocol):
    """Something that has requests to send. `call` and `due_at` are asked by the sending thread alone."""

    def call(self, now: int, /) -> Call | None:
        """Give the next request that is due, if any."""
        ...

    def due_at(self, now: int, /) -> int | None:
        """Tell when to ask again though nothing stirs; `None`: not before."""
        ...

    def refused(self, error: ApiRefusedError, now: int, /) -> None:
        """Take note that the last call was refused for good."""
        ...


class Outbox:
    """Sends what the lanes have, from `start` to `close`; `stir` after a lane got something new.

    `each_step` is called first in every step, also while nothing can be sent, and tells when it wants to be called again.
    """

    def __init__(
        self,
        lanes: Sequence[Lane],
        *,
        clock: Callable[[], int],
        random: Callable[[], float],
        per_second: int = PER_SECOND,
        each_step: Callable[[int], int | None] = lambda _: None,
        complain: Complain = to_stderr,
    ) -> None:
        self._guard = Guard("api-outbox", complain)
        self._each_step = each_step
        self._lanes = tuple(lanes)
        self._clock = clock
        self._backoff = Backoff(random)
        self._sent: deque[int] = deque(maxlen=per_second)
        self._closed_until = 0
        self._stir = threading.Event()
        self._stop = False
        self._on_idle: Callable[[], None] = _nothing
        self._thread = threading.Thread(target=self._run, name="api-outbox", daemon=True)
        self.problem = ""
        """Why nothing can be sent at the moment; empty while it can."""

    def start(self) -> None:
        """Start the sending thread."""
        self._thread.start()

    def stir(self) -> None:
        """Have the lanes asked now; from any thread."""
        self._stir.set()

    def close(self) -> None:
        """End the thread; what was not sent is dropped."""
        self._stop = True
        self._stir.set()
        if self._thread.is_alive():
            self._thread.join()

    def drain(self, seconds: float) -> None:
        """Wait until no lane has anything due, at most so long; for a clean stop."""
        done = threading.Event()
        self._on_idle = done.set
        self.stir()
        done.wait(seconds)
        self._on_idle = _nothing

    def _run(self) -> None:
        while not self._stop:
            now = self._clock()
            wait = self._guard.run("step", partial(self.step, now), now, otherwise=None)
            if wait is None:
                wait = self._guard.wait(now)
            if wait is None or wait > 0:
                self._stir.wait(None if wait is None else wait / SECOND)
                self._stir.clear()

    def step(self, now: int) -> int | None:
        """Send at most one request; gives the nanoseconds until the next look, `None` for "when something stirs"."""
        again = None
        if not self._guard.rests("each step", now):
            again = self._guard.run("each step", partial(self._each_step, now), now, otherwise=None)
        opens = self._closed_until
        if len(self._sent) == self._sent.maxlen:
            opens = max(opens, self._sent[0] + SECOND)
        if now < opens:
            return max(0, min(opens, again or opens) - now)
        for lane in self._lanes:
            if not self._guard.rests(id(lane), now) and self._serve(lane, now):
                return 0
        self._on_idle()
        due = [
            at for lane in self._lanes if not self._guard.rests(id(lane), now) and (at := lane.due_at(now)) is not None
        ]
        rest = self._guard.wait(now)
        due += [] if rest is None else [now + rest]
        return max(0, min(due) - now) if due else None

    def _serve(self, lane: Lane, now: int) -> bool:
        """Send what a lane has; whether it had something. A lane that fails rests, and the others go on."""

        def serve() -> bool:
            call = lane.call(now)
            if call is not None:
                self._send(lane, call, now)
            return call is not None

        return self._guard.run(id(lane), serve, now, otherwise=False)

    def _send(self, lane: Lane, call: Call, now: int) -> None:
        self._sent.append(now)
        try:
            call()
        except ApiUnavailableError as error:
            self._pause(error, error.retry_after_seconds)
        except ApiRefusedError as error:
            if error.status == _CONFLICT:
                self._pause(error, None)  # somebody else wrote at the same moment: the same again, a little later
            else:
                lane.refused(error, now)
                self._answered()
        else:
            self._answered()

    def _answered(self) -> None:
        self._backoff.reset()
        self.problem = ""

    def _pause(self, error: Exception, retry_after: int | None) -> None:
        self.problem = str(error)
        self._closed_until = self._clock() + self._backoff.next(retry_after)


def _nothing() -> None:
    pass
