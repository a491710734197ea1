"""Freezes the containers of a pod that is being stopped, so that they write nothing more, and thaws them again.

`cgroup.freeze` of cgroup v2, `freezer.state` of v1, of each cgroup directly below the pod's: that is a container, or the pod's
sandbox. The kernel freezes a process as soon as it leaves the call that it is in.

A frozen process handles no signal, so SIGTERM stays pending, and on v1 not even SIGKILL ends it before it is thawed. No pod may
stay frozen: `PodStopper` thaws it before its grace ends and when it is closed, and each cgroup has a mark (an extended attribute,
which needs no disk and ends with the cgroup) by which the next run finds what a killed evictd has left frozen. Without the mark
nothing is frozen. What another program has frozen has none and is left alone.
"""

import os
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path

from evictd.act.stop.cgroup_kill import VISITS, belongs
from evictd.act.stop.cgroup_tree import REMOVED, read, write
from evictd.errors import NodeError
from evictd.observe.untrusted_paths import OPEN_DIRECTORY
from evictd.worker import ErrorReporter

MARK = "user.evictd.frozen"
SOURCE = "freeze"


class PodFreezer:
    """Freezes and thaws pods; `directories` names those that the cgroup of a pod may have in the freezer's hierarchy.

    An error is reported once while it repeats, and the pod is stopped without being frozen.
    """

    def __init__(self, directories: Callable[[str], Iterable[Path]], errors: ErrorReporter) -> None:
        self._directories = directories
        self._errors = errors

    def freeze(self, uid: str) -> None:
        """Freeze the containers of a pod; what is frozen already by another program is left alone."""
        found, consequence = False, "pods are stopped without being frozen"
        with self._reported(uid, consequence):
            for pod, container in self._containers(uid):
                found = True
                with self._reported(pod, consequence):
                    if not _is_frozen(container):
                        os.setxattr(container, MARK, b"1")
                        _set(container, frozen=True)
            if not found:
                self._errors.report_error(
                    SOURCE, "no container of a pod to be frozen has a cgroup in the freezer's hierarchy"
                )

    def thaw(self, uid: str) -> None:
        """Thaw what `freeze` has frozen of a pod, also in a previous run; what cannot be thawed does not keep the rest frozen.

        Raises `NodeError` where some of it may stay frozen, as without a free file descriptor; the next call tries it again.
        """
        failed: OSError | None = None
        try:
            for _, container in self._containers(uid):
                if not _has_mark(container):
                    continue
                try:
                    _set(container, frozen=False)
                    os.removexattr(container, MARK)
                except OSError as error:
                    if error.errno not in REMOVED:
                        failed = error
        except OSError as error:
            failed = error
        if failed is not None:
            raise NodeError(f"pod {uid} may stay frozen: {failed.strerror}") from failed

    def thaw_each(self, uids: Iterable[str]) -> None:
        """Thaw what a previous run has left frozen of these pods; an error is reported."""
        for uid in uids:
            try:
                self.thaw(uid)
            except NodeError as error:
                self._errors.report_error(SOURCE, str(error))

    @contextmanager
    def _reported(self, what: object, consequence: str) -> Generator[None]:
        """Report an error, but for a cgroup that was removed meanwhile."""
        try:
            yield
        except OSError as error:
            if error.errno not in REMOVED:
                self._errors.report_error(SOURCE, f"{what}: {error.strerror}; {consequence}")

    def _containers(self, uid: str) -> Generator[tuple[Path, int]]:
        """Yield the pod's directory with an open descriptor of each cgroup directly below it, valid until the next one."""
        for pod in self._directories(uid):
            if not belongs(pod.name, uid):
                continue
            names = list[str]()
            with suppress(FileNotFoundError), os.scandir(pod) as entries:
                names += [entry.name for entry in islice(entries, VISITS) if entry.is_dir(follow_symlinks=False)]
            for name in names:
                with suppress(FileNotFoundError):
                    container = os.open(pod / name, OPEN_DIRECTORY)
                    try:
                        yield pod, container
                    finally:
                        os.close(container)


def _has_mark(container: int) -> bool:
    try:
        os.getxattr(container, MARK)
    except OSError:
        return False
    return True


def _is_frozen(container: int) -> bool:
    try:
        return read(container, "cgroup.freeze").strip() == b"1"
    except FileNotFoundError:
        return read(container, "freezer.self_freezing").strip() == b"1"


def _set(container: int, *, frozen: bool) -> None:
    try:
        write(container, "cgroup.freeze", b"1" if frozen else b"0")
    except FileNotFoundError:
        write(container, "freezer.state", b"FROZEN" if frozen else b"THAWED")
