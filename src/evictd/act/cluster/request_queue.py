"""Sends requests to the API server, in the order of their sources and at a bounded rate.

One thread sends, one request at a time, at most five in any second. The sources are asked in their order, so that conditions go
before pods and pods before events, also when a server comes back after an hour: it gets the latest state of each source, not a
replay. While the server does not answer, one request at a time is tried, with a growing and jittered pause.
"""

import threading
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol

from evictd.act.cluster.clocks import Clocks
from evictd.clients.kube.backoff import RetryBackoff
from evictd.core.units.duration import SECOND
from evictd.errors import ApiRefusedError, ApiUnavailableError
from evictd.worker import STDERR, ErrorBackoff, ErrorReporter

PER_SECOND = 5
_CONFLICT = 409

Call = Callable[[], None]
"""Sends one request and takes note of its answer."""


class RequestSource(Protocol):
    """Something that has requests to send. `call` and `due_at` are asked by the sending thread alone."""

    def call(self, now: int, /) -> Call | None:
        """Give the next request that is due, if any."""
        ...

    def due_at(self, now: int, /) -> int | None:
        """Give when to ask again without a `notify`; `None`: only then."""
        ...

    def refused(self, error: ApiRefusedError, now: int, /) -> None:
        """Take note that the last call was refused for good."""
        ...


class Polled(Protocol):
    """Something that moves on with time."""

    def advance(self, now: int, /) -> int | None:
        """Move on; gives when to be called again, `None` for "with the next request"."""
        ...


class RequestQueue:
    """Sends what the sources have, from `start` to `close`; `notify` after a source got something new.

    `polled` is advanced first in every step, also while nothing can be sent.
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
        self._sources = tuple(sources)
        self._clocks = clocks
        self._backoff = RetryBackoff(clocks.random)
        self._sent: deque[int] = deque(maxlen=PER_SECOND)
        self._closed_until = 0
        self._changed = threading.Event()
        self._stop = False
        self._on_idle: Callable[[], None] = _nothing
        self._thread = threading.Thread(target=self._run, name="api-requests", daemon=True)
        self.problem = ""
        """Why nothing can be sent at the moment; empty while it can."""

    def start(self) -> None:
        """Start the sending thread."""
        self._thread.start()

    def notify(self) -> None:
        """Have the sources asked now; from any thread."""
        self._changed.set()

    def close(self) -> None:
        """End the thread; what was not sent is dropped."""
        self._stop = True
        self._changed.set()
        if self._thread.is_alive():
            self._thread.join()

    def drain(self, seconds: float, finished: Callable[[], bool] = lambda: True) -> None:
        """Wait until no source has anything due and `finished` is true, at most so long; for a clean stop."""
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
        """Send at most one request; gives the nanoseconds until the next step, `None` for "with the next `notify`"."""
        again = None
        if self._polled is not None and not self._guard.rests("poll", now):
            again = self._guard.run("poll", partial(self._polled.advance, now), now, otherwise=None)
        opens = self._closed_until
        if len(self._sent) == self._sent.maxlen:
            opens = max(opens, self._sent[0] + SECOND)
        if now < opens:
            return max(0, min(opens, again or opens) - now)
        for source in self._sources:
            if not self._guard.rests(id(source), now) and self._serve(source, now):
                return 0
        self._on_idle()
        due = [
            at
            for source in self._sources
            if not self._guard.rests(id(source), now) and (at := source.due_at(now)) is not None
        ]
        rest = self._guard.wait(now)
        due += [] if rest is None else [now + rest]
        return max(0, min(due) - now) if due else None

    def _serve(self, source: RequestSource, now: int) -> bool:
        """Send what a source has; whether it had something. A source that fails rests, and the others go on."""

        def serve() -> bool:
            call = source.call(now)
            if call is not None:
                self._send(source, call, now)
            return call is not None

        return self._guard.run(id(source), serve, now, otherwise=False)

    def _send(self, source: RequestSource, call: Call, now: int) -> None:
        self._sent.append(now)
        try:
            call()
        except ApiUnavailableError as error:
            self._pause(error, error.retry_after_seconds)
        except ApiRefusedError as error:
            if error.status == _CONFLICT:
                self._pause(error, None)  # another writer was faster: the same again, a little later
            else:
                source.refused(error, now)
                self._answered()
        else:
            self._answered()

    def _answered(self) -> None:
        self._backoff.reset()
        self.problem = ""

    def _pause(self, error: Exception, retry_after: int | None) -> None:
        self.problem = str(error)
        self._closed_until = self._clocks.now() + self._backoff.next(retry_after)


def _nothing() -> None:
    pass
