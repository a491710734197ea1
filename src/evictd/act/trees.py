"""Removes a directory that a pod has filled, safely as root.

Every directory is opened relative to a descriptor, no symbolic link is followed and no mount is crossed. There is no recursion,
because a pod can create a tree deeper than any stack. Used for emptyDir volumes (`act.volumes`) and logs (`act.logs`).

A directory can be given a project of its own, and one that is inherited refuses directories of other projects (EXDEV on xfs and
ext4). So the top stops to pass its project on before anything is moved to it.

An entry that cannot be removed, such as a file with the immutable attribute, does not keep the others, as with Go's `RemoveAll`,
which the kubelet uses; what is left is an error at the end.
"""

import contextlib
import errno
import fcntl
import os
import struct
from pathlib import Path

from evictd.observe.untrusted_paths import opened

_AT_ONCE = 4096
"""Number of directory names held in memory."""
_ROUNDS = 100_000
"""Bound of every loop: after this many rounds the tree is being filled faster than it can be emptied."""
ENTRIES_AT_ONCE = 2 * _AT_ONCE
"""Number of entries after which a removal in parts ends its part: a tenth of a second to a second. More than `_AT_ONCE`, so that
each part removes something after it has moved as many directories as it holds."""
_MOST_LEFT = 8192
"""Number of entries that cannot be removed after which a removal gives up."""
_MOST_NAME = 100
_GET_FLAGS, _SET_FLAGS, _PROJECT_INHERITED = 0x80086601, 0x40086602, 0x20000000
"""FS_IOC_GETFLAGS, FS_IOC_SETFLAGS and FS_PROJINHERIT_FL of linux/fs.h."""
_FLAGS = struct.Struct("=I4x")
"""The flags: an int, though the numbers say that a long is exchanged."""
_UNMOVABLE = frozenset({errno.EPERM, errno.EXDEV})
_IN_PLACE = 16
"""How deep directories that cannot be moved may be nested; what is deeper is left."""


class UnfinishedError(Exception):
    """The budget of entries is used up and some remain: call the removal again to continue."""


class Budget:
    """The number of entries that one part of a removal may go through."""

    __slots__ = ("_left",)

    def __init__(self, entries: int = ENTRIES_AT_ONCE) -> None:
        self._left = entries

    def spend(self) -> None:
        """Count one entry that was removed or moved; raises `UnfinishedError` if no more is allowed."""
        self._left -= 1
        if self._left <= 0:
            raise UnfinishedError


class _LeftError(OSError):
    """Something could not be removed."""


class _Removal:
    """The state of one removal: directories to empty, entries that stay, and how much may still be removed."""

    __slots__ = ("_budget", "_error", "_left", "_removed", "pending", "top")

    def __init__(self, top: int, budget: Budget | None) -> None:
        self.top = top
        self.pending: list[str] = []
        """Names of directories that were moved to the top and are not emptied yet."""
        self._budget = budget
        self._left: set[tuple[int, str]] = set()
        self._error: OSError | None = None
        """The error of the first entry that stays."""
        self._removed = False

    def stays(self, inode: int, name: str) -> bool:
        """Whether this entry could not be removed before."""
        return not self._left.isdisjoint({(inode, name), (0, name)})

    def leave(self, inode: int, name: str, error: OSError) -> None:
        """Note an entry that cannot be removed; raises `OSError` if there are too many. The inode of a moved directory is 0."""
        if isinstance(error, FileNotFoundError):
            return  # removed by another process
        self._left.add((inode, name))
        self._error = self._error or OSError(error.errno, f"{error.strerror}: {name[:_MOST_NAME]!r}")
        if len(self._left) >= _MOST_LEFT:
            self.end()

    def moved(self) -> None:
        """Count a directory that was moved; raises `UnfinishedError` if no more is allowed now.

        Where this part only moved what cannot be removed, no later one would do better: then it raises `OSError`.
        """
        try:
            if self._budget is not None:
                self._budget.spend()
        except UnfinishedError:
            if not self._removed:
                self.end()
            raise

    def removed(self) -> None:
        """Count an entry that was removed; raises as `moved` does."""
        self._removed = True
        self.moved()

    def end(self) -> None:
        """Raise `OSError` if anything stays."""
        if self._error is not None:
            raise _LeftError(self._error.errno, f"{self._error.strerror} ({len(self._left)} entries stay)")


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


def empty_tree(top: int, budget: Budget | None) -> None:
    """Remove the content of an open directory as `remove_tree` does; it stays, and may be a mount."""
    removal = _Removal(top, budget)
    _accept_every_project(top)
    for _ in range(_ROUNDS):
        _empty_out(top, removal)
        if not removal.pending:
            break
        while removal.pending:
            _remove_moved(removal.pending.pop(), removal)
    removal.end()


def _accept_every_project(top: int) -> None:
    """Have a directory pass its project on no more, where its filesystem knows projects."""
    with contextlib.suppress(OSError):
        (flags,) = _FLAGS.unpack(fcntl.ioctl(top, _GET_FLAGS, bytes(_FLAGS.size)))
        if flags & _PROJECT_INHERITED:
            fcntl.ioctl(top, _SET_FLAGS, _FLAGS.pack(flags & ~_PROJECT_INHERITED))


def _remove_moved(name: str, removal: _Removal) -> None:
    """Empty a directory that was moved to the top, and remove it."""
    try:
        with opened(name, removal.top) as folder:
            _empty_out(folder, removal)
        os.rmdir(name, dir_fd=removal.top)
    except _LeftError:
        raise
    except OSError as error:
        removal.leave(0, name, error)
    else:
        removal.removed()


def _empty_out(folder: int, removal: _Removal, near: int | None = None, depth: int = 0) -> None:
    """Unlink the files of a directory and move its subdirectories to the top; their new names are pending.

    At most `_AT_ONCE` names are kept. Further directories stay in the top and are found again in the next round. What cannot be
    moved to the top, as from a subvolume of btrfs, is moved to `near`, whose own round finds it, and directly in there it is
    emptied where it is.
    """
    for _ in range(_ROUNDS):
        found, directories = _unlink_files(folder, removal)
        for inode, name in directories:
            try:
                moved = _moved(folder, name, removal, near)
            except OSError as error:
                if error.errno in _UNMOVABLE and depth < _IN_PLACE and _in_place(folder, name, removal, near, depth):
                    removal.removed()
                else:
                    removal.leave(inode, name, error)
                continue
            if moved and len(removal.pending) < _AT_ONCE:
                removal.pending.append(moved)
            removal.moved()
        if not found or (folder == removal.top and directories):
            return


def _moved(folder: int, name: str, removal: _Removal, near: int | None) -> str:
    """Move a directory to the top and return its new name there; empty if it was moved to `near`. Raises `OSError`."""
    moved = f".removed-{os.urandom(16).hex()}"  # unpredictable, so the pod cannot have created it
    try:
        os.rename(name, moved, src_dir_fd=folder, dst_dir_fd=removal.top)
    except OSError as error:
        if error.errno != errno.EXDEV or near in {None, folder}:
            raise
        os.rename(name, moved, src_dir_fd=folder, dst_dir_fd=near)
        return ""
    return moved


def _in_place(folder: int, name: str, removal: _Removal, near: int | None, depth: int) -> bool:
    """Empty a directory that cannot be moved, as far as permitted, and remove it; whether it is gone.

    Never enters a mount, which the descriptor's id reveals.
    """
    try:
        with opened(name, folder) as below:
            if mount_of(below) != mount_of(removal.top):
                return False
            _empty_out(below, removal, folder if near is None else near, depth + 1)
        os.rmdir(name, dir_fd=folder)
    except _LeftError:
        raise
    except OSError:
        return False
    return True


def _unlink_files(folder: int, removal: _Removal) -> tuple[bool, list[tuple[int, str]]]:
    """Unlink the files of a directory; returns whether there was any entry, and inode and name of the first subdirectories.

    Entries that stay count as none. Reads entry by entry, because a pod can create millions. A scan may miss entries of a
    changing directory; the next one finds them.
    """
    found, directories = False, list[tuple[int, str]]()
    # btrfs lists no entry that is newer than the open directory, or than its last return to the start.
    os.lseek(folder, 0, os.SEEK_SET)
    with os.scandir(folder) as entries:
        for entry in entries:
            if removal.stays(entry.inode(), entry.name):
                continue
            if entry.is_dir(follow_symlinks=False):
                directories.append((entry.inode(), entry.name))
                found = True
            else:
                found = _unlink(folder, entry, removal) or found
            if len(directories) >= _AT_ONCE:
                break
    return found, directories


def _unlink(folder: int, entry: "os.DirEntry[str]", removal: _Removal) -> bool:
    """Unlink a file; return whether it is gone."""
    try:
        os.unlink(entry.name, dir_fd=folder)
    except FileNotFoundError:
        return True  # removed by another process
    except OSError as error:
        removal.leave(entry.inode(), entry.name, error)
        return False
    removal.removed()
    return True


def mount_of(descriptor: int) -> str:
    """Return the id of a descriptor's mount (`mnt_id`), the only thing in which a bind mount of the same device differs."""
    lines = Path(f"/proc/self/fdinfo/{descriptor}").read_text(encoding="ascii").splitlines()
    return next((line.split()[1] for line in lines if line.startswith("mnt_id:")), "")
