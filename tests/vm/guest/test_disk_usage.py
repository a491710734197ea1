"""`disk_usage` counts what `du -x` counts, on the volumes and the filesystem of this machine."""

import os
import subprocess
from pathlib import Path

import pytest

from evictd.core.model.stats import DiskUsage
from evictd.observe.untrusted_paths import OPEN_DIRECTORY
from evictd_testnode.pods import ContainerRecipe, PodRecipe, VolumeRecipe
from tests.tree_usage import measure
from tests.vm.guest.node import KUBELET_ROOT, Node
from tests.vm.guest.waiting import wait_for
from tests.vm.guest.workload import Workload

pytestmark = pytest.mark.vm

FILL = """
mkdir -p /data/a/b/c; i=0
while [ $i -lt 300 ]; do echo $i >/data/a/$i; i=$((i+1)); done
dd if=/dev/zero of=/data/a/b/big bs=1M count=3
dd if=/dev/zero of=/data/a/b/sparse bs=1 count=1 seek=20000000
mkfifo /data/fifo
touch /data/done; sleep 100000
"""


def du(path: Path) -> DiskUsage:
    def ask(*options: str) -> int:
        argv = ["du", "--summarize", "--one-file-system", *options, str(path)]
        return int(subprocess.run(argv, check=True, capture_output=True, text=True).stdout.split()[0])

    return DiskUsage(ask("--block-size=1"), ask("--inodes"))


def walked(path: Path) -> DiskUsage:
    directory = os.open(path, OPEN_DIRECTORY)
    try:
        return measure(directory)
    finally:
        os.close(directory)


def test_a_volume_that_a_pod_has_filled(node: Node) -> None:
    recipe = PodRecipe(name="filler", containers=(ContainerRecipe(script=FILL),), volumes=(VolumeRecipe(name="data"),))
    volume = node.run_pod(recipe).volumes["data"]
    wait_for((volume / "done").exists, 120, "the volume to be filled")
    os.sync()  # blocks are allocated when they are written
    assert walked(volume) == du(volume)


def test_hard_links_other_mounts_and_names_that_are_not_text(tmp_path: Path) -> None:
    (tmp_path / "one").write_bytes(bytes(100_000))
    (tmp_path / "two").hardlink_to(tmp_path / "one")
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff\xfe")).mkdir()
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff\xfe/\x80")).write_bytes(bytes(5000))
    (tmp_path / "link").symlink_to("/usr")
    (tmp_path / "mount").mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", tmp_path / "mount"], check=True)
    try:
        (tmp_path / "mount" / "elsewhere").write_bytes(bytes(50_000))
        os.sync()
        with_mount = walked(tmp_path)
    finally:
        subprocess.run(["umount", tmp_path / "mount"], check=True)
    (
        tmp_path / "mount"
    ).rmdir()  # nothing of it was counted except the directory below it, which is hidden by the mount
    assert with_mount == du(tmp_path)


def test_every_pod_folder_of_the_kubelet(workload: Workload) -> None:
    assert walked(KUBELET_ROOT / "pods") == du(KUBELET_ROOT / "pods")
