"""A disk without a byte or an inode left, with evictd's own files on it: it decides, records and frees (real containerd).

evictd is stopped by a signal while the disk fills, so that it first sees it full.
"""

import os
import signal
from pathlib import Path

import pytest

from evictd_testnode.disks import DiskKind, DiskRecipe
from evictd_testnode.pods import VolumeRecipe
from tests.conftest import NodeFactory
from tests.e2e.story import OBEDIENT, REST, Story

pytestmark = [pytest.mark.root, pytest.mark.containerd]

DATA = (VolumeRecipe(name="data"),)
GO = "while [ ! -e /data/go ]; do sleep 0.05; done; "


def floods(path: str) -> str:
    """Write until nothing is left, again and again: ext4 gives back some blocks when it has written the file."""
    writing = f"for size in 64k 1k; do dd if=/dev/zero bs=$size >> {path}/f; done 2>/dev/null"
    return f"{OBEDIENT}{GO}while :; do {writing}; sleep 0.05; done"


def litters(path: str) -> str:
    """Make files until there is no inode left; `echo` is no special builtin, so a failure does not end the shell."""
    return f"{OBEDIENT}{GO}mkdir {path}/many; i=0; while echo > {path}/many/$i; do i=$((i+1)); done 2>/dev/null; {REST}"


@pytest.mark.parametrize("kind", [DiskKind.TMPFS, DiskKind.EXT4], ids=lambda kind: kind.value)
@pytest.mark.parametrize(
    ("script", "where", "threshold", "starved"),
    [
        (floods("/data"), "node", {"nodefs.available": "4Mi"}, "ephemeral-storage"),
        (litters("/data"), "node", {"nodefs.inodesFree": "100"}, "inodes"),
        (floods(""), "images", {"imagefs.available": "4Mi"}, "ephemeral-storage"),
        (litters(""), "images", {"imagefs.inodesFree": "100"}, "inodes"),
    ],
    ids=["no byte on nodefs", "no inode on nodefs", "no byte on the runtime's disk", "no inode on the runtime's disk"],
)
def test_on_a_disk_with_nothing_left_it_decides_records_and_frees(
    make_node: NodeFactory, script: str, where: str, threshold: dict[str, str], starved: str, kind: DiskKind
) -> None:
    small = DiskRecipe(kind=kind, size_bytes=64 << 20, inodes=6000)
    node = make_node(node_disk=small, image_disk=small if where == "images" else None)
    disk: Path = node.folder / where
    with Story(node, {"evictionHard": threshold}, {"stateDirectory": str(disk / "evictd")}) as story:
        story.pod("innocent", volumes=DATA)
        story.pod("flood", script, volumes=DATA)
        process = story.process_id()
        os.kill(process, signal.SIGSTOP)
        try:
            (story.pods["flood"].volumes["data"] / "go").touch()
            story.until(lambda: left(disk, starved) == 0, "nothing is left")
        finally:
            os.kill(process, signal.SIGCONT)
        story.until_evicted("flood")
        story.until_calm("DiskPressure")
        story.verify(evicted=["flood"], innocent=["innocent"], starved=starved)
        story.until(lambda: left(disk, starved) > 0, "something is left again")


def left(disk: Path, starved: str) -> int:
    """What of it is free on a disk."""
    found = os.statvfs(disk)
    return found.f_bavail if starved == "ephemeral-storage" else found.f_ffree
