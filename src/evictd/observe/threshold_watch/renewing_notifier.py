"""Opens a kernel notifier again when the file it watches is replaced.

The cgroup of all pods may be created after the daemon's start, and may be removed and created again; a notifier on the old
cgroup never fires again. So each file is checked once a cycle by one `stat`: the notifier is opened when the file exists, and
opened again when another file has its name.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from evictd.errors import NodeError
from evictd.worker import ErrorReporter

SOURCE = "memory notification"


class KernelNotifier(Protocol):
    """A kernel notification with a descriptor to poll; an event only makes the next reading of memory due."""

    name: str
    events: int

    def fileno(self) -> int:
        """The descriptor to poll for `events`."""
        ...

    def drain(self) -> None:
        """Consume the event."""
        ...

    def close(self) -> None:
        """Close the descriptors."""
        ...


N_co = TypeVar("N_co", bound=KernelNotifier, covariant=True)


class RenewingNotifier(Generic[N_co]):
    """Holds a notifier on the file of a path that may be replaced. Nothing is opened before the first `renew`.

    `find` returns the path, or `None` while it is unknown; `opener` raises `NodeError`. After a refusal the next `renew` tries
    again; `errors` is notified once per file.
    """

    def __init__(self, find: Callable[[], Path | None], opener: Callable[[Path], N_co], errors: ErrorReporter) -> None:
        self._find = find
        self._opener = opener
        self._errors = errors
        self._current: N_co | None = None
        self._opened: tuple[int, int] | None = None
        self._reported: tuple[int, int] | None = None

    @property
    def current(self) -> N_co | None:
        """The open notifier, or `None`."""
        return self._current

    def renew(self) -> None:
        """Open the notifier if its file is new or replaced; close it if the file was removed."""
        path = self._find()
        identity = None if path is None else _identity(path)
        if self._current is not None and identity == self._opened:
            return
        self.close()
        if path is None or identity is None:
            return
        try:
            self._current = self._opener(path)
            self._opened = identity
        except NodeError as error:
            self._report(identity, str(error))

    def failed(self, why: str) -> None:
        """Close a failed notifier; report `why` unless its file was removed."""
        path = self._find()
        if path is not None and self._opened is not None and _identity(path) == self._opened:
            self._report(self._opened, why)
        self.close()

    def close(self) -> None:
        """Close the notifier, if open."""
        if self._current is not None:
            self._current.close()
        self._current = self._opened = None

    def _report(self, identity: tuple[int, int], why: str) -> None:
        if identity != self._reported:
            self._reported = identity
            self._errors.report_error(SOURCE, why)


def _identity(path: Path) -> tuple[int, int] | None:
    """Return device and inode of a file, `None` if it does not exist; cgroups created in turn have different inode numbers."""
    try:
        seen = path.stat()
    except OSError:
        return None
    return seen.st_dev, seen.st_ino
