"""Opens directories whose names a pod's author may have chosen, so that none of them leads elsewhere.

evictd is root. So each directory is opened relative to an open one above it, no symbolic link is followed, and a name must be a
single path component.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

from evictd.errors import NodeError
from evictd.observe.cgroups.file_descriptor_cache import unreadable

OPEN_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
"""The flags for every directory whose name a pod's author may have chosen."""


def is_safe_name(name: str) -> bool:
    """Whether an untrusted text is a single path component: not empty, `.` or `..`, and without `/` and NUL."""
    return bool(name) and name not in {".", ".."} and "/" not in name and "\0" not in name


@lru_cache(maxsize=4096)
def is_safe_path(path: str) -> bool:
    """Whether an untrusted text is an absolute path of safe names, so that it cannot lead out of the hierarchy."""
    return path.startswith("/") and all(is_safe_name(part) for part in path[1:].split("/"))


@contextmanager
def opened(path: str | Path, parent: int | None = None) -> Iterator[int]:
    """Open a directory, relative to `parent` if given; a symlink as the last component raises `OSError`."""
    descriptor = os.open(path, OPEN_DIRECTORY, dir_fd=parent)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def open_below(base: Path, steps: tuple[str, ...]) -> int:
    """Open the directory `steps` below the trusted directory `base` without following symlinks; returns a descriptor.

    Raises `NodeError` for an unsafe name, a symlink or an error, and `VanishedError` if a component does not exist.
    """
    for step in steps:
        if not is_safe_name(step):
            raise NodeError(f"unsafe name: {step!r}")
    path = str(base)
    try:
        folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        for step in steps:
            above, path = folder, f"{path}/{step}"
            try:
                folder = os.open(step, OPEN_DIRECTORY, dir_fd=above)
            finally:
                os.close(above)
    except OSError as error:
        raise unreadable(path, error) from error
    return folder
