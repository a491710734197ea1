"""Makes a pod's volume of a million entries in the shape that an input describes, and measures it as evictd does.

The first byte of an input is how often the number of entries is halved. Three bytes each are a part of the volume: its kind, its
share of the entries, and the length of their names. A walk takes as long as the volume is large, so `make fuzz` alone makes a
million entries (`entries`); the tests make a hundredth in the same shapes.
"""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from tempfile import mkdtemp

from evictd.observe.untrusted_paths import OPEN_DIRECTORY
from tests.fuzz.trees import FAST
from tests.tree_usage import measure

A_MILLION = 1_000_000
_MOST_PARTS = 8
_WITH_CONTENT = 1000
"""Files of a part that hold a page; a million of them would take 4 GiB of memory."""
_DEEPEST = 100_000
_IN_A_FOLDER = 100

entries = A_MILLION // 100
"""Entries of the largest volume."""


class _Part:
    """A folder that is filled with one kind of entries; each method returns how many inodes it has made."""

    def __init__(self, folder: int, length: int) -> None:
        self._folder = folder
        self._length = length

    def _name(self, number: int) -> str:
        return f"{number:x}".rjust(self._length, "n")

    def files(self, count: int) -> int:
        """Make files, each an inode, the first of them with content."""
        for number in range(count):
            os.mknod(self._name(number), dir_fd=self._folder)
        for number in range(min(count, _WITH_CONTENT)):
            self._fill(self._name(number))
        return count

    def links_of_one(self, count: int) -> int:
        """Make one file with so many links."""
        return self._links(count, each=count)

    def pairs_of_links(self, count: int) -> int:
        """Make files with two links each."""
        return self._links(count, each=2)

    def folders(self, count: int) -> int:
        """Make empty directories beside each other."""
        for number in range(count):
            os.mkdir(self._name(number), dir_fd=self._folder)
        return count

    def chain(self, count: int) -> int:
        """Make directories below each other."""
        here = os.dup(self._folder)
        for number in range(made := min(count, _DEEPEST)):
            name, above = self._name(number), here
            os.mkdir(name, dir_fd=above)
            here = os.open(name, OPEN_DIRECTORY, dir_fd=above)
            os.close(above)
        os.close(here)
        return made

    def folders_of_files(self, count: int) -> int:
        """Make directories with some files in each."""
        for first in range(0, count, _IN_A_FOLDER):
            os.mkdir(name := self._name(first), dir_fd=self._folder)
            below = os.open(name, OPEN_DIRECTORY, dir_fd=self._folder)
            _Part(below, self._length).files(min(_IN_A_FOLDER, count - first) - 1)
            os.close(below)
        return count

    def symlinks(self, count: int) -> int:
        """Make symlinks that lead out of the volume and back into it."""
        for number in range(count):
            os.symlink("/usr" if number % 2 else ".", self._name(number), dir_fd=self._folder)
        return count

    def _links(self, count: int, *, each: int) -> int:
        first = ""
        for number in range(count):
            if number % each == 0:
                first = self._name(number)
                self._fill(first, pages=int(number < _WITH_CONTENT))
            else:
                os.link(first, self._name(number), src_dir_fd=self._folder, dst_dir_fd=self._folder)
        return -(-count // each) if count else 0

    def _fill(self, name: str, *, pages: int = 1) -> None:
        fd = os.open(name, os.O_WRONLY | os.O_CREAT, 0o600, dir_fd=self._folder)
        os.write(fd, b"x" * pages)
        os.close(fd)


_KINDS: tuple[Callable[[_Part, int], int], ...] = (
    _Part.files,
    _Part.links_of_one,
    _Part.pairs_of_links,
    _Part.folders,
    _Part.chain,
    _Part.folders_of_files,
    _Part.symlinks,
)


def size(data: bytes) -> int:
    """Return how many entries an input asks for: the time that it may take grows with them."""
    return entries >> data[0] % 8 if data else 0


def volume(data: bytes) -> None:
    """A walk counts what was made, each inode once, with the blocks that `du` counts."""
    parts = [data[at : at + 3] for at in range(1, min(len(data) - 2, 3 * _MOST_PARTS), 3)]
    shares = sum(share for _, share, _ in parts) or 1
    top = Path(mkdtemp(prefix="evictd-fuzz-", dir=FAST if os.access(FAST, os.W_OK) else None))
    try:
        inodes = 1
        for number, (kind, share, length) in enumerate(parts):
            (folder := top / str(number)).mkdir()
            fd = os.open(folder, OPEN_DIRECTORY)
            try:
                inodes += 1 + _KINDS[kind % len(_KINDS)](_Part(fd, length), size(data) * share // shares)
            finally:
                os.close(fd)
        _compare(top, inodes)
    finally:
        subprocess.run(["rm", "-rf", str(top)], check=True)


def _compare(top: Path, inodes: int) -> None:
    fd = os.open(top, OPEN_DIRECTORY)
    try:
        found = measure(fd)
    finally:
        os.close(fd)
    du = subprocess.run(["du", "-sx", "--block-size=1", str(top)], check=True, stdout=subprocess.PIPE, text=True)
    assert (found.used_bytes, found.inodes_used) == (int(du.stdout.split()[0]), inodes), (found, du.stdout, inodes)
