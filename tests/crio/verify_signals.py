"""`python -m tests.crio.verify_signals`: what evictd reads on a real CRI-O, in both layouts, beside `df`, `du` and the cgroups.

`make verify-signals RUNTIME=crio`. Exit status 1 if a pair differs by more than the drift between two readings, 2 without CRI-O.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from evictd.codec.summary import decode_summary
from evictd.core.model.stats import NodeStats, PodStats
from evictd_testnode.binaries import default_cache, find_binaries
from evictd_testnode.cgroups import group, is_unified
from evictd_testnode.disks import DiskKind, DiskRecipe
from evictd_testnode.node import DisposableNode, NodeRecipe
from evictd_testnode.pods import READY, ContainerRecipe, PodRecipe, RunningPod, VolumeRecipe
from tests.crio.runtime import PrivateCrio, SplitCrio, reason_against
from tests.e2e.story import REST, Story
from tests.tools.verify_signals import Table, ask, verify_filesystem

DISK = DiskRecipe(kind=DiskKind.EXT4, size_bytes=96 << 20, inodes=12_000)
SCRIPT = f"dd if=/dev/zero of=/f bs=1M count=7; dd if=/dev/zero of=/data/f bs=1M count=9; {READY}; {REST}"
CLOSE = {"evictionHard": {"nodefs.available": "95Mi", "imagefs.available": "95Mi"}}
"""Thresholds that are met, so that the pods' volumes are walked."""
DISK_DRIFT = 64 << 10
MEMORY_DRIFT = 2 << 20


def verify(table: Table, name: str, runtime: type[PrivateCrio]) -> None:
    """Compare one layout."""
    recipe = NodeRecipe(binaries=find_binaries(default_cache()), runtime=runtime, node_disk=DISK, image_disk=DISK)
    with DisposableNode(recipe) as node:
        container, volumes = ContainerRecipe(name="main", script=SCRIPT), (VolumeRecipe(name="data"),)
        pod = node.run_pod(PodRecipe(name="writer", containers=(container,), volumes=volumes))
        stats, pods = captured(node)
        images, layers = node.folder / "images", node.folder / ("node" if runtime is SplitCrio else "images")
        verify_filesystem(table, f"{name}: nodefs", node.node_folder, stats.fs)
        verify_filesystem(table, f"{name}: imagefs", images, stats.image_fs)
        verify_filesystem(table, f"{name}: containerfs", layers, stats.container_fs)
        verify_pod(table, name, node, pod, pods[pod.uid])


def captured(node: DisposableNode) -> tuple[NodeStats, dict[str, PodStats]]:
    """Read the node as the daemon does, by `evictd capture`."""
    story = Story(node, CLOSE)
    story.configure()
    argv = [sys.executable, "-m", "evictd", "capture", "--config", str(node.folder / "config.yaml")]
    out = node.folder / "capture.json"
    subprocess.run([*argv, "-o", str(out)], check=True)
    scenario: Any = json.loads(out.read_text())
    return decode_summary(scenario["steps"][0]["summary"])


def verify_pod(table: Table, name: str, node: DisposableNode, pod: RunningPod, stats: PodStats) -> None:
    """Compare what one pod uses."""
    [container] = stats.containers
    [told] = node.client.list_container_stats()
    assert told.writable_layer is not None
    layer = Path(told.writable_layer.mountpoint).parent / "diff"  # the mount itself is in CRI-O's own namespace
    used = None if container.rootfs is None else container.rootfs.used_bytes
    table.row(f"{name}: writable layer", used, du(layer), DISK_DRIFT)
    [volume] = stats.volumes
    table.row(f"{name}: volume", volume.used_bytes, du(pod.volumes["data"]), DISK_DRIFT)
    memory = None if stats.memory is None else stats.memory.working_set_bytes
    table.row(f"{name}: working set of the pod", memory, working_set(pod.cgroup_parent), MEMORY_DRIFT)
    tasks = (group("pids", pod.cgroup_parent) / "pids.current").read_text()
    table.row(f"{name}: processes of the pod", stats.process_count, int(tasks), 2)


def du(path: Path) -> int:
    """Return the bytes that a tree uses."""
    return int(ask("du", "-sx", "--block-size=1", str(path)).split()[0])


def working_set(cgroup: str) -> int:
    """Compute a working set from the cgroup's files."""
    folder = group("memory", cgroup)
    usage, inactive = (
        ("memory.current", "inactive_file")
        if is_unified()
        else (
            "memory.usage_in_bytes",
            "total_inactive_file",
        )
    )
    stat = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
    return max(int((folder / usage).read_text()) - int(stat[inactive]), 0)


def main() -> int:
    """Verify both layouts; the exit status."""
    if reason := reason_against():
        print(f"verify-signals: {reason}", file=sys.stderr)
        return 2
    print(f"{'':<44} {'evictd':>20} {'the others':>20}")
    table = Table()
    verify(table, "dedicated", PrivateCrio)
    verify(table, "split", SplitCrio)
    print("all agree" if not table.mismatches else f"{table.mismatches} differ")
    return int(table.mismatches > 0)


if __name__ == "__main__":
    sys.exit(main())
