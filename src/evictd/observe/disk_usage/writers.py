"""Finds the pods that write the most, so that they are measured first when a disk runs short.

Two sources show them: `DiskGrowth`, by their last two measurements, and `Writers`, by their cgroups. The first misses
what began to write since, the second what takes blocks without writing them (`fallocate`).

What each pod's cgroup writes is read in each cycle near a threshold, and compared with the reading before: bytes written
(io.stat, v1 blkio), growth of the kernel's cache of inodes and, on v1, of the page cache (there the writing of dirty pages does
not count for the pod), and pages that wait to be written; a log, which the runtime writes for the pod, is not among them. The
amounts order walks and decide nothing: a pod that only reads may seem to write.
"""

from collections.abc import Container, Iterable, Mapping
from contextlib import suppress

from evictd.core.units.duration import SECOND
from evictd.errors import NodeError
from evictd.observe.cgroups.cgroup_reader import CgroupReader
from evictd.observe.disk_usage.pod_disk import PodDisk

MOST = 3
"""The pods that are found at most. More would wait for each other."""
_SHARE = 4
"""A pod is found only if it writes at least a quarter of the bytes that all pods write."""
_LEAST = 1 << 20
"""Bytes between two readings, or in a second, below which a pod counts as idle."""
_LEAST_INODES = 100
"""Inodes in a second below which a pod counts as idle."""


class Writers:
    """Finds the pods that write the most, by comparing two readings."""

    def __init__(self, cgroups: CgroupReader) -> None:
        self._cgroups = cgroups
        self._totals: dict[str, int] = {}

    def find(self, paths: Mapping[str, Iterable[str]]) -> frozenset[str]:
        """Return the uids of the pods that write the most, `MOST` at most.

        `paths` are the cgroups that each pod may have, by uid.
        """
        totals, written = dict[str, int](), dict[str, int]()
        for uid, candidates in paths.items():
            for path in candidates:
                with suppress(NodeError):  # not under this name, or it has ended
                    total, waiting = self._cgroups.writes(path)
                    totals[uid] = total
                    written[uid] = waiting + max(total - self._totals.get(uid, total), 0)
                    break
        self._totals = totals
        return _most(written, _LEAST)


class DiskGrowth:
    """Compares each pod's measurement with the one before. Rates are per second, so that long and short times compare."""

    def __init__(self) -> None:
        self._rates: dict[str, tuple[int, int]] = {}
        """Bytes and inodes per second of the pods that grow."""

    def update(self, uid: str, before: PodDisk | None, after: PodDisk) -> None:
        """Take in a measurement; `before` is the last one of the pod, `None` without any."""
        if before is None or before.time is None or after.time is None or after.time <= before.time:
            return
        (was_bytes, was_inodes), (is_bytes, is_inodes) = before.total, after.total
        elapsed = after.time - before.time
        grown = ((is_bytes or 0) - (was_bytes or 0), (is_inodes or 0) - (was_inodes or 0))
        rates = max(grown[0], 0) * SECOND // elapsed, max(grown[1], 0) * SECOND // elapsed
        if any(rates):
            self._rates[uid] = rates
        else:
            self._rates.pop(uid, None)

    def keep(self, uids: Container[str]) -> None:
        """Forget all other pods."""
        self._rates = {uid: rates for uid, rates in self._rates.items() if uid in uids}

    def fastest(self) -> frozenset[str]:
        """Return the uids of the pods that grow fastest, `MOST` at most by bytes, and as many by inodes."""
        of_bytes, of_inodes = ({uid: rates[part] for uid, rates in self._rates.items()} for part in (0, 1))
        return _most(of_bytes, _LEAST) | _most(of_inodes, _LEAST_INODES)


def _most(amounts: Mapping[str, int], least: int) -> frozenset[str]:
    enough = max(sum(amounts.values()) // _SHARE, least)
    return frozenset(uid for uid in sorted(amounts, key=amounts.__getitem__)[-MOST:] if amounts[uid] >= enough)
