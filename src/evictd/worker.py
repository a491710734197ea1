"""Runs work on threads: a bounded queue with its thread, and a back-off for work that fails.

Three rules hold for every thread of the daemon. Handing work over never blocks and never raises: a queue is bounded, and what
does not fit is refused. An exception costs one piece of work and never the thread. The same failure of the same work is reported
once for as long as it repeats; foreseen errors (`EvictdError`) by their message, others with their type and place as well.
"""

import sys
import threading
import traceback
from collections import deque
from collections.abc import Callable, Hashable
from typing import Generic, Protocol, TypeVar

from evictd.core.frozen import frozen
from evictd.core.units.duration import MILLISECOND, SECOND
from evictd.errors import EvictdError, NodeError

FIRST_REST = 500 * MILLISECOND
LAST_REST = 30 * SECOND
"""Pause of a job after a failure; each failure in a row doubles it, up to the last."""
_FORGOTTEN = 10 * LAST_REST
_MOST_TEXT = 500
QUEUED_JOBS = 256
CLOSE_SECONDS = 5.0
"""Seconds to wait for the end of a queue of jobs: a disk that hangs must not keep the daemon from ending."""

_T = TypeVar("_T")


class ErrorReporter(Protocol):
    """Counts and logs errors. Safe from any thread, and does not block."""

    def report_error(self, source: str, detail: str) -> None:
        """Report an error of a source; the first word or words of the source name its kind (`docs/metrics.md`)."""
        ...


class StandardErrorReporter:
    """Writes errors to standard error; for commands and tests without telemetry."""

    def report_error(self, source: str, detail: str) -> None:
        """Write one line."""
        sys.stderr.write(f"evictd: {source}: {detail}\n")


STDERR = StandardErrorReporter()


def start_thread(thread: threading.Thread) -> None:
    """Start a thread; raises `NodeError` where the node grants none, as without a free PID."""
    try:
        thread.start()
    except RuntimeError as error:
        raise NodeError(f"thread {thread.name}: {error}") from error


class WorkQueue(Generic[_T]):
    """A bounded queue and the daemon thread that works on its items, in order.

    `work` runs on the thread and must not raise. `capacity` bounds the sum of the sizes of the items that wait; the item that
    is worked on does not count. Raises `NodeError` where the node grants no thread.
    """

    def __init__(self, name: str, work: Callable[[_T], None], *, capacity: int) -> None:
        self._work = work
        self._capacity = capacity
        self._items: deque[tuple[_T, int]] = deque()
        self._size = 0
        self._closing = False
        self._change = threading.Condition()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        start_thread(self._thread)

    def put(self, item: _T, size: int = 1) -> bool:
        """Append an item and return at once; False if it does not fit, or the queue is closed."""
        with self._change:
            if self._closing or self._size + size > self._capacity:
                return False
            self._items.append((item, size))
            self._size += size
            self._change.notify()
        return True

    def close(self, timeout_seconds: float) -> bool:
        """Work on what was put, within the time given; False if the thread still runs (it ends with the process)."""
        with self._change:
            self._closing = True
            self._change.notify()
        self._thread.join(timeout_seconds)
        return not self._thread.is_alive()

    def _run(self) -> None:
        while (taken := self._take()) is not None:
            self._work(taken[0])

    def _take(self) -> tuple[_T, int] | None:
        with self._change:
            while not self._items:
                if self._closing:
                    return None
                self._change.wait()
            taken = self._items.popleft()
            self._size -= taken[1]
            return taken


Job = Callable[[], None]
"""Work for the thread of a `JobQueue`; what it raises is reported, and the next job runs."""


class JobQueue:
    """Runs jobs that may block on a disk, in order, on one thread that exists before any pressure."""

    def __init__(self, errors: ErrorReporter, *, capacity: int = QUEUED_JOBS) -> None:
        self._errors = errors
        self._failing: dict[str, str] = {}
        self._queue: WorkQueue[tuple[str, Job]] = WorkQueue("evictd-writer", self._run, capacity=capacity)

    def submit(self, source: str, job: Job, *, size: int = 1) -> bool:
        """Queue a job, which takes `size` places; False, and an error of its source, if the queue is full."""
        queued = self._queue.put((source, job), size)
        if not queued:
            self._report(source, "the disk is too slow: a record was dropped")
        return queued

    def give_way(self, source: str, job: Job) -> bool:
        """Queue the rest of a job behind those that wait; False, and no error, where it does not fit or the queue is closed."""
        return self._queue.put((source, job))

    @property
    def failing(self) -> dict[str, str]:
        """The sources whose last job failed, each with what happened; a copy."""
        return dict(self._failing)

    def close(self, timeout_seconds: float | None = None) -> bool:
        """Run the queued jobs, within the time given or `CLOSE_SECONDS`; whether all of them ran."""
        return self._queue.close(CLOSE_SECONDS if timeout_seconds is None else timeout_seconds)

    def _run(self, submitted: tuple[str, Job]) -> None:
        source, job = submitted
        try:
            job()
        except OSError as error:
            self._report(source, f"{error.filename or ''}: {error.strerror or error}".removeprefix(": "))
        except Exception as error:  # whatever it is: the journal and the state must go on being written
            self._report(source, describe(error))
        else:
            self._failing.pop(source, None)

    def _report(self, source: str, detail: str) -> None:
        """Report an error, once while a source fails in the same way: each cycle submits the failed job again."""
        if self._failing.get(source) != detail:
            self._failing[source] = detail
            self._errors.report_error(source, detail)


@frozen
class _Failed:
    times: int
    until: int
    detail: str


class ErrorBackoff:
    """Runs the pieces of work of one thread, each with a back-off of its own.

    Times are `now` in nanoseconds on the owner's clock. `run` does not look at the back-off: the owner asks `rests` first
    where a piece of work can wait.
    """

    def __init__(self, source: str, errors: ErrorReporter = STDERR) -> None:
        self._source = source
        self._errors = errors
        self._failed: dict[Hashable, _Failed] = {}

    def run(self, piece: Hashable, work: Callable[[], _T], now: int, *, otherwise: _T) -> _T:
        """Return what the work returns; `otherwise` if it raised anything."""
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
        """Return the nanoseconds until the first back-off ends; `None` where nothing rests."""
        return min((each.until - now for each in tuple(self._failed.values()) if now < each.until), default=None)

    def failure(self, piece: Hashable) -> str:
        """Describe the last failure of a piece of work; empty if it succeeded since."""
        failed = self._failed.get(piece)
        return "" if failed is None else failed.detail

    def _note(self, piece: Hashable, error: Exception, now: int) -> None:
        self._failed = {key: old for key, old in self._failed.items() if now - old.until < _FORGOTTEN}
        before, detail = self._failed.get(piece), describe(error)
        times = 0 if before is None else before.times + 1
        until = now + min(FIRST_REST << min(times, 30), LAST_REST)
        self._failed[piece] = _Failed(times=times, until=until, detail=detail)
        if before is None or before.detail != detail:
            self._errors.report_error(self._source, detail)


def describe(error: Exception) -> str:
    """Describe an exception in one line; an unforeseen one with its type and place."""
    if isinstance(error, EvictdError):
        return str(error)
    # Not `extract_tb`, which reads the source files: their disk may hang.
    frames = [(frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(error.__traceback__)]
    place = f" ({frames[-1][0].rpartition('/')[2]}:{frames[-1][1]})" if frames else ""
    return f"unforeseen: {type(error).__name__}: {str(error)[:_MOST_TEXT]}{place}"
