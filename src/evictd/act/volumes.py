"""What becomes of an evicted pod's emptyDir volumes where no kubelet cleans up?

They live as long as the pod, and what filled the disk is often in them: with the last container gone they are
removed, or the eviction would have freed nothing and the next pod would go for it (kubelet: the volume manager's
unmount and `cleanupOrphaned PodDirs`; spec 8.2, step 10). Only `kubernetes.io~empty-dir`, only of that uid, never
through a symlink, never across a mount.
"""

import contextlib
import errno
import os
import secrets
from collections.abc import Iterator
from pathlib import Path

from evictd.errors import NodeError

_EMPTY_DIRS = ("volumes", "kubernetes.io~empty-dir")
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def remove_empty_dirs(kubelet_dir: Path, uid: str) -> int:
    """Remove the emptyDir volumes of a pod that is gone; gives their number. Raises `NodeError` if something is left."""
    if not uid or uid in {".", ".."} or "/" in uid or "\0" in uid:
        raise NodeError(f"volumes of {uid!r}: is no uid")
    try:
        with contextlib.ExitStack() as stack:
            folder = stack.enter_context(_opened(str(kubelet_dir / "pods")))
            for step in (uid, *_EMPTY_DIRS):
                folder = stack.enter_context(_opened(step, folder))
            return _remove_all(folder)
    except FileNotFoundError:
        return 0  # it had none
    except OSError as error:
        raise NodeError(f"volumes of pod {uid}: {error.strerror}") from error


def _remove_all(folder: int) -> int:
    device, removed = os.fstat(folder).st_dev, 0
    with os.scandir(folder) as entries:
        names = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
    for name in names:
        # A volume in memory is a mount of its own: it takes nothing of the disk, and is not ours to empty.
        if os.lstat(name, dir_fd=folder).st_dev == device:
            _remove_tree(folder, name)
            removed += 1
    return removed


def _remove_tree(parent: int, name: str) -> None:
    """Remove a tree that a pod has made, however deep: every directory is moved to its top, emptied and removed.

    A pod may mount what it likes in its volume (`mountPropagation: Bidirectional`), also from the same device, and what is
    behind a mount is somebody else's: the kernel moves no mount point (EBUSY), and none is entered unmoved.
    """
    with _opened(name, parent) as top:
        if _mount_of(top) != _mount_of(parent):
            raise OSError(errno.EBUSY, os.strerror(errno.EBUSY))
        pending = _empty_out(top, top)
        while pending:
            each = pending.pop()
            with _opened(each, top) as folder:
                pending += _empty_out(folder, top)
            os.rmdir(each, dir_fd=top)
    os.rmdir(name, dir_fd=parent)


def _empty_out(folder: int, top: int) -> list[str]:
    """Unlink what is no directory, and move the directories to the top; gives the names that they have there."""
    with os.scandir(folder) as entries:
        found = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]
    moved = []
    for name, is_directory in found:
        if is_directory:
            moved.append(f".removed-{secrets.token_hex(16)}")  # nothing that the pod could have made already
            os.rename(name, moved[-1], src_dir_fd=folder, dst_dir_fd=top)
        else:
            os.unlink(name, dir_fd=folder)
    return moved


def _mount_of(descriptor: int) -> str:
    """Give the number of the mount that a descriptor was opened in: a bind mount shows in nothing else."""
    lines = Path(f"/proc/self/fdinfo/{descriptor}").read_text(encoding="ascii").splitlines()
    return next((line for line in lines if line.startswith("mnt_id:")), "")


@contextlib.contextmanager
def _opened(path: str, parent: int | None = None) -> Iterator[int]:
    descriptor = os.open(path, _DIRECTORY, dir_fd=parent)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
