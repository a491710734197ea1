"""Packs folders the same way each time: sorted names, one time, no owner. Two builds of one commit then have equal bytes."""

import gzip
import hashlib
import io
import shutil
import stat
import tarfile
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path, PurePosixPath

from evictd_testnode.tool import run_tool

_LEVEL = 6


def pack(root: Path, archive: Path, *, epoch: int, top: str = ".") -> None:
    """Write what lies below `root` as a tar archive whose names begin with `top`; `epoch`, in seconds, is every file's time."""
    neutral = partial(_neutral, epoch=epoch)
    with tarfile.open(archive, "w", format=tarfile.PAX_FORMAT) as tar:
        for path in [root, *sorted(root.rglob("*"))]:
            tar.add(path, str(PurePosixPath(top) / path.relative_to(root)), recursive=False, filter=neutral)


def add_file(tar: tarfile.TarFile, path: Path, name: str) -> None:
    """Add a file to an archive under a name, readable by all; its time is 1970."""

    def readable(entry: tarfile.TarInfo) -> tarfile.TarInfo:
        entry.mode = 0o644
        return _neutral(entry, epoch=0)

    tar.add(path, name, filter=readable)


def _neutral(entry: tarfile.TarInfo, *, epoch: int) -> tarfile.TarInfo:
    """Take time, owner and the umask of a checkout away; a folder for all users stays one."""
    if entry.mode & stat.S_ISVTX:
        entry.mode = 0o1777
    elif not entry.issym():
        entry.mode = 0o755 if entry.isdir() or entry.mode & stat.S_IXUSR else 0o644
    entry.mtime, entry.uid, entry.gid, entry.uname, entry.gname = epoch, 0, 0, "", ""
    return entry


def compress(source: Path, target: Path) -> None:
    """Write a file compressed, without its name and time in the header."""
    with (
        source.open("rb") as plain,
        target.open("wb") as raw,
        gzip.GzipFile(filename="", mode="wb", compresslevel=_LEVEL, fileobj=raw, mtime=0) as packed,
    ):
        shutil.copyfileobj(plain, packed, 1 << 20)


def pack_compressed(root: Path, archive: Path, *, epoch: int, top: str = ".") -> None:
    """Write what lies below `root` as `.tar.gz`."""
    plain = archive.with_name(archive.name + ".plain")
    pack(root, plain, epoch=epoch, top=top)
    compress(plain, archive)
    plain.unlink()


def unpack(archive: Path, folder: Path) -> None:
    """Unpack an archive into a folder, which is made; names that lead out of it are refused, as GNU tar does."""
    folder.mkdir(parents=True, exist_ok=True)
    run_tool("tar", "--extract", "--no-same-owner", "--file", archive, "--directory", folder)


def repacked(archive: Path, work: Path, *, epoch: int) -> None:
    """Pack the files of a `.tar.gz` anew, in their place: its builder noted the time of the build."""
    unpack(archive, work)
    pack_compressed(work, archive, epoch=epoch)


def add_bytes(tar: tarfile.TarFile, name: str, content: bytes) -> None:
    """Add a file with this content to an archive; its time is 1970."""
    entry = tarfile.TarInfo(name)
    entry.size = len(content)
    tar.addfile(entry, io.BytesIO(content))


def digest(path: Path) -> str:
    """Return the SHA-256 of a file as hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def checksums(files: Iterable[Path], read: Callable[[Path], str] = digest) -> str:
    """Return the lines that `sha256sum --check` reads, by name."""
    return "".join(f"{read(path)}  {path.name}\n" for path in sorted(files))
