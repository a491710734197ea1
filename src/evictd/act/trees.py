"""Removes a directory that a pod has filled, safely as root.

Every directory is opened relative to a descriptor, no symbolic link is followed and no mount is crossed. There is no recursion,
because a pod can create a tree deeper than any stack. Used for emptyDir volumes (`act.volumes`) and logs (`act.logs`).
"""

import contextlib
import errno
import os
import secrets
from collections.abc import Iterator
from pathlib import Path

_AT_ONCE = 4096
"""Number of directory names held in memory."""
_ROUNDS = 100_000
"""Bound of every loop: after so many rounds the tree is being filled faster than it can be emptied."""
ENTRIES_AT_ONCE = 2 * _AT_ONCE
"""Number of entries after which a removal in parts ends its part: a tenth of a second to a second. More than `_AT_ONCE`, so that
each part removes something after it has moved as many directories as it holds."""
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class UnfinishedError(Exception):
    """As many entries were removed as were allowed, and there are more: the removal is to be begun again, and goes on so."""


class Budget:
    """The number of entries that one part of a removal may go through."""

    __slots__ = ("_left",)

    def __init__(self, entries: int = ENTRIES_AT_ONCE) -> None:
        self._left = entries

    def spend(self) -> None:
        """Count one entry that is gone through next; raises `UnfinishedError` if none is left."""
        if self._left <= 0:
            raise UnfinishedError
        self._left -= 1


@contextlib.contextmanager
def opened(path: str | Path, parent: int | None = None) -> Iterator[int]:
    """Open a directory, relative to `parent` if given; a symlink as the last component raises `OSError`."""
    descriptor = os.open(path, _DIRECTORY, dir_fd=parent)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def remove_tree(parent: int, name: str, budget: Budget | None = None) -> None:
    """Remove the directory `name` of the open directory `parent` with its content, of any depth; raises `OSError`.

    With a budget it may raise `UnfinishedError`. What is left is found again by the next call, so nothing is kept between two.

    Every subdirectory is moved to the top of the tree, emptied there and removed. A pod can mount anything into its volume
    (`mountPropagation: Bidirectional`), also from the same device, and data behind a mount is not the pod's. The kernel refuses
    to rename a mount point (EBUSY), and no directory is entered before it was renamed, so no mount is ever entered.
    """
    with opened(name, parent) as top:
        if mount_of(top) != mount_of(parent):
            raise OSError(errno.EBUSY, os.strerror(errno.EBUSY))
        empty_tree(top, budget)
    os.rmdir(name, dir_fd=parent)


def empty_tree(top: int, budget: Budget | None = None) -> None:
    """Remove the content of an open directory as `remove_tree` does; it stays, and may be a mount."""
    pending: list[str] = []
    for _ in range(_ROUNDS):
        _empty_out(top, top, pending, budget)
        if not pending:
            break
        while pending:
            each = pending.pop()
            with opened(each, top) as folder:
                _empty_out(folder, top, pending, budget)
            os.rmdir(each, dir_fd=top)


def _empty_out(folder: int, top: int, pending: list[str], budget: Budget | None) -> None:
    """Unlink the files of a directory and move its subdirectories to the top; adds their new names to `pending`.

    At most `_AT_ONCE` names are kept. Further directories stay in the top and are found again in the next round.
    """
    for _ in range(_ROUNDS):
        found, directories = _unlink_files(folder, budget)
        for name in directories:
            moved = f".removed-{secrets.token_hex(16)}"  # unpredictable, so the pod cannot have created it
            with contextlib.suppress(FileNotFoundError):  # removed by another process
                os.rename(name, moved, src_dir_fd=folder, dst_dir_fd=top)
                if len(pending) < _AT_ONCE:
                    pending.append(moved)
        if not found or (folder == top and directories):
            return


def _unlink_files(folder: int, budget: Budget | None) -> tuple[bool, list[str]]:
    """Unlink the files of a directory; returns whether there was any entry, and the first subdirectories.

    Reads entry by entry, because a pod can create millions. A scan may miss entries of a changing directory; the next one finds
    them.
    """
    found, directories = False, []
    with os.scandir(folder) as entries:
        for entry in entries:
            if budget is not None:
                budget.spend()
            with contextlib.suppress(FileNotFoundError):  # removed by another process
                if entry.is_dir(follow_symlinks=False):
                    directories.append(entry.name)
                else:
                    os.unlink(entry.name, dir_fd=folder)
                found = True
            if len(directories) >= _AT_ONCE:
                break
    return found, directories


def mount_of(descriptor: int) -> str:
    """Give the id of a descriptor's mount (`mnt_id`), the only thing in which a bind mount of the same device differs."""
    lines = Path(f"/proc/self/fdinfo/{descriptor}").read_text(encoding="ascii").splitlines()
    return next((line.split()[1] for line in lines if line.startswith("mnt_id:")), "")
