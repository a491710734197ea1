"""Makes small filesystems for a disposable node: tmpfs, ext4 or xfs of a given size and number of inodes.

ext4 and xfs are in a sparse file on a loop device, which is released with the mount. Tested sizes: tmpfs and ext4 from 16 MiB,
xfs from 300 MB (mkfs.xfs refuses less). On xfs the number of inodes depends on the free space.
"""

from enum import Enum
from pathlib import Path

from evictd.core.frozen import frozen
from evictd.errors import NodeError
from evictd_testnode.binaries import Tool
from evictd_testnode.tool import run_tool

MOUNT_SOURCE = "evictd-node"


class DiskKind(Enum):
    """The filesystem's type."""

    TMPFS = "tmpfs"
    EXT4 = "ext4"
    XFS = "xfs"


@frozen
class DiskRecipe:
    """A filesystem to make; xfs ignores `inodes`."""

    kind: DiskKind = DiskKind.TMPFS
    size_bytes: int = 64 << 20
    inodes: int = 8000


def mount_disk(recipe: DiskRecipe, at: Path, *, image: Path, mkfs_xfs: Tool | None = None) -> None:
    """Make a filesystem and mount it at the directory `at`; `image` is the backing file of the loop device."""
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
    """Return every mount point at or below a directory, the latest first."""
    found = []
    for line in Path("/proc/self/mounts").read_text(encoding="utf-8", errors="surrogateescape").splitlines():
        point = Path(line.split(" ")[1].encode("latin-1", "surrogateescape").decode("unicode_escape"))
        if point == folder or folder in point.parents:
            found.append(point)
    return found[::-1]


def unmount_below(folder: Path) -> None:
    """Unmount everything at and below a directory, lazily: a mount in use disappears with its last user."""
    for point in mounts_below(folder):
        run_tool("umount", "--lazy", point)


def loops_of(folder: Path) -> list[str]:
    """Return every loop device whose backing file is below a directory."""
    found = []
    for backing in Path("/sys/block").glob("loop*/loop/backing_file"):
        try:
            if folder in Path(backing.read_text(encoding="utf-8").strip()).parents:
                found.append(f"/dev/{backing.parts[3]}")
        except OSError:
            continue  # released since it was listed
    return found
