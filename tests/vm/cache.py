"""Manages the test machine's files, and removes those of killed runs.

One folder outside the tree: `$XDG_CACHE_HOME/evictd/vm`, else `~/.cache/evictd/vm`. A temporary folder in it is locked by
the process that uses it (the lock dies with the process, whatever kills it); the next process removes the unlocked ones.
"""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
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


def ensure(root: Path, name: str, key: str, make: Callable[[Path], None]) -> Path:
    """Return the folder NAME-KEY of the cache; `make` fills it first if it is not there, and folders of other keys are removed.

    `make` gets the path of a folder that does not exist yet, below a temporary one, where it may have files of its own. The last
    step is a rename, so a killed process leaves nothing half done. NAME.lock is held meanwhile.
    """
    root.mkdir(parents=True, exist_ok=True)
    sweep(root)
    finished = root / f"{name}-{key}"
    with exclusive(root, f"{name}.lock"):
        if not finished.exists():
            with temporary(root) as work:
                make(work / "made")
                (work / "made").rename(finished)
            for old in root.glob(f"{name}-*/"):
                if old != finished:
                    shutil.rmtree(old, ignore_errors=True)
    return finished


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
