"""Answers a path that is a directory, or that is not there, with the files that may be meant."""

import errno
import os
from collections.abc import Callable, Iterator
from pathlib import Path

from evictd.config.file import STANDARD_INPUT
from evictd.errors import InputError
from evictd.render.text import first_of

_SUFFIXES = frozenset({".yaml", ".yml", ".json"})


def is_there(path: Path) -> bool:
    """Whether there is such a file, or this user may not look: reading it says so.

    `Path.exists` then raises an error, and from Python 3.14 on is False.
    """
    try:
        path.stat()
    except (OSError, ValueError) as error:  # a name with a NUL, which no file has, raises the latter
        return isinstance(error, PermissionError)
    return True


def is_directory(path: Path) -> bool:
    """Whether a path is a directory; not where this user may not look: reading it says so."""
    try:
        return path.is_dir()
    except OSError:
        return False


def require_writable(path: Path, option: str) -> None:
    """Raise `InputError` for a file of this option that cannot be written, before the work for it is done."""
    at = path if is_there(path) else path.parent
    if is_directory(path) or not os.access(at, os.W_OK, effective_ids=True):
        reason = errno.EISDIR if is_directory(path) else errno.EACCES if is_there(at) else errno.ENOENT
        raise InputError(f"{option}: {path}: {os.strerror(reason)}")


def refuse_directory(path: Path, is_meant: Callable[[Path], bool], examples: str) -> None:
    """Refuse a directory, with its files for which `is_meant`, the directories in it that have such, or `examples`."""
    if not is_directory(path):
        return
    files = list(_files_in(path))
    if meant := [str(each) for each in files if is_meant(each)]:
        remedy = f"give one of its files: {first_of(meant)}"
    elif inner := [
        str(each) for each in sorted(path.iterdir()) if each.is_dir() and any(map(is_meant, _files_in(each)))
    ]:
        remedy = f"give a file of {first_of(inner)}"
    else:
        remedy = examples
    raise InputError(f"{path}: is a directory; {remedy}")


def with_examples(error: InputError, path: Path, examples: str) -> InputError:
    """Return the fault of reading a file with `examples`, if the file is not there and nothing near it is named."""
    if path == STANDARD_INPUT or is_there(path) or any("did you mean" in each for each in error.problems):
        return error
    return InputError(tuple(f"{each}; {examples}" for each in error.problems))


def _files_in(folder: Path) -> Iterator[Path]:
    return (each for each in sorted(folder.iterdir()) if each.suffix in _SUFFIXES and each.is_file())
