"""Removes what only a stopped pod could use, on a thread of its own.

A pod counts as cleaned up when nothing of it runs and the removal of its leftovers was tried once (kubelet: the pod worker's
finished flag). What could not be removed then does not delay the next decision. It is a problem, and is tried again with growing
delays, as the kubelet does with the volumes of orphaned pods, until it is gone or something of that pod runs again.

The pods take turns, each with a part of its leftovers (`UnfinishedError`): a volume of a million entries takes ten seconds to a
minute, and a pod evicted meanwhile would count as there for as long, so that no other would be evicted in its place.
"""

import threading
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import partial

from evictd.act.trees import UnfinishedError
from evictd.core.model.observation import Problem
from evictd.core.units.duration import MINUTE, SECOND
from evictd.errors import EvictdError
from evictd.worker import ErrorReporter, JobQueue

FIRST_DELAY = 10 * SECOND
LAST_DELAY = 10 * MINUTE
"""The time from one attempt to the next doubles from the first to the last."""
MAX_FAILURES = 256
"""The most pods whose leftovers are retried; the oldest are given up first."""


@dataclass(slots=True, kw_only=True)
class _Failure:
    """Leftovers of one pod that could not be removed; times are nanoseconds of the loop's clock."""

    detail: str
    delay: int = FIRST_DELAY
    due_at: int | None = None
    """`None` until the loop has seen it, and while an attempt is under way."""
    under_way: bool = False


class Cleanup:
    """Removes the leftovers of each pod. `remove` blocks, and raises `EvictdError`; `wake` is called after each first attempt.

    Where `remove` raises `UnfinishedError`, it is called again after those of the other pods.

    The loop calls all methods, and the thread that ends pods `begin` as well.
    """

    def __init__(self, remove: Callable[[str], object], errors: ErrorReporter, wake: Callable[[], None]) -> None:
        self._remove = remove
        self._errors = errors
        self._wake = wake
        self._worker = JobQueue(errors)
        self._lock = threading.Lock()
        """Held for `_begun` and `_done`, and never while anything blocks."""
        self._begun: set[str] = set()
        self._done: set[str] = set()
        self._failures: dict[str, _Failure] = {}

    def begin(self, uid: str) -> None:
        """Begin to remove what a stopped pod left; does nothing where that was begun before."""
        with self._lock:
            if uid in self._begun:
                return
            self._begun.add(uid)
        if not self._worker.submit("volumes", lambda: self._clean(uid)):
            self._finish(uid)  # the queue has reported it; waiting would not help
            self._keep_failure(uid, f"volumes of pod {uid}: the disk is too slow")

    def done(self, uid: str) -> bool:
        """Whether the removal of a stopped pod's leftovers was tried once."""
        return uid in self._done

    def retry(self, now: int, running: Collection[str]) -> None:
        """Retry the removals that are due. `running` are uids of pods with a running process: their volumes are in use again."""
        for uid, failure in tuple(self._failures.items()):
            if uid in running:
                self._failures.pop(uid, None)
            elif failure.under_way:
                continue
            elif failure.due_at is None:
                failure.due_at = now + failure.delay
            elif now >= failure.due_at:
                failure.due_at, failure.delay = None, min(2 * failure.delay, LAST_DELAY)
                failure.under_way = True  # before the thread may report its end
                if not self._worker.submit("volumes", partial(self._again, uid)):
                    failure.under_way = False

    def problems(self) -> tuple[Problem, ...]:
        """Return a problem for each pod whose leftovers could not be removed so far."""
        named = [(f"volumes of pod {uid}", failure.detail) for uid, failure in tuple(self._failures.items())]
        return tuple(Problem(source=source, detail=detail.removeprefix(f"{source}: ")) for source, detail in named)

    def retain(self, uids: frozenset[str]) -> None:
        """Drop the records of all pods except those that the core waits for; removals under way, or retried, go on.

        A pod whose last process ends after that is begun once more, and its record is dropped by the next call.
        """
        with self._lock:
            self._begun &= uids
            self._done &= uids

    def close(self) -> None:
        """Finish what is under way, within a bound."""
        self._worker.close()

    def _clean(self, uid: str) -> None:
        finished = True
        try:
            finished = self._remove_in_turn(uid, self._clean)
        except EvictdError as error:
            self._errors.report_error("volumes", str(error))
            self._keep_failure(uid, str(error))
        finally:
            if finished:
                self._finish(uid)
                self._wake()

    def _keep_failure(self, uid: str, detail: str) -> None:
        self._failures[uid] = _Failure(detail=detail)
        for oldest in tuple(self._failures)[:-MAX_FAILURES]:
            self._failures.pop(oldest, None)  # the loop may have dropped it meanwhile

    def _remove_in_turn(self, uid: str, go_on: Callable[[str], None]) -> bool:
        """Remove one batch of leftovers. Return True if none remain; else requeue `go_on` behind the other pods."""
        while True:
            try:
                self._remove(uid)
            except UnfinishedError:
                if self._worker.give_way("volumes", partial(go_on, uid)):
                    return False
            else:
                return True

    def _finish(self, uid: str) -> None:
        with self._lock:
            if uid in self._begun:  # else it is not waited for any more
                self._done.add(uid)

    def _again(self, uid: str) -> None:
        failure = self._failures.get(uid)
        if failure is None:
            return  # something of it runs again
        finished = True
        try:
            finished = self._remove_in_turn(uid, self._again)
        except EvictdError as error:
            failure.detail = str(error)
        else:
            if finished:
                self._failures.pop(uid, None)
        finally:
            failure.under_way = not finished
