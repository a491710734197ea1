"""How is a folder removed that a pod has filled, by root, and nothing that the pod only points to?

Every step down is made with a folder's descriptor, no symbolic link is followed, no mount is crossed, and nothing recurses:
a pod may make a tree deeper than any stack. For emptyDir volumes (`act.volumes`) and log directories (`act.log_files`).
"""

import contextlib
import errno
import os
import secrets
from collections.abc import Iterator
from pathlib import Path

_AT_ONCE = 4096
"""Of how many directories the names are held."""
_ROUNDS = 100_000
"""After so many it counts as somebody's who fills it faster than it can be emptied."""
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@contextlib.contextmanager
def opened(path: str | Path, parent: int | None = None) -> Iterator[int]:
    """Open a folder, below `parent` where one is given; a link at the end of the path is an `OSError`."""
    descriptor = os.open(path, _DIRECTORY, dir_fd=parent)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def remove_tree(parent: int, name: str) -> None:
    """Remove the folder `name` of an open folder with all that is in it, however deep; raises `OSError`.

    Every directory is moved to the top, emptied and removed. A pod may mount what it likes in its volume
    (`mountPropagation: Bidirectional`), also from the same device, and what is behind a mount is somebody else's: the
    kernel moves no mount point (EBUSY), and none is entered unmoved.
    """
    with opened(name, parent) as top:
        if _mount_of(top) != _mount_of(parent):
            raise OSError(errno.EBUSY, os.strerror(errno.EBUSY))
        pending: list[str] = []
        for _ in range(_ROUNDS):
            _empty_out(top, top, pending)
            if not pending:
                break
            while pending:
                each = pending.pop()
                with opened(each, top) as folder:
                    _empty_out(folder, top, pending)
                os.rmdir(each, dir_fd=top)
    os.rmdir(name, dir_fd=parent)


def _empty_out(folder: int, top: int, pending: list[str]) -> None:
    """Unlink what is no directory, and move the directories to the top; adds the names that they have there.

    Of more than `_AT_ONCE` pending ones the names are not kept: they are met again in the next round. The top itself may have
    some left then.
    """
    for _ in range(_ROUNDS):
        found, directories = _unlink_files(folder)
        for name in directories:
            unseen = f".removed-{secrets.token_hex(16)}"  # nothing that the pod could have made already
            with contextlib.suppress(FileNotFoundError):  # gone by itself
                os.rename(name, unseen, src_dir_fd=folder, dst_dir_fd=top)
                if len(pending) < _AT_ONCE:
                    pending.append(unseen)
        if not found or (folder == top and directories):
            return


def _unlink_files(folder: int) -> tuple[bool, list[str]]:
    """Unlink what is no directory; whether there was anything, and the first directories that were met.

    Entry by entry, because a pod may make millions. A scan may miss something while the folder changes, the next one finds it.
    """
    found, directories = False, []
    with os.scandir(folder) as entries:
        for entry in entries:
            with contextlib.suppress(FileNotFoundError):  # gone by itself
                if entry.is_dir(follow_symlinks=False):
                    directories.append(entry.name)
                else:
                    os.unlink(entry.name, dir_fd=folder)
                found = True
            if len(directories) >= _AT_ONCE:
                break
    return found, directories


def _mount_of(descriptor: int) -> str:
    """Give the number of the mount that a descriptor was opened in: a bind mount shows in nothing else."""
    lines = Path(f"/proc/self/fdinfo/{descriptor}").read_text(encoding="ascii").splitlines()
    return next((line for line in lines if line.startswith("mnt_id:")), "")
