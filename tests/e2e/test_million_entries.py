"""A volume of a million entries in one directory, on a real containerd: it holds up no eviction and takes no memory of evictd.

The entries are 100,000 empty files with ten names each: of a file with several names the walk must remember the inode. They are
on the node's own tmpfs, which goes with the node, also when the test is killed. Its inodes and names take about 300 MiB of the
kernel's memory; the files take no blocks.
"""

import os
from pathlib import Path

import pytest

from evictd.core.eviction.accounts.ledger import victim_until
from evictd.observe.untrusted_paths import opened
from evictd_testnode.disks import DiskRecipe
from evictd_testnode.pods import VolumeRecipe
from tests.conftest import NodeFactory
from tests.e2e.story import Story, takes_memory

# It can miss its moments: on a busy machine a walk or a removal may end before a hog has taken its memory.
pytestmark = [pytest.mark.root, pytest.mark.containerd, pytest.mark.side_by_side]

ENTRIES, NAMES = 1_000_000, 10
DISK = DiskRecipe(size_bytes=96 << 20, inodes=ENTRIES + 20_000)
"""Each further name takes an inode of a tmpfs's limit, as the first one does."""
DATA = (VolumeRecipe(name="data"),)
NODE_MEMORY = 160 << 20
HOG = f"while [ ! -e /data/go ]; do sleep 0.1; done; {takes_memory(64, pause=0)}"
"""Crosses `memory.available<120Mi` after the tenth of its sixteen steps, and rests below the limit of the node."""
REST = 1000
"""Inodes that the victims' containers still have, and evictd's own files; less than one in a thousand entries."""
MOST_GROWTH_KIB = 24 << 10
"""What evictd may grow by. The walk remembers a bit for each of the 100,000 inodes, less than 1 MiB, and the removal at most
4,096 names; the rest is for threads and garbage. A list of a million names would take 60 MiB, one of entries 200 MiB."""


def test_a_volume_of_a_million_entries_holds_up_no_eviction(make_node: NodeFactory) -> None:
    """A hog goes during the walk, two more during the removal: the end of the first of these must not wait for the million."""
    node = make_node(node_disk=DISK, memory_bytes=NODE_MEMORY)
    config = {"evictionHard": {"memory.available": "120Mi"}}
    with Story(node, config, arguments=["--node-cgroup", node.cgroup]) as story:
        story.pod("innocent")
        for number in range(3):
            story.pod(f"hog-{number}", HOG, volumes=DATA)
        free = story.free_inodes()
        # Its limit has it measured every ten seconds, whatever is free on the node.
        volume = story.pod("hostile", volumes=DATA, limits={"ephemeral-storage": "4Mi"}).volumes["data"]
        before = story.resident_kib()
        fill(volume)

        story.until(lambda: story.reads(volume), "the volume is measured")
        let_go(story, "hog-0")
        assert story.reads(volume), "the walk ended before the hog was evicted"
        assert story.running() >= {"innocent", "hostile"}

        # A walk enters a directory below another after the entries of that one, so the walk under way finds this, or the next.
        with (volume / "below/file").open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, 8 << 20)
        story.until_evicted("hog-0", "hostile")
        for name in ("hog-1", "hog-2"):
            let_go(story, name)
            assert volume.exists(), f"the volume was removed before {name} was evicted"
        *_, first, second = story.evictions()
        assert second["now"] < victim_until(first["gracePeriodSeconds"], first["now"]), (
            "only its deadline ended the wait"
        )
        story.until(lambda: not volume.exists(), "the volume is removed", within=120)
        story.until_calm("MemoryPressure")
        assert story.evicted() == ["hog-0", "hostile", "hog-1", "hog-2"]
        assert story.running() == {"innocent"}
        assert [path for each in story.pods.values() for path in each.volumes.values() if path.exists()] == []
        assert story.free_inodes() > free - REST
        grown = story.resident_kib(peak=True) - before
        print(f"\nmemory of evictd: {before} KiB, {grown} KiB more at its peak")
        assert grown < MOST_GROWTH_KIB


def fill(volume: Path) -> None:
    (volume / "below").mkdir()
    with opened(volume) as folder:
        for number in range(ENTRIES // NAMES):
            os.mknod(f"{number}", dir_fd=folder)
            for name in range(1, NAMES):
                os.link(f"{number}", f"{number}-{name}", src_dir_fd=folder, dst_dir_fd=folder)


def let_go(story: Story, name: str) -> None:
    """Let a hog take its memory, and wait until it is evicted."""
    (story.pods[name].volumes["data"] / "go").touch()
    story.until(lambda: name in story.evicted(), f"{name} is evicted")
