"""Which small filesystems a node can stand on: tmpfs, ext4 or xfs of a chosen size and number of inodes.

ext4 and xfs lie in a sparse file on a loop device that goes away with the mount. Sizes that were seen to work: tmpfs
and ext4 from 16 MiB, xfs from 300 MB (mkfs.xfs refuses less). On xfs the number of inodes moves with the free space.
"""

from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from evictd.demo.binaries import Tool
from evictd.demo.tool import run_tool
from evictd.errors import NodeError

MOUNT_SOURCE = "evictd-node"


class DiskKind(Enum):
    """The filesystem's type."""

    TMPFS = "tmpfs"
    EXT4 = "ext4"
    XFS = "xfs"


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskRecipe:
    """A filesystem to make; `inodes` is not heeded by xfs."""

    kind: DiskKind = DiskKind.TMPFS
    size_bytes: int = 64 << 20
    inodes: int = 8000


def mount_disk(recipe: DiskRecipe, at: Path, *, image: Path, mkfs_xfs: Tool | None = None) -> None:
    """Make the filesystem and mount it at the folder `at`; `image` is the file that a loop device is made on."""
    at.mkdir(parents=True, exist_ok=True)
    if recipe.kind is DiskKind.TMPFS:
        options = f"size={recipe.size_bytes},nr_inodes={recipe.inodes},mode=755"
        run_tool("mount", "-t", "tmpfs", "-o", options, MOUNT_SOURCE, at)
        return
    with image.open("wb") as handle:
        handle.truncate(recipe.size_bytes)
    _make_filesystem(recipe, image, mkfs_xfs)
    run_tool("mount", "-o", "loop", image, at)


def _make_filesystem(recipe: DiskRecipe, image: Path, mkfs_xfs: Tool | None) -> None:
    if recipe.kind is DiskKind.EXT4:
        run_tool("mkfs.ext4", "-q", "-F", "-m", "0", "-N", str(recipe.inodes), "-O", "^has_journal", image)
        return
    if mkfs_xfs is None:
        raise NodeError("an xfs disk needs mkfs.xfs")
    run_tool(mkfs_xfs.path, "-q", "-f", image, environment=mkfs_xfs.environment or None)


def mounts_below(folder: Path) -> list[Path]:
    """Every mount point at or below a folder, the innermost and latest first."""
    found = []
    for line in Path("/proc/self/mounts").read_text(encoding="utf-8", errors="surrogateescape").splitlines():
        point = Path(_unescaped(line.split(" ")[1]))
        if point == folder or folder in point.parents:
            found.append(point)
    return found[::-1]


def unmount_below(folder: Path) -> None:
    """Unmount everything at and below a folder; what is still in use goes when its last user does."""
    for point in mounts_below(folder):
        run_tool("umount", "--lazy", point)


def loops_of(folder: Path) -> list[str]:
    """Every loop device whose file lies below a folder."""
    found = []
    for backing in Path("/sys/block").glob("loop*/loop/backing_file"):
        try:
            if folder in Path(backing.read_text(encoding="utf-8").strip()).parents:
                found.append(f"/dev/{backing.parts[3]}")
        except OSError:
            continue  # it was released between the listing and the reading
    return found


def _unescaped(text: str) -> str:
    return text.encode("latin-1", "surrogateescape").decode("unicode_escape")
