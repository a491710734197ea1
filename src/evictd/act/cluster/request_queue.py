"""Sends requests to the API server, in the order of their sources and at a bounded rate.

A `RequestQueue` has one thread that sends one request at a time, at most five in any second. Its sources are asked in their
order, so that pods go before events, also when a server comes back after an hour: it gets the latest state of each source, not
a replay. While no request reaches the server, one at a time is tried, with a growing and jittered pause. Where the server
answers one with a temporary error (429, 500, 503), only the source of that request pauses.

`RequestQueues` drives several queues that do not wait for each other: a pod's request that hangs in a webhook delays no
condition, and no stop of another pod.
"""

import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from evictd.clients.kube.backoff import RetryBackoff
from evictd.core.frozen import frozen
from evictd.core.units.duration import SECOND
from evictd.errors import ApiRefusedError, ApiUnavailableError
from evictd.worker import STDERR, ErrorBackoff, ErrorReporter, start_thread

PER_SECOND = 5
_CLOSE_SECONDS = 1.0
"""How long `close` waits for a request under way."""
CONFLICT = 409

Call = Callable[[], None]
"""Sends one request and takes note of its answer."""


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


class RequestSource(Protocol):
    """Something that has requests to send. `call` and `due_at` are asked by the sending thread alone."""

    def call(self, now: int, /) -> Call | None:
        """Return the next request that is due, if any."""
        ...

    def due_at(self, now: int, /) -> int | None:
        """Return when to ask again without a `notify`; `None`: only then."""
        ...

    def refused(self, error: ApiRefusedError, now: int, /) -> None:
        """Take note that the last call was refused for good."""
        ...


class Polled(Protocol):
    """Something that moves on with time."""

    def advance(self, now: int, /) -> int | None:
        """Move on; return when to be called again, `None` for "with the next request"."""
        ...


@dataclass(slots=True)
class _Turn:
    """A source with its own pause after a temporary error of the server."""

    source: RequestSource
    backoff: RetryBackoff
    not_before: int = 0
    problem: str = ""


class RequestQueue:
    """Sends what the sources have, from `start` to `close`; `notify` after a source got something new.

    `polled` is advanced first in every step, also while nothing can be sent. A queue without sources only advances it, and so is
    held up by no request.
    """

    def __init__(
        self,
        sources: Sequence[RequestSource],
        clocks: Clocks,
        *,
        polled: Polled | None = None,
        errors: ErrorReporter = STDERR,
    ) -> None:
        self._guard = ErrorBackoff("api-requests", errors)
        self._polled = polled
        self._turns = tuple(_Turn(source, RetryBackoff(clocks.random)) for source in sources)
        self._clocks = clocks
        self._backoff = RetryBackoff(clocks.random)
        self._sent: deque[int] = deque(maxlen=PER_SECOND)
        self._paused_until = 0
        """Time until which nothing is sent, because the last request did not reach the server."""
        self._changed = threading.Event()
        self._stop = False
        self._on_idle: Callable[[], None] = _nothing
        self._thread = threading.Thread(target=self._run, name="api-requests", daemon=True)
        self._away = ""
        """The error of the last request, if it did not reach the server."""
        self.on_return: Callable[[], None] = _nothing
        """Called when a request reached the server after others had not."""

    @property
    def away(self) -> bool:
        """Whether the last request did not reach the server, so that nothing can be sent at the moment."""
        return bool(self._away)

    @property
    def problem(self) -> str:
        """Why nothing, or nothing of one source, can be sent at the moment; empty while all can."""
        return next((text for text in (self._away, *(turn.problem for turn in self._turns)) if text), "")

    def start(self) -> None:
        """Start the sending thread."""
        start_thread(self._thread)

    def notify(self) -> None:
        """Wake the thread to ask the sources now; may be called from any thread."""
        self._changed.set()

    def retry(self) -> None:
        """End the pause of a server that was away; from any thread."""
        self._paused_until = 0
        self.notify()

    def stop(self) -> None:
        """End the thread after its request under way; unsent requests are dropped."""
        self._stop = True
        self._changed.set()

    def close(self) -> None:
        """End the thread; one that waits for an answer ends with the process: a request may take a minute."""
        self.stop()
        if self._thread.is_alive():
            self._thread.join(_CLOSE_SECONDS)

    def drain(self, seconds: float, finished: Callable[[], bool] = lambda: True) -> None:
        """Wait until no source has a request due and `finished` is true, at most `seconds`; for a clean stop."""
        done = threading.Event()
        self._on_idle = lambda: done.set() if finished() else None
        self.notify()
        done.wait(seconds)
        self._on_idle = _nothing

    def _run(self) -> None:
        while not self._stop:
            now = self._clocks.now()
            wait = self._guard.run("step", partial(self.step, now), now, otherwise=None)
            if wait is None:
                wait = self._guard.wait(now)
            if wait is None or wait > 0:
                self._changed.wait(None if wait is None else wait / SECOND)
                self._changed.clear()

    def step(self, now: int) -> int | None:
        """Send at most one request; return the nanoseconds until the next step, `None` for "with the next `notify`"."""
        again = None
        if self._polled is not None and not self._guard.rests("poll", now):
            again = self._guard.run("poll", partial(self._polled.advance, now), now, otherwise=None)
        paused_until = self._paused_until
        if len(self._sent) == self._sent.maxlen:
            paused_until = max(paused_until, self._sent[0] + SECOND)
        if now < paused_until:
            return max(0, min(paused_until, again or paused_until) - now)
        for turn in self._turns:
            if now >= turn.not_before and not self._guard.rests(id(turn), now) and self._serve(turn, now):
                return 0
        self._on_idle()
        due = [
            max(at, turn.not_before)
            for turn in self._turns
            if not self._guard.rests(id(turn), now) and (at := self._due_at(turn, now)) is not None
        ]
        rest = self._guard.wait(now)
        due += [] if rest is None else [now + rest]
        due += [] if again is None else [again]
        return max(0, min(due) - now) if due else None

    def _due_at(self, turn: _Turn, now: int) -> int | None:
        """Return when to serve this source again; after a pause that is when its failed request is repeated."""
        due = turn.source.due_at(now)
        return turn.not_before if due is None and now < turn.not_before else due

    def _serve(self, turn: _Turn, now: int) -> bool:
        """Send the next request of a source. Return whether it had one. A source that fails pauses; the others go on."""

        def serve() -> bool:
            call = turn.source.call(now)
            if call is not None:
                self._send(turn, call, now)
            return call is not None

        return self._guard.run(id(turn), serve, now, otherwise=False)

    def _send(self, turn: _Turn, call: Call, now: int) -> None:
        self._sent.append(now)
        try:
            call()
        except ApiUnavailableError as error:
            if error.reached:
                self._reached()
                self._postpone(turn, error, error.retry_after_seconds)
            else:
                self._away = str(error)
                self._paused_until = self._clocks.now() + self._backoff.next(error.retry_after_seconds)
        except ApiRefusedError as error:
            self._reached()
            if error.status == CONFLICT:
                self._postpone(turn, error, None)  # another writer was faster: the same again, a little later
            else:
                turn.source.refused(error, now)
                self._done(turn)
        else:
            self._reached()
            self._done(turn)

    def _reached(self) -> None:
        self._backoff.reset()
        if self._away:
            self._away = ""
            self.on_return()

    def _done(self, turn: _Turn) -> None:
        turn.backoff.reset()
        turn.problem, turn.not_before = "", 0

    def _postpone(self, turn: _Turn, error: Exception, retry_after: int | None) -> None:
        turn.problem = str(error)
        turn.not_before = self._clocks.now() + turn.backoff.next(retry_after)


class RequestQueues:
    """Drives request queues that send independently of each other; the first one reports conditions.

    A queue that reaches the server again ends the pauses of the others.
    """

    def __init__(self, *queues: RequestQueue, clocks: Clocks) -> None:
        self.queues = queues
        self._clocks = clocks
        for queue in queues:
            queue.on_return = partial(self._retry, tuple(other for other in queues if other is not queue))

    def start(self) -> None:
        """Start the sending threads."""
        for queue in self.queues:
            queue.start()

    def notify(self) -> None:
        """Wake all threads to ask their sources now; may be called from any thread."""
        for queue in self.queues:
            queue.notify()

    @property
    def away(self) -> bool:
        """Whether the last request of a queue did not reach the server."""
        return any(queue.away for queue in self.queues)

    @property
    def problem(self) -> str:
        """Why something cannot be sent at the moment; empty while all can."""
        return next((queue.problem for queue in self.queues if queue.problem), "")

    def drain(self, seconds: float, finished: Callable[[], bool] = lambda: True) -> None:
        """Wait until no source has a request due and `finished` is true, at most `seconds`; for a clean stop."""
        ends = self._clocks.now() + int(seconds * SECOND)
        for queue in self.queues:
            queue.drain(max(0, ends - self._clocks.now()) / SECOND, finished)

    def close(self) -> None:
        """End the threads; what was not sent is dropped."""
        for queue in self.queues:
            queue.stop()
        for queue in self.queues:
            queue.close()

    @staticmethod
    def _retry(queues: tuple[RequestQueue, ...]) -> None:
        for queue in queues:
            queue.retry()


def _nothing() -> None:
    pass
