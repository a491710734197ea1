"""Measures what stalls and refaults say on this kernel; `make bench SUITE=psi_vm` runs it, no test.

One pod at a time, under the kernel's old page replacement and under MGLRU (`/sys/kernel/mm/lru_gen`):

* `rests`: sleeps.
* `streams`: reads a file half as large again as what is available, once through and again; one reader, nothing is shared.
* `thrashes`: two readers of a file a tenth larger than what is available, one close behind the other.
* `limited`: the same in a container limited to 64 MiB, with a file of 96 MiB.
* `writes`: the kubelet's own test of stalls, in a container limited to 64 MiB: six files of 16 MiB are written in turn.

Recorded are the rates over `SECONDS`, after the same time to begin: the share of the time that some and all tasks of the node and
of all pods stalled, the highest `avg10` of `full`, which is what a threshold in `pressure` reads, and pages per second of
memory.stat.
"""

import time
from pathlib import Path

import pytest

from evictd_testnode.pods import ContainerRecipe, PodRecipe, VolumeRecipe
from tests.vm.guest import hogs, shell, trials
from tests.vm.guest.mglru import ENABLED, mglru
from tests.vm.guest.node import PODS_CGROUP, Node
from tests.vm.guest.waiting import wait_for

pytestmark = [pytest.mark.vm, pytest.mark.timeout(900)]

NAME = "psi.jsonl"
SECONDS = 20
LIMIT = {"cpu": "2", "memory": "64Mi"}
NODE, PODS = "/proc/pressure/{}", f"{PODS_CGROUP}/{{}}.pressure"
COUNTED = ("workingset_refault_file", "workingset_activate_file", "pgscan", "pgsteal", "pgmajfault")


def streams(mebibytes: int) -> str:
    """Write a file and read it by one reader for ever."""
    return f"dd if=/dev/zero of=/data/fill bs=1M count={mebibytes} 2>/dev/null; while :; do cat /data/fill >/dev/null; done"


def script(kind: str) -> str:
    """Return what the pod of a kind runs."""
    available = shell.meminfo("MemAvailable") >> 20
    return {
        "rests": "trap 'exit 0' TERM; while :; do sleep 1; done",
        "streams": streams(available * 3 // 2),
        "thrashes": hogs.thrashes("/data", available * 11 // 10),
        "limited": hogs.thrashes("/data", 96),
        "writes": "while :; do for i in 1 2 3 4 5 6; do dd if=/dev/zero of=/data/$i bs=1M count=16 2>/dev/null; done; done",
    }[kind]


def totals(pattern: str) -> dict[str, int]:
    """Read the microseconds that some and all tasks have stalled; `pattern` is the path, a resource in it left out."""
    found = {}
    for resource in ("memory", "io"):
        for line in Path(pattern.format(resource)).read_text().splitlines():
            found[f"{resource}_{line.split()[0]}"] = int(line.rpartition("total=")[2])
    return found


def counters() -> dict[str, int]:
    """Read the page counters of all pods."""
    lines = dict(line.split() for line in (PODS_CGROUP / "memory.stat").read_text().splitlines())
    return {name: int(lines[name]) for name in COUNTED}


def full_avg10(pattern: str) -> float:
    """Read what a threshold on `full` with the window `10s` reads, in percent."""
    return float(Path(pattern.format("memory")).read_text().partition("full avg10=")[2].split()[0])


@pytest.mark.parametrize("lru", ["off", "on"])
@pytest.mark.parametrize("kind", ["rests", "streams", "thrashes", "limited", "writes"])
def test_stalls(node: Node, kind: str, lru: str) -> None:
    """Run the pod of one kind and record the rates."""
    default = "off" if int(ENABLED.read_text(), 16) == 0 else "on"
    with mglru(lru):
        limits = LIMIT if kind in {"limited", "writes"} else {}
        container = ContainerRecipe(script=script(kind), limits=limits)
        pod = node.run_pod(PodRecipe(name=kind, containers=(container,), volumes=(VolumeRecipe(name="data"),)))
        if kind not in {"rests", "writes"}:
            wait_until_written(pod.volumes["data"] / "fill")
        time.sleep(SECONDS)
        begun = time.monotonic()
        of_node, of_pods, pages = totals(NODE), totals(PODS), counters()
        highest = {"node": 0.0, "pods": 0.0}
        while time.monotonic() < begun + SECONDS:
            time.sleep(1)
            highest = {
                "node": max(highest["node"], full_avg10(NODE)),
                "pods": max(highest["pods"], full_avg10(PODS)),
            }
        took = time.monotonic() - begun
        trials.record(
            NAME,
            kernel=Path("/proc/sys/kernel/osrelease").read_text().strip(),
            kind=kind,
            mglru=lru + (" (default)" if lru == default else ""),
            node={name: (now - of_node[name]) / took / 1e4 for name, now in totals(NODE).items()},
            pods={name: (now - of_pods[name]) / took / 1e4 for name, now in totals(PODS).items()},
            full_avg10=highest,
            pages={name: (now - pages[name]) / took for name, now in counters().items()},
            working_set=shell.working_set(PODS_CGROUP) >> 20,
        )


def wait_until_written(file: Path) -> None:
    """Wait until a file does not grow any more."""
    wait_for(file.exists, 60, "its file")
    size = -1

    def written() -> bool:
        nonlocal size
        before, size = size, file.stat().st_size
        return before == size > 0

    wait_for(written, 300, "its file to be written")
