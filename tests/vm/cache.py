"""Manages the test machine's files, and removes those of killed runs.

One folder outside the tree: `$XDG_CACHE_HOME/evictd/vm`, else `~/.cache/evictd/vm`. A temporary folder in it is locked by
the process that uses it (the lock dies with the process, whatever kills it); the next process removes the unlocked ones.
"""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_TEMPORARY = "tmp-"
_LOCK = ".lock"


def cache_root() -> Path:
    """Return the folder of the test machine, made if need be."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    root = Path(base) / "evictd" / "vm"
    root.mkdir(parents=True, exist_ok=True)
    return root


@contextmanager
def temporary(root: Path) -> Iterator[Path]:
    """Provide a temporary folder in `root`, removed afterwards, or by the next `sweep` if this process is killed."""
    with exclusive(root):  # so that no sweep can come between making the folder and locking it
        path = Path(tempfile.mkdtemp(prefix=_TEMPORARY, dir=root))
        lock = os.open(path / _LOCK, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        fcntl.flock(lock, fcntl.LOCK_EX)
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)
        os.close(lock)


def sweep(root: Path) -> list[Path]:
    """Remove the temporary folders of processes that have ended; returns the removed ones."""
    removed = []
    with exclusive(root):
        for path in root.glob(f"{_TEMPORARY}*"):
            if not _in_use(path):
                shutil.rmtree(path, ignore_errors=True)
                removed.append(path)
    return removed


def _in_use(path: Path) -> bool:
    with suppress(FileNotFoundError), (path / _LOCK).open("rb") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


@contextmanager
def exclusive(root: Path, name: str = _LOCK) -> Iterator[None]:
    """Hold the lock `name` of the cache; blocks while another process holds it."""
    with (root / name).open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
