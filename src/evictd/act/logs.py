"""Removes the logs of dead containers and of removed pods.

Pods' authors choose parts of these paths, and evictd is root. So every directory is opened relative to its parent's descriptor,
no symbolic link is followed, no mount is crossed, and nothing outside `podLogsDir` is removed. Kubelet `removeContainerLog` and
`evictPodLogsDirectories` (spec 7.5).
"""

import contextlib
import os
from pathlib import Path, PurePosixPath

from evictd.act.trees import opened, remove_tree
from evictd.core.units.duration import MINUTE
from evictd.errors import NodeError

SETTLED = MINUTE
"""A log directory younger than this, in nanoseconds, may belong to a pod that is starting."""


class PodLogs:
    """The kubelet's `podLogsDir`; `container_links` is the directory of its legacy symlinks (`/var/log/containers`)."""

    def __init__(self, root: Path, container_links: Path | None = None) -> None:
        self._root = root
        self._links = container_links

    def settled_names(self, wall: int) -> tuple[str, ...]:
        """Give the names of directories not changed during the last minute; `wall` is nanoseconds since 1970."""
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
                    os.unlink(name, dir_fd=folder)
        except FileNotFoundError:
            return
        except OSError as error:
            raise _failed(path, error) from error

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


def _settled(entry: "os.DirEntry[str]", wall: int) -> bool:
    return entry.is_dir(follow_symlinks=False) and wall - entry.stat(follow_symlinks=False).st_mtime_ns >= SETTLED


def _failed(path: Path | PurePosixPath, error: OSError) -> NodeError:
    return NodeError(f"log {str(path)!r} cannot be removed: {error.strerror}")
