"""Which device holds a path, and did the mounts change?

Two paths share a filesystem if they share its device number. Subvolumes of btrfs have numbers of their own that are in no mount
table; they are told by the source of the mount that they lie below, as the kubelet does (spec 3.3). The kernel flags the open
mount table when it changes, so nothing is read again while all is calm.
"""

import os
import re
import select
from dataclasses import dataclass
from pathlib import Path

from evictd.errors import NodeError
from evictd.observe.kept_files import unreadable

_OCTAL = re.compile(rb"\\([0-7]{3})")
_FIELDS_BEFORE_DASH = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Mount:
    """A line of mountinfo."""

    device: str
    """`major:minor`"""
    point: bytes
    fs_type: str
    source: str


def parse_mountinfo(text: bytes) -> tuple[Mount, ...]:
    """Read /proc/self/mountinfo; lines cut short are left out."""
    mounts = []
    for line in text.splitlines():
        before, dash, after = line.partition(b" - ")
        fields, tail = before.split(b" "), after.split(b" ")
        if dash and len(fields) >= _FIELDS_BEFORE_DASH and len(tail) >= 2:
            mounts.append(
                Mount(
                    device=fields[2].decode("ascii", "replace"),
                    point=_unescape(fields[4]),
                    fs_type=tail[0].decode("utf-8", "surrogateescape"),
                    source=os.fsdecode(_unescape(tail[1])),
                )
            )
    return tuple(mounts)


def _unescape(text: bytes) -> bytes:
    return _OCTAL.sub(lambda match: bytes([int(match[1], 8)]), text)


class MountTable:
    """The mounts as this process sees them."""

    def __init__(self, proc: Path) -> None:
        self._path = str(proc / "self/mountinfo")
        try:
            self._fd = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            raise unreadable(self._path, error) from error
        self._poll = select.poll()
        self._poll.register(self._fd, select.POLLPRI)
        self._mounts: tuple[Mount, ...] | None = None

    def changed(self) -> bool:
        """Whether a mount came or went since the last call; true at the first. Reads the table only then."""
        # The flag is taken down by asking, so the table is read after it.
        if not self._poll.poll(0) and self._mounts is not None:
            return False
        self._mounts = parse_mountinfo(self._read())
        return True

    def device_of(self, path: Path) -> str:
        """Name the device that holds a path: `major:minor`, or its source where the number is in no table."""
        try:
            real = os.path.realpath(path, strict=True)
            number = path.stat().st_dev
        except OSError as error:
            raise unreadable(str(path), error) from error
        mounts = self._mounts or ()
        device = f"{os.major(number)}:{os.minor(number)}"
        if any(mount.device == device for mount in mounts):
            return device
        covering = [mount for mount in mounts if _covers(mount.point, os.fsencode(real))]
        nearest = max(covering, key=lambda mount: len(mount.point), default=None)
        return nearest.source if nearest is not None and nearest.source.startswith("/dev/") else device

    def close(self) -> None:
        """Close the table."""
        os.close(self._fd)

    def _read(self) -> bytes:
        chunks, at = [], 0
        try:
            while chunk := os.pread(self._fd, 1 << 16, at):
                chunks.append(chunk)
                at += len(chunk)
        except OSError as error:
            raise NodeError(f"{self._path}: {os.strerror(error.errno or 0)}") from error
        return b"".join(chunks)


def _covers(point: bytes, path: bytes) -> bool:
    return path == point or path.startswith(point.rstrip(b"/") + b"/")
