"""Measures one observation on real cgroups: 110 and 500 pods with two containers each, and an idle node.

Targets: 110 pods at most 12 ms, 500 at most 50 ms, and the same per pod at either size.
"""

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.harness import Result, measure
from evictd.clients.cri.values import FilesystemUsage, ImageFsInfo
from evictd.core.model.pod import Pod
from evictd.core.model.resources import Container
from evictd.observe.disk_usage.cache import DiskUsageCache
from evictd.observe.disk_usage.pod_disk import DiskRequest, PodDisk
from evictd.observe.reading.node_stats import NodeStatsReader, ObserveOptions
from evictd.observe.reading.roots import Roots
from evictd.observe.runtime.runtime_view import RuntimeView
from evictd_testnode.cgroups import make_group
from tests import real_cgroups
from tests.measured import at_once
from tests.observe.runtime_double import container, sandbox, stats

SIZES = (110, 500)


def clock() -> int:
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


class Node:
    """A number of pods with real cgroups and a runtime double that lists them; `observe` is timed."""

    def __init__(self, branch: str, folder: Path, size: int, cache: DiskUsageCache) -> None:
        names = [f"{number:08d}" for number in range(size)]
        for name in names:
            for member in ("c1", "c2"):
                make_group(f"{branch}/pod{name}/{name}{member}")
        containers = [
            container(f"{name}{member}", member, sandbox_id=f"sandbox-{name}")
            for name in names
            for member in ("c1", "c2")
        ]
        row = FilesystemUsage(time=1, mountpoint=str(folder), used_bytes=1, inodes_used=1)
        self.view = RuntimeView(
            time=1,
            sandboxes=tuple(sandbox(name) for name in names),
            containers=tuple(containers),
            pod_cgroups={name: f"{branch}/pod{name}" for name in names},
            stats={row.id: stats(4096, 3, memory=1) for row in containers},
            image_fs=ImageFsInfo(image_filesystems=(row,), container_filesystems=()),
        )
        members = (Container(name="c1"), Container(name="c2"))
        self.pods = [Pod(name=name, namespace="ns", uid=name, containers=members) for name in names]
        options = ObserveOptions(pods_cgroup=branch)
        self.observer = NodeStatsReader(Roots(kubelet_dir=folder), options, clock=clock, disk_usage=cache)

    def observe(self) -> None:
        found = self.observer.observe(self.pods, self.view)
        assert len(found.pod_stats) == len(self.pods)
        assert not found.problems, found.problems[:3]
        assert all(row.memory is not None and row.process_count == 0 for row in found.pod_stats.values())


@contextmanager
def node(size: int, cache: DiskUsageCache | None = None) -> Iterator[Node]:
    """Create such a node; its cgroups are removed afterwards."""
    with tempfile.TemporaryDirectory(prefix="evictd-bench-") as folder, real_cgroups.branch() as branch:
        made = Node(branch, Path(folder), size, cache or DiskUsageCache(at_once(nothing), clock=clock))
        try:
            yield made
        finally:
            made.observer.close()


def nothing(_request: DiskRequest) -> PodDisk:
    return PodDisk(time=0)


def run() -> list[Result]:
    """Time observations; the share per pod is a separate figure, in milliseconds."""
    results = []
    with node(0) as idle:
        results.append(measure("observe: no pods", idle.observe))
    for size in SIZES:
        with node(size) as made:
            whole = measure(f"observe: {size} pods x 2 containers", made.observe)
        results += [whole, share(whole, size)]
    return results


def share(whole: Result, size: int) -> Result:
    """Divide a figure by the number of pods."""
    return Result(
        name=f"observe: one pod of {size}",
        median_ms=round(whole.median_ms / size, 5),
        min_ms=round(whole.min_ms / size, 5),
        max_ms=round(whole.max_ms / size, 5),
        runs=whole.runs,
    )
