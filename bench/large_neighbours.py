"""Measures how old the disk usage of a pod of ten files becomes beside ten pods of a million, under a quota of processor time.

The ten large volumes are bind mounts of one directory, so that the node needs memory for one million inodes. `run` starts this
module in a cgroup with the quota; there the thread of `DiskUsageCache` renews all eleven pods as in the daemon, each after a
second, and the main thread looks at the small one's result.
"""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from threading import Event

from bench.quota import begin_in, tenth_of_a_processor
from evictd.clock import boot_clock
from evictd.core.units.duration import SECOND
from evictd.observe.disk_usage.cache import DiskUsageCache
from evictd.observe.disk_usage.pod_disk import DiskRequest
from evictd.observe.disk_usage.pod_meter import PodDiskMeter
from evictd.observe.disk_usage.rate_limiter import BudgetedRateLimiter
from evictd.observe.disk_usage.walk_age import SHORTEST, WalkAge
from evictd.observe.reading.roots import Roots
from tests.mounted import tmpfs

LARGE = 10
_PLUGIN, _VOLUME = "kubernetes.io~empty-dir", "data"
_LOOK_SECONDS = 0.05
_ENTRIES_PER_SECOND = 200_000
"""The daemon's bound (`daemon/assemble.py`), far above what the quota allows."""


@dataclass(frozen=True, slots=True)
class Ages:
    """What came of a run."""

    renewals: int
    """How often the small pod was measured again."""
    median_seconds: float
    """Of the time from one measurement's begin to the next result."""
    longest_seconds: float
    large_results: int
    """Results of pods of a million files."""
    seconds: float


def measure_ages(million: Path, seconds: int) -> Ages:
    """Run for so long beside volumes that are all `million`; needs root for the mounts and the cgroup."""
    with _kubelet_dir(million) as kubelet_dir, tenth_of_a_processor() as limited:
        argv = begin_in(limited, sys.executable, "-m", "bench.large_neighbours", str(kubelet_dir), str(seconds))
        done = subprocess.run(argv, check=True, stdout=subprocess.PIPE, text=True)
    return Ages(**json.loads(done.stdout))


@contextmanager
def _kubelet_dir(million: Path) -> Iterator[Path]:
    with tmpfs(million.parent / "kubelet") as top:
        for number in range(LARGE):
            folder = _volume(top, f"large-{number}")
            subprocess.run(["mount", "--bind", str(million), str(folder)], check=True)
        small = _volume(top, "small")
        for number in range(10):
            (small / str(number)).write_bytes(b"x" * 5000)
        yield top


def _volume(top: Path, uid: str) -> Path:
    folder = top / "pods" / uid / "volumes" / _PLUGIN / _VOLUME
    folder.mkdir(parents=True)
    return folder


def _request(uid: str) -> DiskRequest:
    return DiskRequest(uid=uid, namespace="ns", name=uid, volumes=((_PLUGIN, _VOLUME),))


def _limited(kubelet_dir: Path, seconds: int) -> Ages:
    """Renew all pods for so long, the small one last by rank."""
    limiter = BudgetedRateLimiter(entries_per_second=_ENTRIES_PER_SECOND, clock=boot_clock, stopped=(ended := Event()))
    roots = Roots(kubelet_dir=kubelet_dir, pod_logs_dir=kubelet_dir / "logs")
    cache = DiskUsageCache(PodDiskMeter(roots, boot_clock, limiter).begin, clock=boot_clock, limiter=limiter)
    uids = [*(f"large-{number}" for number in range(LARGE)), "small"]
    cache.set_requests(map(_request, uids), active=uids, age=WalkAge(longest=SHORTEST))
    begun = boot_clock()
    cache.start()
    ages, times = _look(cache, uids, until=begun + seconds * SECOND)
    ended.set()
    cache.stop()
    return Ages(
        renewals=len(ages),
        median_seconds=sorted(ages)[len(ages) // 2] / SECOND,
        longest_seconds=max(ages) / SECOND,
        large_results=sum(len(times[uid]) for uid in uids[:LARGE]),
        seconds=(boot_clock() - begun) / SECOND,
    )


def _look(cache: DiskUsageCache, uids: list[str], *, until: int) -> tuple[list[int], dict[str, set[int]]]:
    """Return the greatest age of each of the small pod's results, and the times of all pods' results."""
    ages: list[int] = []
    times: dict[str, set[int]] = {uid: set() for uid in uids}
    last = boot_clock()
    while (now := boot_clock()) < until:
        for uid in uids:
            found = cache.find(uid)
            if found is not None and found.time is not None and found.time not in times[uid]:
                times[uid].add(found.time)
                if uid == "small":
                    ages.append(now - last)
                    last = found.time
        time.sleep(_LOOK_SECONDS)
    return [*ages, boot_clock() - last], times


if __name__ == "__main__":
    print(json.dumps(asdict(_limited(Path(sys.argv[1]), int(sys.argv[2])))))
