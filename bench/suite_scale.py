"""Measures what 500 nodes without a kubelet cost a real API server: evictd's requests, the server's processor time and memory.

Starts a real etcd and kube-apiserver (KUBEBUILDER_ASSETS), makes the nodes with their pods, and runs an evictd client for each in
this process (`tests/cluster/fleet.py`); then as many kubelets' documented traffic on the same server. All clients start at
the same moment, are pressed at the same moment and lose the server at the same moment. EVICTD_BENCH_NODES and
EVICTD_BENCH_SECONDS change the size; a part at rest takes longer than one heartbeat of five minutes.
"""

import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bench.harness import Result, summarize
from bench.report import loads, write_section
from bench.suite_calm import cpu_ms, status_value
from tests.cluster import processes
from tests.cluster.binaries import Missing, find
from tests.cluster.control_plane import PROGRAMS, ControlPlane
from tests.cluster.fleet import Fleet, Kubelets, Requests, Traffic, nodes
from tests.deploy.manifests import USER

NODES = int(os.environ.get("EVICTD_BENCH_NODES", "500"))
PODS = 3
SECONDS = int(os.environ.get("EVICTD_BENCH_SECONDS", "330"))
KUBELET_SECONDS = 60
"""A kubelet's lease repeats every 10 s."""
AFTER_RESTART_SECONDS = 30
AWAY_SECONDS = 20
KUBELET = "other-writer"


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One part of the run: its requests, and what it cost the server."""

    name: str
    seconds: float
    requests: Requests
    server_ms: float
    server_mib: float

    def row(self) -> str:
        """Format the row of the table."""
        total, most, nodes = self.requests.total, self.requests.most, self.requests.most_of_a_node
        cells = [
            self.name,
            f"{self.seconds:.0f}",
            f"{total}",
            f"{total / self.seconds:.1f}",
            f"{most}",
            f"{nodes}" if nodes else "",
            f"{self.requests.refused}",
            f"{self.server_ms / self.seconds / 10:.1f}",
            f"{self.server_mib:.0f}",
        ]
        return f"| {' | '.join(cells)} |"


class Meter:
    """Measures parts of a run on one control plane."""

    def __init__(self, plane: ControlPlane, user: str) -> None:
        self._plane = plane
        self._user = user
        self._traffic = Traffic(plane)
        self.parts: list[Part] = []

    def part(self, name: str, work: Callable[[], object]) -> None:
        """Do something, and count what it cost until then."""
        began, before = time.monotonic(), self._server_ms()
        work()
        seconds, cost = time.monotonic() - began, self._server_ms()
        memory = sum(status_value(process, "VmRSS") for process in self._processes()) / 1024
        # A server that was started again has no processor time from before.
        spent = cost - before if cost >= before else cost
        requests = self._traffic.since(self._user)
        made = Part(name=name, seconds=seconds, requests=requests, server_ms=spent, server_mib=memory)
        print(made.row(), dict(requests.kinds.most_common(6)), flush=True)
        self.parts.append(made)

    def _processes(self) -> list[Path]:
        return [Path(f"/proc/{each.pid}") for each in (self._plane.etcd, self._plane.apiserver)]

    def _server_ms(self) -> float:
        return sum(cpu_ms(int(each.name)) for each in self._processes())


def run() -> list[Result]:
    """Run evictd's fleet, then the kubelets, and write the table of `docs/benchmarks.md`."""
    programs = find(*PROGRAMS)
    if isinstance(programs, Missing):
        print(f"scale: {programs}; left out")
        return []
    with processes.folder() as folder, ControlPlane(folder, programs) as plane, nodes(plane, NODES, PODS) as names:
        ours = _evictd(plane, names)
        theirs = _kubelets(plane, names)
    write_section("scale", _section([*ours, *theirs]))
    return [summarize(f"scale/{part.name}", [part.seconds * 1000]) for part in (*ours, *theirs)]


def _evictd(plane: ControlPlane, names: list[str]) -> list[Part]:
    fleet, meter = Fleet(plane, names), Meter(plane, USER)
    try:
        meter.part("evictd, start of all", fleet.start)
        meter.part("evictd, at rest", lambda: time.sleep(SECONDS))
        meter.part("evictd, one eviction on each", fleet.press)
        meter.part("evictd, relieved", fleet.relieve)
        _restart(plane, meter, "evictd", fleet.wait_until_calm)
    finally:
        fleet.close()
    return meter.parts


def _kubelets(plane: ControlPlane, names: list[str]) -> list[Part]:
    kubelets, meter = Kubelets(plane, names), Meter(plane, KUBELET)
    try:
        kubelets.start()
        meter.part("kubelets, start of all", kubelets.wait_until_calm)
        meter.part("kubelets, at rest", lambda: time.sleep(KUBELET_SECONDS))
        _restart(plane, meter, "kubelets", kubelets.wait_until_calm)
    finally:
        kubelets.close()
    return meter.parts


def _restart(plane: ControlPlane, meter: Meter, name: str, calm: Callable[[], None]) -> None:
    plane.apiserver.stop(signal.SIGKILL)
    time.sleep(AWAY_SECONDS)
    plane.apiserver.start()
    plane.wait_until_ready()

    def settle() -> None:
        calm()
        time.sleep(AFTER_RESTART_SECONDS)

    meter.part(f"{name}, after the server's restart", settle)


def _section(parts: list[Part]) -> str:
    what = f"{NODES} nodes without a kubelet, {PODS} pods each, on a real etcd and kube-apiserver 1.36"
    return "\n".join(
        [
            "## Many nodes on one API server",
            "",
            f"`make bench SUITE=scale`: {what}. {loads()}",
            "",
            "| Part | Seconds | Requests | A second | Most in a second | Most of one node | 429 | Server, % of a core | MiB |",
            "|---|---|---|---|---|---|---|---|---|",
            *(part.row() for part in parts),
            "",
            "Server: kube-apiserver and etcd.",
        ]
    )
