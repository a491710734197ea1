"""Counts the deleted files that the processes of a pod keep open or mapped: no directory has them, but the disk does.

They are looked for only while a disk is near a threshold. Everything in /proc that a process can influence is hostile: how many
processes, descriptors and mappings it has, their names, and filesystems that never answer, such as one in user space. Therefore:

* A descriptor is looked at by its name first, which asks no filesystem; only one that ends with ` (deleted)`, or is too long for
  the kernel to show, goes on.
* Which mount it is on comes from `fdinfo` and `mountinfo`, which ask none either. Only a file on the root filesystem of its
  container, or on the disk of the kubelet's directories or of the pods' logs, is asked for its size, by a `stat` through its
  link in /proc: the kernel follows that to the open file, not by a path.
* Nothing is opened but files of /proc. Of a table of mounts only the first MiB is read (`read_whole_lines`), and of mappings one
  chunk is in memory, as a pod can make enough of them to hide a file behind the first MiB.
* The count goes by steps and in entries as a walk does, so that a pod of 100,000 descriptors holds up no other (`turns`).

A file that is open several times counts once. Without CAP_SYS_PTRACE a process shows nothing, and without CAP_SYS_ADMIN or
CAP_CHECKPOINT_RESTORE it does not show what it has mapped.
"""

import errno
import os
import stat
from collections.abc import Generator, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path

from evictd.core.model.stats import DiskUsage
from evictd.errors import NodeError
from evictd.observe.cgroups.file_descriptor_cache import read_whole_lines
from evictd.observe.disk_usage.inode_set import InodeSet
from evictd.observe.disk_usage.rate_limiter import RateLimiter
from evictd.observe.disk_usage.tree_walk import BLOCK, SLICE
from evictd.observe.filesystems.mounts import Mount, parse_mountinfo

_DELETED, _DELETED_LINE = " (deleted)", b" (deleted)\n"
_MAX_CGROUPS = 4096
"""Most cgroups of a pod that are visited; in a larger tree only their processes count."""
_MAX_MAPPINGS = 1 << 20
"""Most mappings of a process that are looked at: several times what a database is allowed to have (`vm.max_map_count`)."""
_CHUNK = 1 << 16
_PROCESS_COST = 16
"""Cost of a process without descriptors, in entries."""
_DELETED_COST = 16
"""Cost of a descriptor of a deleted file, in entries."""


class DeletedFiles:
    """Counts the deleted files of the processes in a pod's cgroups.

    `cgroups` are the directories that the pod's cgroup may have, `disks` the device numbers where volumes and logs are.
    """

    def __init__(self, proc: Path, cgroups: tuple[Path, ...], disks: frozenset[int], limiter: RateLimiter) -> None:
        self.layer = DiskUsage(0, 0)
        """Deleted files in the containers' writable layers, as counted so far."""
        self.local = DiskUsage(0, 0)
        """Deleted files in volumes and logs, as counted so far."""
        self.complete = True
        """Whether everything was counted so far; else `layer` and `local` are lower bounds also at the end."""
        self.refused = False
        """Whether a process could not be read without a capability that evictd lacks."""
        self._proc = proc
        self._cgroups = cgroups
        self._disks = frozenset(f"{os.major(disk)}:{os.minor(disk)}" for disk in disks)
        self._mapped_disks = frozenset(_hexadecimal(disk) for disk in self._disks)
        self._limiter = limiter
        self._seen = InodeSet()
        self._namespace = self._root = ""
        self._table_known: dict[str, Mount] = {}
        """The mounts of `_namespace` by number. Those of other namespaces are not kept: a pod could make many."""

    def steps(self) -> Generator[None, None, None]:
        """Count; yields every few dozen descriptors. What has ended meanwhile is left out."""
        for pid in self._pids():
            if pid is None:
                self._spend(1)
                yield
                continue
            self._spend(_PROCESS_COST)
            yield
            process = self._proc / pid
            try:
                yield from self._open(process)
                yield from self._mapped(process)
            except PermissionError:
                self.refused = True
            except (OSError, ValueError):
                continue

    def _pids(self) -> Iterator[str | None]:
        """Find the processes; `None` for each cgroup, so that one without a process is a step as well."""
        left = [str(top) for top in self._cgroups]
        seen = len(left)
        while left:
            folder = left.pop()
            yield None
            with suppress(OSError):
                yield from (Path(folder) / "cgroup.procs").read_text(encoding="ascii").split()
            try:
                with os.scandir(folder) as entries:
                    below = (entry.path for entry in entries if entry.is_dir(follow_symlinks=False))
                    found = [*islice(below, _MAX_CGROUPS - seen + 1)]
            except OSError as error:
                self.complete = self.complete and error.errno != errno.ENAMETOOLONG
                continue
            if seen + len(found) > _MAX_CGROUPS:
                self.complete = False
                found.pop()
            seen += len(found)
            left += found

    def _open(self, process: Path) -> Generator[None, None, None]:
        since = 0
        table: dict[str, Mount] | None = None
        with os.scandir(process / "fd") as entries:
            for entry in entries:
                since += 1
                with suppress(FileNotFoundError):
                    if (_linked(entry.path) or _DELETED).endswith(_DELETED):
                        since += _DELETED_COST
                        table = self._table(process) if table is None else table
                        self._add_open(process, entry, table)
                if since >= SLICE:
                    self._spend(since)
                    since = 0
                    yield
        self._spend(since)

    def _add_open(self, process: Path, entry: os.DirEntry[str], table: dict[str, Mount]) -> None:
        info = _text(f"{process}/fdinfo/{entry.name}")
        mount = table.get(info.partition("mnt_id:")[2].partition("\n")[0].strip())
        if mount is not None and (_is_layer(mount) or mount.device in self._disks):
            self._add(os.stat(entry.path), in_layer=_is_layer(mount))  # noqa: PTH116 - through the kernel's own link

    def _mapped(self, process: Path) -> Generator[None, None, None]:
        layers: set[str] | None = None
        # A file of bytes has line feeds alone end a line: the kernel escapes nothing else in a name.
        with open(process / "maps", "rb", _CHUNK) as lines:  # noqa: PTH123 - as in `read_whole_lines`
            for number, line in enumerate(lines, start=1):
                if number % SLICE == 0:
                    self._spend(SLICE)
                    yield
                if number > _MAX_MAPPINGS:
                    self.complete = False
                    break
                if not line.endswith(_DELETED_LINE):
                    continue
                where, _, _, device, *_ = line.decode("utf-8", "surrogateescape").split(maxsplit=5)
                if layers is None:
                    layers = {_hexadecimal(each.device) for each in self._table(process).values() if _is_layer(each)}
                in_layer = device in layers
                if not in_layer and device not in self._mapped_disks:
                    continue
                with suppress(OSError):  # CAP_SYS_ADMIN or CAP_CHECKPOINT_RESTORE is missing, or it is mapped no longer
                    self._add(os.stat(process / "map_files" / where), in_layer=in_layer)  # noqa: PTH116

    def _table(self, process: Path) -> dict[str, Mount]:
        """Return the mounts of a process's namespace by their number.

        A process sees those below its root, so one in a chroot adds what it sees to what is known of the namespace. Roots with
        paths that are too long are not told apart.
        """
        namespace, root = str((process / "ns/mnt").readlink()), _linked(f"{process}/root")
        if not root or (namespace, root) != (self._namespace, self._root):
            seen = {each.number: each for each in parse_mountinfo(read_whole_lines(f"{process}/mountinfo"))}
            self._table_known = seen | (self._table_known if namespace == self._namespace else {})
            self._namespace, self._root = namespace, root
        return self._table_known

    def _add(self, file: os.stat_result, *, in_layer: bool) -> None:
        if file.st_nlink or not stat.S_ISREG(file.st_mode):
            return
        try:
            if not self._seen.add(file.st_dev << 64 | file.st_ino):  # each filesystem has inode numbers of its own
                return
        except NodeError:
            self.complete = False
            return
        if in_layer:
            self.layer = _sum(self.layer, file)
        else:
            self.local = _sum(self.local, file)

    def _spend(self, entries: int) -> None:
        if self._limiter.due:
            self._limiter.pause()
        self._limiter.spent(entries)


def _sum(usage: DiskUsage, file: os.stat_result) -> DiskUsage:
    return DiskUsage((usage.used_bytes or 0) + file.st_blocks * BLOCK, (usage.inodes_used or 0) + 1)


def _is_layer(mount: Mount) -> bool:
    """Whether a mount is an overlay that is the root of its process; another root may be on any filesystem."""
    return mount.point == b"/" and mount.fs_type == "overlay"


def _linked(link: str) -> str:
    """Return what a link of /proc shows; empty where that is a path of more than 4,095 bytes, which a process can make."""
    try:
        return os.readlink(link)  # noqa: PTH115 - in the hot loop
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            return ""
        raise


def _hexadecimal(device: str) -> str:
    """Write a device number as `maps` does."""
    major, _, minor = device.partition(":")
    return f"{int(major):02x}:{int(minor):02x}"


def _text(path: str) -> str:
    return read_whole_lines(path).decode("utf-8", "surrogateescape")
