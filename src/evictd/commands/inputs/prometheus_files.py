"""Makes stats summaries of Prometheus range queries: the JSON that `/api/v1/query_range` answers, one or more series in a file.

Read are the kubelet's `pod_memory_working_set_bytes` or `container_memory_working_set_bytes`, `machine_memory_bytes` and the root
cgroup (`id="/"`), and evictd's own `evictd_signal_available` and `evictd_signal_capacity`. Other series are left out. A time gets
what has a sample at exactly that time; a query has the same times for all of its series.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from evictd.codec.times import format_time
from evictd.core.units.duration import SECOND
from evictd.errors import InputError

Plain = Mapping[str, Any]

_POD, _CONTAINER = "pod_memory_working_set_bytes", "container_memory_working_set_bytes"
_FILESYSTEMS = {"nodefs": "fs", "imagefs": "imageFs", "containerfs": "containerFs"}


class _Moment:
    """The values of the series at one time."""

    def __init__(self) -> None:
        self.available: dict[str, int] = {}
        self.capacity: dict[str, int] = {}
        self.machine: int | None = None
        self.root: int | None = None
        self.pods: dict[tuple[str, str], int] = {}
        self.containers: dict[tuple[str, str], int] = {}

    def add(self, labels: Plain, amount: int) -> None:
        name, key = labels.get("__name__"), (str(labels.get("namespace", "")), str(labels.get("pod", "")))
        if name == "evictd_signal_available":
            self.available[str(labels.get("eviction_signal"))] = amount
        elif name == "evictd_signal_capacity":
            self.capacity[str(labels.get("eviction_signal"))] = amount
        elif name == "machine_memory_bytes":
            self.machine = amount
        elif name == _CONTAINER and labels.get("id") == "/":
            self.root = amount
        elif name == _POD and key[1]:
            self.pods[key] = amount
        elif name == _CONTAINER and key[1] and labels.get("container", "") not in {"", "POD"}:
            self.containers[key] = self.containers.get(key, 0) + amount

    def summary(self, time: str, node: str, uids: Mapping[tuple[str, str], str]) -> dict[str, Any]:
        pods = {**self.containers, **self.pods}
        runtime = {
            field: fs for name, field in _FILESYSTEMS.items() if (fs := self._fs(name, time)) and name != "nodefs"
        }
        return {
            "node": {
                "nodeName": node,
                "memory": self._memory(time),
                "fs": self._fs("nodefs", time),
                "runtime": runtime or None,
            },
            "pods": [
                {
                    "podRef": {"namespace": key[0], "name": key[1], "uid": uids[key]},
                    "memory": {"time": time, "workingSetBytes": used},
                }
                for key, used in pods.items()
                if key in uids
            ],
        }

    def _memory(self, time: str) -> Plain | None:
        available, capacity = self.available.get("memory.available"), self.capacity.get("memory.available")
        if available is None and self.machine is not None and self.root is not None:
            available, capacity = self.machine - self.root, self.machine
        if available is None or capacity is None:
            return None
        return {"time": time, "availableBytes": max(available, 0), "workingSetBytes": max(capacity - available, 0)}

    def _fs(self, name: str, time: str) -> Plain | None:
        bytes_signal, inodes_signal = f"{name}.available", f"{name}.inodesFree"
        if bytes_signal not in self.available and inodes_signal not in self.available:
            return None
        found = {
            "availableBytes": self.available.get(bytes_signal),
            "capacityBytes": self.capacity.get(bytes_signal),
            "inodesFree": self.available.get(inodes_signal),
            "inodes": self.capacity.get(inodes_signal),
        }
        return {"time": time, **found}


def prometheus_summaries(documents: Sequence[Plain], pods: Sequence[Any], name: str) -> list[dict[str, Any]]:
    """Make a summary for each time that has the node's memory; raises `InputError` if there is none."""
    moments: dict[int, _Moment] = {}
    for document in documents:
        for labels, time, amount in _samples(document, name):
            moments.setdefault(time, _Moment()).add(labels, amount)
    uids, node = _uids(pods)
    made = [moments[time].summary(format_time(time), node, uids) for time in sorted(moments)]
    usable = [summary for summary in made if summary["node"]["memory"] is not None]
    if not usable:
        raise InputError(
            f"{name}: no time has the node's memory; query evictd_signal_available and evictd_signal_capacity, or "
            'container_memory_working_set_bytes{id="/"} and machine_memory_bytes'
        )
    return usable


def _samples(document: Plain, name: str) -> Iterator[tuple[Plain, int, int]]:
    """Yield labels, time in nanoseconds and value of every sample that is a number."""
    try:
        for series in document["data"]["result"]:
            for time, text in series["values"] if "values" in series else [series["value"]]:
                value = float(text)
                if math.isfinite(value):
                    yield dict(series["metric"]), round(float(time) * SECOND), round(value)
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{name}: {error!r}: is no answer of Prometheus' /api/v1/query_range") from error


def _uids(pods: Sequence[Any]) -> tuple[dict[tuple[str, str], str], str]:
    """Return the pods' uids, and the name of the node of the first one."""
    uids, nodes = {}, []
    for pod in pods:
        metadata = pod.get("metadata") if isinstance(pod, Mapping) else None
        if isinstance(metadata, Mapping):
            uids[(str(metadata.get("namespace", "")), str(metadata.get("name", "")))] = str(metadata.get("uid", ""))
            spec = pod.get("spec")
            nodes += [str(spec["nodeName"])] if isinstance(spec, Mapping) and spec.get("nodeName") else []
    return uids, (nodes[0] if len(set(nodes)) == 1 else "")
