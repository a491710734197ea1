"""Locks the state directory, so that a second daemon with the same directory does not start.

Two locks, both released by the kernel when the process ends in any way. The first is on the directory itself: it also holds
between containers that mount the directory. It does not survive a removal of the directory, since a new one is another inode; the
second lock is therefore on the directory's path: one byte, chosen by a hash of the path, of a file in the runtime directory.
Daemons with different state directories lock different bytes. Only root can write there, so no pod can hold the lock and keep
evictd from starting, as it could with an abstract socket.
"""

import fcntl
import os
from collections.abc import Mapping
from contextlib import ExitStack
from errno import EACCES
from hashlib import sha256
from pathlib import Path

from evictd.daemon.store.own_file import fault_of_directory
from evictd.errors import NodeError, StateTakenError
from evictd.worker import ErrorReporter

DEFAULT_RUNTIME_DIRECTORY = Path("/run/evictd")
_OFFSET_BYTES = 7  # the file's offsets are 63 bits


def runtime_directory(environment: Mapping[str, str]) -> Path:
    """Return the directory for files that must not outlive the boot (`RUNTIME_DIRECTORY` of systemd.exec(5))."""
    first = environment.get("RUNTIME_DIRECTORY", "").partition(":")[0]
    return Path(first) if first else DEFAULT_RUNTIME_DIRECTORY


def lock_directory(directory: Path, runtime: Path, stack: ExitStack, errors: ErrorReporter) -> None:
    """Make the state directory and lock it until the stack is unwound; raises `NodeError`.

    A runtime directory that cannot be used is reported, and only the first lock is taken.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        _lock_inode(directory, stack)
    except BlockingIOError as error:
        raise _taken(directory) from error
    except OSError as error:
        remedy = "; use sudo, or name another directory with --state-directory" if error.errno == EACCES else ""
        raise NodeError(f"stateDirectory {directory}: {error.strerror}{remedy}") from error
    if fault := fault_of_directory(directory):
        errors.report_error("state", fault)
    try:
        _lock_path(directory.resolve(), runtime, stack)
    except BlockingIOError as error:
        raise _taken(directory) from error
    except OSError as error:
        errors.report_error("lock", f"{runtime}: {error.strerror}; only the state directory itself is locked")


def _lock_inode(directory: Path, stack: ExitStack) -> None:
    fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    stack.callback(os.close, fd)
    fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _lock_path(directory: Path, runtime: Path, stack: ExitStack) -> None:
    runtime.mkdir(parents=True, exist_ok=True, mode=0o755)
    fd = os.open(runtime / "lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    stack.callback(os.close, fd)
    offset = int.from_bytes(sha256(os.fsencode(directory)).digest()[:_OFFSET_BYTES], "big")
    fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, offset)


def _taken(directory: Path) -> NodeError:
    return StateTakenError(f"stateDirectory {directory}: another evictd uses it")
