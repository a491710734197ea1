"""Removes an evicted pod's emptyDir volumes on a node without a kubelet.

The data that filled the disk is often in them. They are removed after the pod's last container; otherwise the eviction would
free nothing and another pod would be evicted (kubelet: unmount by the volume manager and `cleanupOrphanedPodDirs`). Removes only
`kubernetes.io~empty-dir` of that uid, follows no symlink and crosses no mount but one: a volume in memory is a tmpfs of its own,
whose memory comes back only when it is emptied. It is emptied, and stays mounted.
"""

import contextlib
import os
from pathlib import Path

from evictd.act.trees import Budget, empty_tree, mount_of, remove_tree
from evictd.errors import NodeError
from evictd.observe.untrusted_paths import opened

_EMPTY_DIRS = ("volumes", "kubernetes.io~empty-dir")
_NAMED = 3
"""Number of volumes that an error names."""


def remove_empty_dirs(kubelet_dir: Path, uid: str, budget: Budget | None = None) -> int:
    """Remove the emptyDir volumes of a stopped pod; returns their number. Raises `NodeError` if any remains.

    With a budget it may raise `UnfinishedError`; the next call goes on.
    """
    if not uid or uid in {".", ".."} or "/" in uid or "\0" in uid:
        raise NodeError(f"volumes of {uid!r}: is not a uid")
    try:
        with contextlib.ExitStack() as stack:
            folder = stack.enter_context(opened(kubelet_dir / "pods"))
            for step in (uid, *_EMPTY_DIRS):
                folder = stack.enter_context(opened(step, folder))
            return _remove_all(folder, budget)
    except FileNotFoundError:
        return 0  # the pod has no emptyDir volume
    except OSError as error:
        raise NodeError(f"volumes of pod {uid}: {error.strerror}") from error
    except NodeError as error:
        raise NodeError(f"volumes of pod {uid}: {error}") from error


def _remove_all(folder: int, budget: Budget | None) -> int:
    """Remove every volume that can be removed, then raise `NodeError` if any cannot."""
    device, removed, failed = os.fstat(folder).st_dev, 0, list[str]()
    with os.scandir(folder) as entries:
        names = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
    for name in names:
        try:
            if os.lstat(name, dir_fd=folder).st_dev == device:
                remove_tree(folder, name, budget)
                removed += 1
                continue
            with opened(name, folder) as volume:
                if _is_own_tmpfs(volume):
                    empty_tree(volume, budget)
        except FileNotFoundError:
            continue  # removed by another process
        except OSError as error:
            failed.append(f"{name!r}: {error.strerror}")
    if failed:
        raise NodeError(f"{len(failed)} of {len(names)} volumes cannot be removed: {'; '.join(failed[:_NAMED])}")
    return removed


def _is_own_tmpfs(volume: int) -> bool:
    """Whether an open directory is the root of a tmpfs that is mounted nowhere but in the directory of its pod.

    A pod can mount anything over its volume (`mountPropagation: Bidirectional`), also the node's /run, which is mounted elsewhere
    too. The kubelet mounts parts of a volume beside it (`subPath`), and the unit's `ReadWritePaths=` has each mount twice.
    Only mounts in evictd's own mount namespace are counted: a tmpfs that only another container has mounted as well looks like
    the volume's own. Bidirectional propagation is for privileged containers only, which could empty that one themselves.
    """
    # As bytes: a pod's author writes names (`subPath`), of which the kernel escapes nothing but spaces, tabs and line feeds.
    mounts = [line.split(b" ") for line in Path("/proc/self/mountinfo").read_bytes().split(b"\n") if line]
    own = next((fields for fields in mounts if fields[0] == mount_of(volume).encode()), None)
    if own is None or own[3] != b"/" or own[own.index(b"-") + 1] != b"tmpfs":
        return False
    pod, *_ = own[4].rsplit(b"/", len(_EMPTY_DIRS) + 1)
    return all(fields[4].startswith(pod + b"/") for fields in mounts if fields[2] == own[2])
