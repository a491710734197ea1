"""Opens the files that the daemon keeps for itself: plain files of its own user, of a bounded size, and no links.

The state directory is root's, but it may come from a backup, or be given to others by mistake. A FIFO in the place of a file
would hang the start, where no signal ends it; a link to `/dev/zero` would be read until memory is used up.
"""

import os
import stat
from pathlib import Path

from evictd.errors import InputError

_COMMON = os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
"""O_NONBLOCK: opening a FIFO does not wait for its other end."""
_OTHERS_MAY_WRITE = 0o022


def open_own(path: Path, flags: int) -> int:
    """Open a plain file of our own, with `O_CREAT` a new one; raises OSError, and `InputError` for anything else."""
    fd = os.open(path, flags | _COMMON, 0o600)
    fault = _fault(os.fstat(fd))
    if fault:
        os.close(fd)
        raise InputError(f"{path}: {fault}")
    return fd


def _fault(found: os.stat_result) -> str:
    if not stat.S_ISREG(found.st_mode):
        return "is no regular file"
    return "" if found.st_uid in {0, os.geteuid()} else f"belongs to user {found.st_uid}"


def read_own(path: Path, most_bytes: int) -> bytes:
    """Read a whole file; raises as `open_own`, and `InputError` for more than `most_bytes`."""
    with os.fdopen(open_own(path, os.O_RDONLY), "rb") as file:
        content = file.read(most_bytes + 1)
    if len(content) > most_bytes:
        raise InputError(f"{path}: is larger than {most_bytes} bytes")
    return content


def fault_of_directory(directory: Path) -> str:
    """Return why the state directory is not the daemon's alone; empty if it is."""
    found = directory.stat()
    if found.st_uid not in {0, os.geteuid()}:
        return f"{directory} belongs to user {found.st_uid}, who can replace the files in it; give it to root"
    if found.st_mode & _OTHERS_MAY_WRITE:
        return f"{directory} may be written by others, who can replace the files in it; chmod go-w it"
    return ""
