"""Counts OOM kills on this machine of 1 GiB beside evictd, earlyoom and systemd-oomd; `make bench SUITE=oom_vm` runs it, no test.

A process in a pod's cgroup fills memory until it is killed: anonymous memory, the same beside a pod that keeps the page cache
busy, or a volume in memory. A trial is lost if the kernel's count of OOM kills has risen. The threshold is one that can fire
here: 300Mi of the lower of both formulas, and the same for earlyoom's MemAvailable. systemd-oomd has no threshold on available
memory: it kills where the pods have stalled for a twentieth of the last ten seconds for a second, its shortest time.

`test_default` has the kubelet's default threshold of 100Mi, evictd's defaults, and anonymous memory at several rates: without
swap, with a swap file as large as half of memory, and with as much in zram. A process outside the pods holds what leaves
`LEFT` MiB. With swap half of each page that a filler writes is random, so that zram stores about half of it.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import pytest

from evictd_testnode.pods import ContainerRecipe, PodRecipe, RunningPod, VolumeRecipe
from tests.vm.guest import service, trials
from tests.vm.guest.figures import FILE
from tests.vm.guest.node import PODS_CGROUP, Node
from tests.vm.guest.test_scenarios import oom_kills
from tests.vm.guest.trials import EARLYOOM, RATE, THRESHOLD, evictd, remove, run_hog
from tests.vm.guest.waiting import wait_for

pytestmark = [pytest.mark.vm, pytest.mark.timeout(3000)]

TRIALS = 5
OOMD_TRIALS = 2
"""Each takes minutes: the machine thrashes until something is killed."""
DEFAULT = 100
"""MiB: the kubelet's default threshold."""
PEER_SHARE = 4
"""Of the trials at the default threshold earlyoom has one in so many."""
LEFT = 400
"""MiB that are available when a trial at the default threshold begins."""
SWAP_MIB = 512
NAME = "oom.jsonl"
PATIENCE = 150
"""Seconds."""
READER = "while :; do dd if=/dev/zero of=/data/file bs=1M count=150; cat /data/file >/dev/null; done"
FILLER = """
import mmap, os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
for name, text in ((sys.argv[1] + "/cgroup.procs", "0"), ("/proc/self/oom_score_adj", "1000")):
    with open(name, "w") as file:
        file.write(text)
held, begun, piece = [], time.monotonic(), (os.urandom(2048) + bytes(2048)) * 256
with open("/proc/swaps") as file:
    swaps = len(file.readlines()) > 1
at_once = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | mmap.MAP_POPULATE
file = open(sys.argv[2] + "/file", "wb", buffering=0) if sys.argv[2] else None
while True:
    if file:
        file.write(piece)
        held.append(None)
    else:
        held.append(mmap.mmap(-1, len(piece), flags=at_once))
        if swaps:
            held[-1].write(piece)
    time.sleep(max(0, begun + len(held) / int(sys.argv[3]) - time.monotonic()))
"""

BALLAST = """
import ctypes, mmap, re, sys, time
open("/proc/self/oom_score_adj", "w").write("-1000")
ctypes.CDLL(None).mlockall(3)
left = int(re.search(r"MemAvailable: +([0-9]+)", open("/proc/meminfo").read())[1]) >> 10
held = mmap.mmap(-1, max(left - int(sys.argv[1]), 1) << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | mmap.MAP_POPULATE)
print("ready", flush=True)
time.sleep(36000)
"""


@contextmanager
def earlyoom(threshold: int = THRESHOLD) -> Iterator[None]:
    """Earlyoom with the same threshold in MiB; only the filler, whose score is the greatest, is worth a kill."""
    argv = [str(EARLYOOM), "-r", "0", "-M", f"{threshold << 10},{threshold << 9}"]
    process = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield
    finally:
        process.terminate()
        process.wait(60)


@contextmanager
def oomd() -> Iterator[None]:
    """systemd-oomd for the slice of all pods, as quick as it can be set. It starts masked; nothing else here has it."""
    units = ("systemd-oomd.socket", "systemd-oomd.service")
    drop_in = Path("/etc/systemd/oomd.conf.d/zz-bench.conf")
    drop_in.parent.mkdir(exist_ok=True)
    drop_in.write_text("[OOM]\nDefaultMemoryPressureDurationSec=1s\n")
    service.systemctl("unmask", *units)
    kill = ("ManagedOOMMemoryPressure=kill", "ManagedOOMMemoryPressureLimit=5%")
    service.systemctl("set-property", "--runtime", PODS_CGROUP.name, *kill)
    service.systemctl("start", *units)
    try:
        wait_for(lambda: PODS_CGROUP.name in monitored(), 60, "systemd-oomd to watch the pods")
        yield
    finally:
        service.systemctl("set-property", "--runtime", PODS_CGROUP.name, "ManagedOOMMemoryPressure=auto")
        service.systemctl("stop", *units)


def monitored() -> str:
    """What systemd-oomd says of itself."""
    return subprocess.run(["oomctl", "--no-pager"], check=True, capture_output=True, text=True).stdout


MODES: dict[str, Callable[[], AbstractContextManager[None]]] = {
    "evictd": evictd,
    "earlyoom": earlyoom,
    "systemd-oomd": oomd,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """How one filler ended."""

    seconds: float
    """How long it lived."""
    lost: bool
    """Whether the OOM killer was there."""
    ended: bool
    """False where nothing ended it within `PATIENCE` seconds: no victory, though the OOM killer did not come either."""


def trial(node: Node, number: int, kind: str, rate: int = RATE) -> Trial:
    """Fill with `rate` MiB/s at most until the filler is dead."""
    in_memory = (VolumeRecipe(name="shm", medium="Memory"),) if kind == "tmpfs" else ()
    pod, scope = run_hog(node, number, *in_memory)
    if in_memory:
        subprocess.run(["mount", "-o", "remount,size=900m", pod.volumes["shm"]], check=True)
    before, began = oom_kills(), time.monotonic()
    argv = [
        sys.executable,
        "-c",
        FILLER,
        str(scope),
        *(map(str, pod.volumes.values()) if in_memory else ("",)),
        str(rate),
    ]
    filler = subprocess.Popen(argv, stderr=subprocess.DEVNULL)
    ended = True
    try:
        filler.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        ended = False
        filler.kill()
        filler.wait(60)
    lived = time.monotonic() - began
    time.sleep(1)
    lost = oom_kills() > before
    remove(node, pod)
    return Trial(seconds=lived, lost=lost, ended=ended)


def run_reader(node: Node, number: int) -> RunningPod:
    container = ContainerRecipe(script=READER, limits={"cpu": "1", "memory": "250Mi"})
    return node.run_pod(
        PodRecipe(name=f"reader-{number}", containers=(container,), volumes=(VolumeRecipe(name="data"),))
    )


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", ["anonymous", "page cache beside it", "tmpfs"])
def test_trials(node: Node, installed: None, mode: str, kind: str) -> None:
    """Only evictd empties volumes: the others would kill one process after another, so they take no part in that."""
    FILE.with_name(NAME).touch()
    if (mode != "evictd" and kind == "tmpfs") or (mode == "earlyoom" and not EARLYOOM.exists()):
        return
    Path("/proc/self/oom_score_adj").write_text("-1000")
    service.configure(
        {"evictionHard": {"memory.available": f"{THRESHOLD}Mi"}, "evictionPressureTransitionPeriod": "1s"},
        {"memory": {"formula": "Lowest"}, "allowApiPodsStandalone": True},
    )
    reader: RunningPod | None = None
    with MODES[mode]():
        wanted = trials.count(TRIALS)
        for number in range(min(wanted, OOMD_TRIALS) if mode == "systemd-oomd" else wanted):
            if kind == "page cache beside it" and (
                reader is None or not node.running(reader)
            ):  # systemd-oomd may take it
                reader = run_reader(node, number)
            trials.record(NAME, mode=mode, kind=kind, **asdict(trial(node, number, kind)))
            if mode == "evictd":
                trials.wait_until_calm()


@contextmanager
def ballast() -> Iterator[None]:
    """Hold as much memory as leaves `LEFT` MiB, outside of any pod, and never swapped out.

    Before evictd begins: what grows elsewhere more than the hogs do pauses evictions (law Effect).
    """
    with subprocess.Popen([sys.executable, "-c", BALLAST, str(LEFT)], stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
            yield
        finally:
            process.kill()


@contextmanager
def no_swap() -> Iterator[None]:
    """Leave the machine without swap, as it is."""
    yield


@contextmanager
def swap_file() -> Iterator[None]:
    """Swap to a file on the root disk."""
    file = Path("/var/tmp/swap")
    with file.open("wb") as out:
        os.posix_fallocate(out.fileno(), 0, SWAP_MIB << 20)
    file.chmod(0o600)
    with swapped_to(file):
        yield
    file.unlink()


@contextmanager
def zram() -> Iterator[None]:
    """Swap into compressed memory."""
    subprocess.run(["modprobe", "zram"], check=True)
    Path("/sys/block/zram0/disksize").write_text(f"{SWAP_MIB}M")
    with swapped_to(Path("/dev/zram0")):
        yield
    Path("/sys/block/zram0/reset").write_text("1")


@contextmanager
def swapped_to(place: Path) -> Iterator[None]:
    """Swap to a file or device until the end of the block."""
    subprocess.run(["mkswap", place], check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["swapon", place], check=True)
    try:
        yield
    finally:
        subprocess.run(["swapoff", place], check=True)


SWAPS: dict[str, Callable[[], AbstractContextManager[None]]] = {
    "unswapped": no_swap,
    "swapfile": swap_file,
    "zram": zram,
}


SWAPPED = {"unswapped": "", "swapfile": ", swap file", "zram": ", zram"}


@pytest.mark.parametrize("swap", SWAPS)
@pytest.mark.parametrize("rate", [20, 100, 300])
@pytest.mark.parametrize("mode", ["evictd", "evictd, WorkingSet", "earlyoom"])
def test_default(node: Node, installed: None, mode: str, rate: int, swap: str) -> None:
    """The kubelet's default threshold. By its own formula without swap every trial is lost, so one is enough to show it."""
    FILE.with_name(NAME).touch()
    if mode == "earlyoom" and not EARLYOOM.exists():
        return
    Path("/proc/self/oom_score_adj").write_text("-1000")
    formula = {"memory": {"formula": "WorkingSet"}} if mode.endswith("WorkingSet") else {}
    service.configure(
        {"evictionHard": {"memory.available": f"{DEFAULT}Mi"}, "evictionPressureTransitionPeriod": "1s"},
        {**formula, "allowApiPodsStandalone": True},
    )
    wanted = trials.count(TRIALS)
    counts = {"evictd": wanted, "earlyoom": -(-wanted // PEER_SHARE)}
    with SWAPS[swap](), ballast(), earlyoom(DEFAULT) if mode == "earlyoom" else evictd():
        for number in range(counts.get(mode, 1)):
            found = trial(node, number, "anonymous", rate)
            trials.record(NAME, mode=mode, kind=f"{rate} MiB/s" + SWAPPED[swap], **asdict(found))
            if mode != "earlyoom":
                trials.wait_until_calm()
