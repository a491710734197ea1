"""Removes the logs of dead containers and of removed pods, and the rotated logs of running ones.

Pods' authors choose parts of these paths, and evictd is root. So every directory is opened relative to its parent's descriptor,
no symbolic link is followed, no mount is crossed, and nothing outside `podLogsDir` is removed. Kubelet `removeContainerLog` and
`evictPodLogsDirectories`.
"""

import contextlib
import os
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path, PurePosixPath
from stat import S_ISREG
from typing import NamedTuple

from evictd.act.trees import remove_tree
from evictd.core.units.duration import MINUTE
from evictd.errors import NodeError
from evictd.observe.untrusted_paths import opened

_BLOCK = 512
SETTLED = MINUTE
"""A log directory younger than this, in nanoseconds, may belong to a pod that is starting."""

_ROTATED = re.compile(r"[0-9]+\.log\.[0-9]{8}-[0-9]{6}(\.gz)?", re.ASCII)
"""Name of a rotated log: the kubelet renames `0.log` to it, and compresses all but the last (`logs.containerLogManager`)."""
_MOST = 10_000
"""Number of entries of a directory that are looked at: the kubelet keeps `containerLogMaxFiles`, five by default."""


class RotatedLogs(NamedTuple):
    """The rotated logs that were found."""

    files: int
    size: int
    """Bytes on disk that their removal frees."""


class PodLogs:
    """The kubelet's `podLogsDir`; `container_links` is the directory of its legacy symlinks (`/var/log/containers`)."""

    def __init__(self, root: Path, container_links: Path | None = None) -> None:
        self._root = root
        self._links = container_links

    def settled_names(self, wall: int) -> tuple[str, ...]:
        """Return the names of directories not changed during the last minute; `wall` is nanoseconds since 1970."""
        try:
            with os.scandir(self._root) as entries:
                return tuple(sorted(entry.name for entry in entries if _settled(entry, wall)))
        except FileNotFoundError:
            return ()
        except OSError as error:
            raise _failed(self._root, error) from error

    def remove_directory(self, name: str) -> None:
        """Remove one pod's log directory with its content; raises `NodeError`."""
        if "/" in name or name in {"", ".", ".."}:
            raise NodeError(f"{name!r} is not an entry of {self._root}")
        try:
            with opened(self._root) as root:
                remove_tree(root, name)
        except FileNotFoundError:
            return
        except OSError as error:
            raise _failed(self._root / name, error) from error

    def remove_container_log(self, log_path: str) -> None:
        """Remove a container's log and its rotated logs (`<log_path>*`); a path outside `podLogsDir` is ignored."""
        path = PurePosixPath(log_path)
        parts = path.parts[len(self._root.parts) :]
        if not parts or ".." in parts or not path.is_relative_to(self._root):
            return
        try:
            with contextlib.ExitStack() as stack:
                folder = stack.enter_context(opened(self._root))
                for part in parts[:-1]:
                    folder = stack.enter_context(opened(part, folder))
                with os.scandir(folder) as entries:
                    names = [entry.name for entry in entries if entry.name.startswith(parts[-1])]
                for name in names:
                    with contextlib.suppress(FileNotFoundError):  # rotated or removed by another process
                        os.unlink(name, dir_fd=folder)
        except FileNotFoundError:
            return
        except OSError as error:
            raise _failed(path, error) from error

    def rotated(self, wall: int, *, remove: bool) -> RotatedLogs:
        """Count the rotated logs of all containers, and remove them if asked to; raises `NodeError`.

        A log that was rotated within the last minute stays: until the kubelet has told the runtime, the runtime writes to it.
        What cannot be opened or removed is left out: its pod may be going.
        """
        try:
            with opened(self._root) as root:
                found = [_rotated(logs, wall, remove=remove) for logs in _log_folders(root)]
        except FileNotFoundError:
            found = []
        except OSError as error:
            raise _failed(self._root, error) from error
        return RotatedLogs(sum(each.files for each in found), sum(each.size for each in found))

    def remove_dangling_links(self) -> int:
        """Remove the legacy symlinks whose log does not exist any more; returns their number."""
        if self._links is None:
            return 0
        removed = 0
        try:
            for link in self._links.iterdir():
                if link.suffix == ".log" and link.is_symlink() and not link.exists():
                    link.unlink()
                    removed += 1
        except FileNotFoundError:
            return removed
        except OSError as error:
            raise _failed(self._links, error) from error
        return removed


def _log_folders(root: int) -> Iterator[int]:
    """Yield each container's directory, open, on the same filesystem."""
    device = os.fstat(root).st_dev
    for pod in _folders(root):
        with contextlib.suppress(OSError), opened(pod, root) as folder:
            for container in _folders(folder):
                with contextlib.suppress(OSError), opened(container, folder) as logs:
                    if os.fstat(logs).st_dev == device:
                        yield logs


def _folders(parent: int) -> list[str]:
    with os.scandir(parent) as entries:
        return [entry.name for entry in islice(entries, _MOST) if entry.is_dir(follow_symlinks=False)]


def _rotated(folder: int, wall: int, *, remove: bool) -> RotatedLogs:
    files = size = 0
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in [each for each in islice(entries, _MOST) if _ROTATED.fullmatch(each.name)]:
            with contextlib.suppress(OSError):
                found = os.stat(entry.name, dir_fd=folder, follow_symlinks=False)
                # The time of the rename; a second name of the file would keep its bytes.
                if not S_ISREG(found.st_mode) or found.st_nlink != 1 or wall - found.st_ctime_ns < SETTLED:
                    continue
                if remove:
                    os.unlink(entry.name, dir_fd=folder)
                files, size = files + 1, size + found.st_blocks * _BLOCK
    return RotatedLogs(files, size)


def _settled(entry: "os.DirEntry[str]", wall: int) -> bool:
    return entry.is_dir(follow_symlinks=False) and wall - entry.stat(follow_symlinks=False).st_mtime_ns >= SETTLED


def _failed(path: Path | PurePosixPath, error: OSError) -> NodeError:
    return NodeError(f"log {str(path)!r} cannot be removed: {error.strerror}")
