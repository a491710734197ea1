"""Measures how far a disk runs full before evictd stops the pod that fills it, beside a plain poll every 10 s.

A node has an ext4 disk of 4 GiB on a loop device whose file is in memory, and a private containerd with its root on it. In each
trial a process of a pod fills it past `nodefs.available<10%` (`nodefs.inodesFree<10%`) at a steady rate: in its writable layer,
in an emptyDir, or in its log directory. It and process 1 of the container ignore SIGTERM. Ten pods run beside it, each with a
volume of its own; one of them that is gone at the end was evicted though it was innocent. The phase of the crossing in the
daemon's period of 10 s is random. What is left is read every 5 ms.

A log is written by a process outside the pod's cgroup, as a runtime does it. EVICTD_BENCH_RUNS, EVICTD_BENCH_FILLS (`MiB/s` or
`inodes`), EVICTD_BENCH_PLACES and EVICTD_BENCH_MODES (separated by `;`) select rows and trials; without them `standard` has all
rows and each other mode those of `COMPARED`, the peers with a share of the trials. The rows of earlier runs stay in the table.
Needs root, cgroup v1 and the demo's containerd.
"""

import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median

from bench.disk_filler import left
from bench.harness import Result, summarize
from bench.lines import Lines, pressure_ends, started
from bench.report import loads, write_section
from bench.suite_reaction import Fields, daemon, first_process, is_running
from evictd_testnode.binaries import default_cache, find_binaries
from evictd_testnode.cgroups import group, pids_of, trees
from evictd_testnode.disks import DiskKind, DiskRecipe
from evictd_testnode.node import DisposableNode, NodeRecipe
from evictd_testnode.pods import IGNORE_TERM, ContainerRecipe, PodRecipe, RunningPod, VolumeRecipe
from evictd_testnode.sweep import start_cleanup_process
from evictd_testnode.tool import wait_for

RUNS = int(os.environ.get("EVICTD_BENCH_RUNS", "20"))
PEER_SHARE = 5
ALL_FILLS = ("50", "200", "500", "inodes")
ALL_PLACES = ("layer", "volume", "log")
DISK = 4 << 30
INODES = 1_000_000
INODES_RATE = 50_000
SHARE = 10
"""The thresholds are met below a tenth of the disk."""
CROSSING_SECONDS = 180
MOST_FAILED = 3
"""Trials that may fail before a row is given up."""
FILL_SECONDS = 4
"""How long a fill goes on before the crossing."""
MEMORY = "/dev/shm"
INNOCENTS = 10
INNOCENT_MIB = 20
LARGE_FILES = 20_000
"""Empty files that each of them has besides, in the mode with large neighbours: what has to be walked before they are chosen."""
COLLECT_PERIOD = int(os.environ.get("EVICTD_BENCH_COLLECT_PERIOD", "10"))
"""Seconds: how often containerd measures writable layers; 10 is its default."""
KNOWN = Path("build/disk_fill_rows.json")
"""The rows of earlier runs, which stay in the table until a run replaces them."""
MODES: dict[str, Fields] = {
    "standard": {},
    "standard, large neighbours": {},
    "standard, lead: Auto": {"disk": {"lead": "Auto"}},
    "standard, freeze: Auto": {"disk": {"freeze": "Auto"}},
    "kubelet": {"decisionPolicy": "Kubelet"},
    "10 s poll": {"memory": {"watch": False}},
}
COMPARED = {"EVICTD_BENCH_FILLS": ("200", "500"), "EVICTD_BENCH_PLACES": ("volume",)}
"""What the modes other than `standard` are measured with: a peer at 50 MiB/s or in another place shows nothing more."""
SELECTED = [each.strip() for each in os.environ.get("EVICTD_BENCH_MODES", ";".join(MODES)).split(";")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fill:
    """What is filled, how fast, and below what it is short."""

    kind: str
    rate: int
    limit: int = 0

    def shown(self, amount: float) -> str:
        """Write an amount in MiB, or as a number of inodes."""
        return f"{amount / (1 << 20):.0f}" if self.kind == "bytes" else f"{amount:.0f} inodes"


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One trial: least that was left, milliseconds from the crossing to the stop call, and units per second before it.

    `ended` is milliseconds from the stop call to the end of the process that fills.
    """

    least: int
    milliseconds: float
    rate: int
    ended: float


@dataclass(slots=True)
class Row:
    """The trials of one row; a trial that fails is among `failed` with its reason."""

    trials: list[Trial] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    innocents: int = 0

    def wants(self, count: int) -> int:
        """Return the number of trials to go; none after several failures."""
        return count - len(self.trials) - len(self.failed) if len(self.failed) < MOST_FAILED else 0

    def shown_trials(self) -> str:
        """Write the number of trials, and what failed."""
        tried = len(self.trials) + len(self.failed)
        reasons = "; ".join(dict.fromkeys(self.failed))
        return f"{len(self.trials)} of {tried}: {reasons}" if self.failed else str(tried)


@dataclass(slots=True)
class Lowest:
    """Reads what is left of a disk every 5 ms, on a thread of its own."""

    fill: Fill
    folder: Path
    value: int = 1 << 62
    ended: threading.Event = field(default_factory=threading.Event)

    @contextmanager
    def followed(self) -> Iterator[None]:
        """Read until the end of the block."""
        thread = threading.Thread(target=self._read)
        thread.start()
        try:
            yield
        finally:
            self.ended.set()
            thread.join()

    def _read(self) -> None:
        while not self.ended.wait(0.005):
            self.value = min(self.value, left(self.fill.kind, self.folder))


def run() -> list[Result]:
    """Run all trials, and write the table of `docs/benchmarks.md`."""
    if os.geteuid() != 0 or not group("memory", "/").joinpath("cgroup.event_control").exists():
        print("disk_fill: needs root and cgroup v1; left out")
        return []
    if shutil.disk_usage(MEMORY).free > 2 * DISK:
        _keep_nodes_in(MEMORY)  # where the machine's own disk is slower than the fills
    results: list[Result] = []
    known: dict[str, str] = json.loads(KNOWN.read_text()) if KNOWN.exists() else {}
    for mode in SELECTED:
        for name in _selected("EVICTD_BENCH_FILLS", ALL_FILLS, mode):
            for place in _selected("EVICTD_BENCH_PLACES", ALL_PLACES, mode):
                count = RUNS if mode.startswith("standard") else max(RUNS // PEER_SHARE, 1)
                fill = fill_of(name)
                print(f"disk_fill/{mode}/{name}/{place}: {count} trials ...", flush=True)
                row = _measured(fill, place, mode, count)
                if row.trials:
                    times = [each.milliseconds for each in row.trials]
                    results.append(summarize(f"disk_fill/{mode}/{name}/{place}", times))
                line = _line(mode, fill, place, row)
                print(line, flush=True)
                known[f"{mode}, {_label(fill)}, {place}"] = line
                KNOWN.parent.mkdir(exist_ok=True)
                KNOWN.write_text(json.dumps(known))
                write_section("disk_fill", _section(known))
    return results


def _selected(variable: str, everything: tuple[str, ...], mode: str) -> tuple[str, ...]:
    """Return the fills or places that this mode is measured with."""
    chosen = os.environ.get(variable)
    if chosen is not None:
        return tuple(chosen.split())
    return everything if mode == "standard" else COMPARED[variable]


def fill_of(name: str) -> Fill:
    """Return the fill of this name: MiB per second, or `inodes`."""
    if name == "inodes":
        return Fill(kind="inodes", rate=INODES_RATE)
    return Fill(kind="bytes", rate=int(name) << 20)


def limited(fill: Fill, folder: Path) -> Fill:
    """Return the fill with its limit: a share of what the filesystem has, which is less than the disk."""
    found = os.statvfs(folder)
    capacity = found.f_blocks * found.f_frsize if fill.kind == "bytes" else found.f_files
    return replace(fill, limit=capacity // SHARE)


def _keep_nodes_in(folder: str) -> None:
    """Make the nodes below a folder, and have them removed there if this process is killed."""
    os.environ["TMPDIR"] = tempfile.tempdir = folder
    start_cleanup_process("tests.cleanup_process")


def _recipe() -> NodeRecipe:
    disk = DiskRecipe(kind=DiskKind.EXT4, size_bytes=DISK, inodes=INODES)
    binaries = find_binaries(default_cache())
    return NodeRecipe(binaries=binaries, node_disk=disk, stats_collect_period_seconds=COLLECT_PERIOD)


def _label(fill: Fill) -> str:
    return f"{fill.rate >> 20} MiB/s" if fill.kind == "bytes" else f"{fill.rate} inodes/s"


def _reached(fill: Fill, rate: float) -> str:
    """Write the rate that was asked for, and the one that was reached where it is another."""
    asked, reached = (each >> 20 if fill.kind == "bytes" else each for each in (fill.rate, round(rate)))
    unit = "" if fill.kind == "bytes" else " inodes"
    return f"{asked}{unit}" if reached == asked else f"{asked}{unit} ({reached})"


def _line(mode: str, fill: Fill, place: str, row: Row) -> str:
    cells: list[object] = [mode, _label(fill).split()[0], place, row.shown_trials()]
    if row.trials:
        times = [each.milliseconds for each in row.trials]
        least = [each.least for each in row.trials]
        cells[1] = _reached(fill, median(each.rate for each in row.trials))
        cells += [
            f"{median(times):.0f}",
            f"{max(times):.0f}",
            f"{median(each.ended for each in row.trials):.0f}",
            fill.shown(median(least)),
            fill.shown(min(least)),
            sum(each < (1 << 20 if fill.kind == "bytes" else 100) for each in least),
        ]
    else:
        cells += [""] * 6
    return f"| {' | '.join(map(str, (*cells, row.innocents, f'{os.getloadavg()[0]:.0f}')))} |"


def _section(known: dict[str, str]) -> str:
    names = [f"{mode}, {_label(fill_of(n))}, {p}" for mode in MODES for n in ALL_FILLS for p in ALL_PLACES]
    rows = [known[name] for name in names if name in known]
    what = (
        f"ext4 of {DISK >> 30} GiB on a loop device (cgroup v1), `nodefs.available<10%` or `nodefs.inodesFree<10%` of "
        f"{INODES:,} inodes, containerd that measures layers every {COLLECT_PERIOD} s; filler and process 1 ignore SIGTERM, "
        f"{INNOCENTS} idle pods with {INNOCENT_MIB} MiB each beside them (large neighbours: and {LARGE_FILES:,} files)"
    )
    lines = [
        "## Before the disk is full",
        "",
        f"`make bench SUITE=disk_fill`: {what}. {loads()}",
        "",
        "| Mode | MiB/s | Filled | Trials | Stop, ms | Longest | To the end | Left, MiB | Least | Full | Innocent | Load |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|",
        *rows,
        "",
        "Medians: from the crossing to the stop call, from that to the end of the filler, and of the least that was left.",
        "Full: trials in which less than 1 MiB or 100 inodes were left. Innocent: idle pods gone.",
    ]
    return "\n".join(lines)


def _measured(fill: Fill, place: str, mode: str, count: int) -> Row:
    """Run the trials of one mode, fill and place; after one that failed the others have a new node.

    Without a journal ext4 is slow to use inodes again that were freed lately, so each trial with inodes has a new node.
    """
    row = Row()
    while wanted := row.wants(count):
        try:
            with DisposableNode(_recipe()) as node:
                trials = wanted if fill.kind == "bytes" else 1
                _run_trials(node, limited(fill, node.node_folder), place, mode, row, trials)
        except Exception as error:  # it is a cell of the table, and the rows after it are measured
            print(f"failed: {error}", flush=True)
            row.failed.append(str(error).partition("\n")[0][:80].replace("|", "/"))
    return row


def _run_trials(node: DisposableNode, fill: Fill, place: str, mode: str, row: Row, count: int) -> None:
    files = LARGE_FILES if "large neighbours" in mode else 0
    innocents = [_innocent(node, number, files) for number in range(INNOCENTS)]
    hard = "nodefs.available" if fill.kind == "bytes" else "nodefs.inodesFree"
    kubelet: Fields = {"evictionHard": {hard: f"{100 // SHARE}%"}, "imageGCHighThresholdPercent": 100}
    _add_ballast(node, fill)
    try:
        with daemon(node, kubelet, {"memory": {"watch": True}, **MODES[mode]}) as stops, _kept_log(node):
            for number in range(count):
                filler = PodRecipe(
                    name=f"filler-{number}",
                    containers=(ContainerRecipe(script=IGNORE_TERM),),
                    volumes=(VolumeRecipe(name="data"),),
                )
                pod = node.run_pod(filler)
                time.sleep(random.uniform(0.5, 10.5))
                row.trials.append(_trial(node, pod, fill, place, stops))
                _until_calm(node, pod, number)
    finally:
        row.innocents += sum(not pids_of(f"{pod.cgroup_parent}/{pod.container_id}") for pod in innocents)


def _innocent(node: DisposableNode, number: int, files: int) -> RunningPod:
    pod = node.run_pod(PodRecipe(name=f"innocent-{number}", volumes=(VolumeRecipe(name="data"),)))
    (pod.volumes["data"] / "kept").write_bytes(bytes(INNOCENT_MIB << 20))
    for name in range(files):
        os.mknod(pod.volumes["data"] / str(name))
    return pod


def _add_ballast(node: DisposableNode, fill: Fill) -> None:
    """Fill the disk, outside of any pod, until a trial takes `FILL_SECONDS` to the crossing."""
    folder = node.node_folder / "ballast"
    folder.mkdir()
    surplus = left(fill.kind, folder) - fill.limit - FILL_SECONDS * fill.rate
    if fill.kind == "bytes":
        with (folder / "file").open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, max(surplus, 1))
        return
    script = "import os, sys\nfor i in range(int(sys.argv[2])): os.mknod(f'{sys.argv[1]}/{i}')"
    makers = []
    for part in range(8):
        (folder / str(part)).mkdir()
        argv = [sys.executable, "-c", script, str(folder / str(part)), str(surplus // 8)]
        makers.append(subprocess.Popen(["setpriv", "--pdeathsig", "KILL", *argv]))  # they outlived a run that was ended
    if any(maker.wait(600) for maker in makers):
        raise AssertionError("the files that take inodes beforehand could not be made")


def _trial(node: DisposableNode, pod: RunningPod, fill: Fill, place: str, stops: Lines) -> Trial:
    stops.forget()
    lowest = Lowest(fill, node.node_folder)
    with lowest.followed(), _filler(pod, fill, place) as (process, lines):
        if not wait_for(lambda: lowest.value < fill.limit or process.poll() is not None, seconds=CROSSING_SECONDS):
            raise AssertionError(f"{fill.shown(lowest.value - fill.limit)} above the threshold in {CROSSING_SECONDS} s")
        stopped = int(stops.next("stop", 120)[1].split()[1])
        process.wait(120)
        ended = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
        try:
            crossed, rate = map(int, lines.next("crossed", 1)[1].split()[1:])
        except AssertionError:  # it was stopped before it crossed
            crossed, rate = stopped, fill.rate
    return Trial(
        least=lowest.value, milliseconds=max(stopped - crossed, 0) / 1e6, rate=rate, ended=(ended - stopped) / 1e6
    )


@contextmanager
def _filler(pod: RunningPod, fill: Fill, place: str) -> Iterator[tuple["subprocess.Popen[str]", Lines]]:
    """Fill in the PID namespace of the pod's container, so that it ends with process 1; a log is not in the pod's cgroup."""
    first = first_process(pod)
    name = next(iter(pod.containers))
    folders = {"layer": f"/proc/{first}/root", "volume": str(pod.volumes["data"]), "log": f"{pod.log_directory}/{name}"}
    cgroups = [tree / f"{pod.cgroup_parent}/{pod.container_id}".lstrip("/") / "cgroup.procs" for tree in trees()]
    joined = [] if place == "log" else [str(each) for each in cgroups if each.exists()]
    argv = ["nsenter", "-t", str(first), "-p", sys.executable, "-m", "bench.disk_filler"]
    argv += [
        fill.kind if place != "log" or fill.kind == "bytes" else "flat-inodes",
        _opened(folders[place], place),
        str(fill.rate),
        str(fill.limit),
        *joined,
    ]
    with started(argv) as filling:
        yield filling


def _opened(folder: str, place: str) -> str:
    """Make a directory for the fill in a place, and return it."""
    below = Path(folder)
    if place != "log":  # of a log directory only the files count
        below /= "fill"
        below.mkdir(exist_ok=True)
    return str(below)


@contextmanager
def _kept_log(node: DisposableNode) -> Iterator[None]:
    """Copy the daemon's log and journal to the directory EVICTD_BENCH_LOG at the end, where that is set."""
    try:
        yield
    finally:
        if target := os.environ.get("EVICTD_BENCH_LOG"):
            kept = Path(target, node.folder.name)
            shutil.copytree(node.folder / "evictd", kept)
            shutil.copy(node.folder / "evictd.log", kept)


def _until_calm(node: DisposableNode, pod: RunningPod, number: int) -> None:
    """Wait until the pod has stopped, remove what it left, and wait until evictd has observed that the pressure is over."""
    log = node.folder / "evictd.log"
    if not wait_for(lambda: not is_running(node, pod), seconds=120):
        raise AssertionError(f"{pod.name} runs on: {log.read_text()[-3000:]}")
    node.remove_pod(pod)
    shutil.rmtree(pod.log_directory, ignore_errors=True)
    for volume in pod.volumes.values():
        shutil.rmtree(volume, ignore_errors=True)
    if not wait_for(lambda: pressure_ends(log) > number, seconds=120, step_seconds=0.1):
        raise AssertionError(log.read_text()[-3000:])
