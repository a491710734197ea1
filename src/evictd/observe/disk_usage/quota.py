"""Reads the usage of a directory tree from the kernel's project quota, where one counts exactly that tree.

With project quotas (xfs, ext4 with `prjquota`) the kernel accounts a tree without a walk, including deleted files that are still
open. The project number of an open directory comes from an ioctl, the project's usage from `quotactl_fd` (Linux 5.14), which
the standard library does not offer. Structures and numbers: linux/fs.h, linux/quota.h and the system call table.
"""

import ctypes
import fcntl
import os
import struct
from collections.abc import Callable

from evictd.core.model.stats import DiskUsage

_FS_IOC_FSGETXATTR = 0x801C581F
_FSXATTR = struct.Struct("=IIIII8x")
_XFLAG_PROJINHERIT = 0x200

_SYS_QUOTACTL_FD = 443  # the same number on every architecture
_Q_GETQUOTA = 0x800007
_PRJQUOTA = 2
_DQBLK = struct.Struct("=8QI4x")
_VALID = 0x2 | 0x8  # QIF_SPACE, QIF_INODES

Quotactl = Callable[[int, int, bytearray], None]
"""(directory descriptor, project, buffer of a struct if_dqblk): fills the buffer or raises `OSError`."""


def quotactl_fd(directory: int, project: int, buffer: bytearray) -> None:
    """Read the usage of a project on the filesystem of an open directory into `buffer`; raises `OSError`."""
    libc = ctypes.CDLL(None, use_errno=True)
    memory = (ctypes.c_char * len(buffer)).from_buffer(buffer)
    command = (_Q_GETQUOTA << 8) | _PRJQUOTA
    if libc.syscall(_SYS_QUOTACTL_FD, directory, ctypes.c_uint(command), ctypes.c_uint(project), memory) < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def project_of(directory: int) -> int:
    """Return the project that new entries of an open directory inherit; 0 for none."""
    buffer = bytearray(_FSXATTR.size)
    try:
        fcntl.ioctl(directory, _FS_IOC_FSGETXATTR, buffer)
    except OSError:
        return 0  # the filesystem has no project quotas
    flags, _, _, project, _ = _FSXATTR.unpack(buffer)
    return int(project) if flags & _XFLAG_PROJINHERIT else 0


def quota_usage(directory: int, *, quotactl: Quotactl = quotactl_fd) -> DiskUsage | None:
    """Return the usage of the tree at an open directory, or `None` where no project quota counts exactly this tree."""
    project = project_of(directory)
    buffer = bytearray(_DQBLK.size)
    try:
        if not project or project == _project_above(directory):
            return None
        quotactl(directory, project, buffer)
    except OSError:
        return None  # quota accounting is off, or the directory was removed
    return parse_dqblk(buffer)


def parse_dqblk(buffer: bytes | bytearray) -> DiskUsage | None:
    """Decode a struct if_dqblk: bytes and inodes in use, if the kernel marks both as valid, else `None`."""
    _, _, space, _, _, inodes, _, _, valid = _DQBLK.unpack(buffer)
    return DiskUsage(space, inodes) if valid & _VALID == _VALID else None


def _project_above(directory: int) -> int:
    """Return the parent directory's project: if it is the same, the quota counts more than this tree."""
    parent = os.open("..", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=directory)
    try:
        return project_of(parent)
    finally:
        os.close(parent)
