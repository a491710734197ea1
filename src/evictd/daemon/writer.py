"""Who writes to the disk, when the disk may be full, slow or gone?

One thread, started before any pressure, runs small jobs in order; the loop only hands them over and never waits for a
disk. The queue is bounded: what no longer fits is dropped and counted, and an eviction goes on regardless.
"""

import queue
import threading
from collections.abc import Callable

from evictd.guard import describe

Job = Callable[[], None]
"""Something to do on the writer's thread; what it raises is complained about, and the next job is done."""


class Writer:
    """The queue and its one thread. `complain(source, detail)` is called for every job that failed or was dropped."""

    def __init__(self, complain: Callable[[str, str], None], *, capacity: int = 256) -> None:
        self._complain = complain
        self._jobs: queue.Queue[tuple[str, Job] | None] = queue.Queue(capacity)
        self._thread = threading.Thread(target=self._work, name="evictd-writer", daemon=True)
        self._thread.start()

    def submit(self, source: str, job: Job) -> bool:
        """Hand a job over; False, and a complaint, if there is no room."""
        try:
            self._jobs.put_nowait((source, job))
        except queue.Full:
            self._complain(source, "the disk is too slow: a record was dropped")
            return False
        return True

    def close(self, timeout_seconds: float = 5.0) -> bool:
        """Finish what was handed over, within the time given; whether all of it was."""
        try:
            self._jobs.put(None, timeout=timeout_seconds)
        except queue.Full:
            return False
        self._thread.join(timeout_seconds)
        return not self._thread.is_alive()

    def _work(self) -> None:
        while (item := self._jobs.get()) is not None:
            source, job = item
            try:
                job()
            except OSError as error:
                self._complain(source, f"{error.filename or ''}: {error.strerror or error}".removeprefix(": "))
            except Exception as error:  # whatever it is: the journal and the state must go on being written
                self._complain(source, describe(error))
