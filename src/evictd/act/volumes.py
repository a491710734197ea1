"""What becomes of an evicted pod's emptyDir volumes where no kubelet cleans up?

They live as long as the pod, and what filled the disk is often in them: with the last container gone they are
removed, or the eviction would have freed nothing and the next pod would go for it (kubelet: the volume manager's
unmount and `cleanupOrphaned PodDirs`; spec 8.2, step 10). Only `kubernetes.io~empty-dir`, only of that uid, never
through a symlink, never across a mount.
"""

import contextlib
import os
from pathlib import Path

from evictd.act.trees import opened, remove_tree
from evictd.errors import NodeError

_EMPTY_DIRS = ("volumes", "kubernetes.io~empty-dir")


def remove_empty_dirs(kubelet_dir: Path, uid: str) -> int:
    """Remove the emptyDir volumes of a pod that is gone; gives their number. Raises `NodeError` if something is left."""
    if not uid or uid in {".", ".."} or "/" in uid or "\0" in uid:
        raise NodeError(f"volumes of {uid!r}: is no uid")
    try:
        with contextlib.ExitStack() as stack:
            folder = stack.enter_context(opened(kubelet_dir / "pods"))
            for step in (uid, *_EMPTY_DIRS):
                folder = stack.enter_context(opened(step, folder))
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
            remove_tree(folder, name)
            removed += 1
    return removed
