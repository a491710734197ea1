"""Does the kernel keep count of this tree already?

A project quota (xfs, ext4 with `prjquota`) knows what a tree takes without a walk, deleted but open files included. Asked
through the open directory itself: its project number by an ioctl, the project's usage by `quotactl_fd` (Linux 5.14), for which
the standard library has no call. Structures and numbers: linux/fs.h, linux/quota.h, and the system call table.
"""

import ctypes
import fcntl
import os
import struct
from collections.abc import Callable

from evictd.core.stats import DiskUsage

_FS_IOC_FSGETXATTR = 0x801C581F
_FSXATTR = struct.Struct("=IIIII8x")
_XFLAG_PROJINHERIT = 0x200

_SYS_QUOTACTL_FD = 443  # the same number on every architecture
_Q_GETQUOTA = 0x800007
_PRJQUOTA = 2
_DQBLK = struct.Struct("=8QI4x")
_VALID = 0x2 | 0x8  # QIF_SPACE, QIF_INODES

Quotactl = Callable[[int, int, bytearray], None]
"""(directory, project, room for a struct if_dqblk): fills it in or raises `OSError`."""


def quotactl_fd(directory: int, project: int, room: bytearray) -> None:
    """Ask the kernel for the usage of a project on the filesystem of an open directory."""
    libc = ctypes.CDLL(None, use_errno=True)
    buffer = (ctypes.c_char * len(room)).from_buffer(room)
    command = (_Q_GETQUOTA << 8) | _PRJQUOTA
    if libc.syscall(_SYS_QUOTACTL_FD, directory, ctypes.c_uint(command), ctypes.c_uint(project), buffer) < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def project_of(directory: int) -> int:
    """Give the project that an open directory hands on to what is made in it; 0 for none."""
    room = bytearray(_FSXATTR.size)
    try:
        fcntl.ioctl(directory, _FS_IOC_FSGETXATTR, room)
    except OSError:
        return 0  # a filesystem that knows no projects
    flags, _, _, project, _ = _FSXATTR.unpack(room)
    return int(project) if flags & _XFLAG_PROJINHERIT else 0


def quota_usage(directory: int, *, quotactl: Quotactl = quotactl_fd) -> DiskUsage | None:
    """Give the usage of the tree below an open directory, or `None` where no quota counts just this tree."""
    project = project_of(directory)
    room = bytearray(_DQBLK.size)
    try:
        if not project or project == _project_above(directory):
            return None
        quotactl(directory, project, room)
    except OSError:
        return None  # no quota accounting, or a folder that went away
    return parse_dqblk(room)


def parse_dqblk(room: bytes | bytearray) -> DiskUsage | None:
    """Read a struct if_dqblk: bytes and inodes in use, if the kernel says that both are valid."""
    _, _, space, _, _, inodes, _, _, valid = _DQBLK.unpack(room)
    return DiskUsage(space, inodes) if valid & _VALID == _VALID else None


def _project_above(directory: int) -> int:
    """Give the parent's project: where it is the same, the quota counts more than this tree."""
    parent = os.open("..", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=directory)
    try:
        return project_of(parent)
    finally:
        os.close(parent)
