"""Names the device that holds a path, and detects changes of the mounts.

Two paths are on one filesystem if they have the same device number. Subvolumes of btrfs have device numbers that are in no mount
table; they are identified by the source of the mount above them, as cAdvisor does for the kubelet. The kernel
signals POLLPRI on the open mountinfo file when mounts change (proc(5)), so the table is read again only then.
"""

import os
import re
import select
from pathlib import Path

from evictd.core.frozen import frozen
from evictd.errors import NodeError
from evictd.observe.cgroups.file_descriptor_cache import unreadable

_OCTAL = re.compile(rb"\\([0-3][0-7]{2})")
"""An escaped byte in octal (`\\040` is a blank); `\\777` exceeds a byte and stays as it is."""
_FIELDS_BEFORE_DASH = 6
_READ_ONLY = {b"ro", b"emergency_ro"}
"""Superblock options of a read-only filesystem; ext4 sets the second after an error since Linux 6.15."""


@frozen
class Mount:
    """One line of mountinfo (proc(5))."""

    number: str
    """The mount's ID, as in the `mnt_id` of a descriptor."""
    device: str
    """`major:minor`"""
    point: bytes
    fs_type: str
    source: str
    options: tuple[bytes, ...] = ()
    """Options of the filesystem itself (its superblock), not of this mount of it."""

    @property
    def read_only(self) -> bool:
        """Whether the filesystem itself is read-only, not only this mount of it."""
        return not _READ_ONLY.isdisjoint(self.options)


def parse_mountinfo(text: bytes) -> tuple[Mount, ...]:
    """Return the mounts of a mountinfo file; truncated lines are left out."""
    mounts = []
    for line in text.split(b"\n"):  # a pod's author writes names, in which the kernel escapes no carriage return
        before, dash, after = line.partition(b" - ")
        fields, tail = before.split(b" "), after.split(b" ")
        if dash and len(fields) >= _FIELDS_BEFORE_DASH and len(tail) >= 2:
            mounts.append(
                Mount(
                    number=fields[0].decode("ascii", "replace"),
                    device=fields[2].decode("ascii", "replace"),
                    point=_unescape(fields[4]),
                    fs_type=tail[0].decode("utf-8", "surrogateescape"),
                    source=os.fsdecode(_unescape(tail[1])),
                    options=tuple(map(_unescape, b"".join(tail[2:3]).split(b","))),
                )
            )
    return tuple(mounts)


def _unescape(text: bytes) -> bytes:
    return _OCTAL.sub(lambda match: bytes([int(match[1], 8)]), text)


def mount_number(folder: int) -> str:
    """Return the number of the mount that an open directory is on; raises `OSError`."""
    info = Path(f"/proc/self/fdinfo/{folder}").read_text(encoding="ascii", errors="replace")
    return info.partition("mnt_id:")[2].partition("\n")[0].strip()


class MountTable:
    """The mounts in this process's mount namespace. Raises `NodeError` if mountinfo cannot be opened."""

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
        """Return whether mounts have changed since the last call, and at the first call true; reads the table if so."""
        # poll() clears the kernel's flag, so the table is read after it: a change in between sets the flag again.
        if not self._poll.poll(0) and self._mounts is not None:
            return False
        self.refresh()
        return True

    def refresh(self) -> None:
        """Read the table again. The kernel does not signal a filesystem that becomes read-only after an error."""
        self._mounts = parse_mountinfo(self._read())

    def device_of(self, path: Path) -> str:
        """Return the device that holds a path: `major:minor`, or the mount's source if the number is in no table (btrfs)."""
        device, mount = self._find(path)
        if mount is None or mount.device == device or not mount.source.startswith("/dev/"):
            return device
        return mount.source

    def is_read_only(self, path: Path) -> bool:
        """Whether the filesystem that holds a path is read-only for all processes, as of the last reading of the table.

        A read-only mount of a writable filesystem does not count: evictd may have `/var/lib/kubelet` mounted read-only (the
        DaemonSet's `readOnly`, `ProtectSystem=strict`) while pods write to it.
        """
        mount = self._find(path)[1]
        return mount is not None and mount.read_only

    def _find(self, path: Path) -> tuple[str, Mount | None]:
        """Return the device number of a path and a mount of that device, or else the innermost mount above the path."""
        try:
            real = os.path.realpath(path, strict=True)
            number = path.stat().st_dev
        except OSError as error:
            raise unreadable(str(path), error) from error
        except ValueError as error:  # the path comes from the runtime and may hold a NUL or a lone surrogate
            raise NodeError(f"{str(path)!r}: invalid path: {error}") from error
        mounts = self._mounts or ()
        device = f"{os.major(number)}:{os.minor(number)}"
        same = next((mount for mount in mounts if mount.device == device), None)
        if same is not None:
            return device, same
        covering = [mount for mount in mounts if _covers(mount.point, os.fsencode(real))]
        return device, max(covering, key=lambda mount: len(mount.point), default=None)

    def close(self) -> None:
        """Close the descriptor of mountinfo."""
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
