"""How does a notifier outlive the file it was opened on?

The pods' cgroup may appear after the daemon, with the first pod, and may be removed and made again, and a notifier of the
old one never fires again. So each file is looked at once a cycle, which costs a stat; the notifier is opened when the file
is there, and anew when it is another file of the same name.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from evictd.errors import NodeError


class Notifier(Protocol):
    """Anything of the kernel's that can be polled and says 'look now'."""

    name: str
    events: int

    def fileno(self) -> int:
        """What to poll."""
        ...

    def drain(self) -> None:
        """Take the event."""
        ...

    def close(self) -> None:
        """Give it back."""
        ...


N_co = TypeVar("N_co", bound=Notifier, covariant=True)


class KeptNotifier(Generic[N_co]):
    """A notifier that follows its file. Nothing is opened before the first `renew`.

    `find` names the file, `None` where it cannot be named yet; `opener` raises `NodeError`. What `opener` refuses is tried
    again with the next `renew`, and told through `complain` once for each file.
    """

    def __init__(
        self, find: Callable[[], Path | None], opener: Callable[[Path], N_co], complain: Callable[[str], None]
    ) -> None:
        self._find = find
        self._opener = opener
        self._complain = complain
        self._current: N_co | None = None
        self._opened: tuple[int, int] | None = None
        self._told: tuple[int, int] | None = None

    @property
    def current(self) -> N_co | None:
        """The notifier, `None` where there is nothing to be had."""
        return self._current

    def renew(self) -> None:
        """Open, open anew, or give back: whatever the file there is now asks for."""
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
            self._tell(identity, str(error))

    def failed(self, why: str) -> None:
        """Give a notifier up that does not work any more; a file that is gone explains itself and is not told."""
        path = self._find()
        if path is not None and self._opened is not None and _identity(path) == self._opened:
            self._tell(self._opened, why)
        self.close()

    def close(self) -> None:
        """Give the descriptors back."""
        if self._current is not None:
            self._current.close()
        self._current = self._opened = None

    def _tell(self, identity: tuple[int, int], why: str) -> None:
        if identity != self._told:
            self._told = identity
            self._complain(why)


def _identity(path: Path) -> tuple[int, int] | None:
    """Tell a file from another one of the same name; the kernel gives no two cgroups the same inode number."""
    try:
        seen = path.stat()
    except OSError:
        return None
    return seen.st_dev, seen.st_ino
