"""Runs the real loop for an hour beside pods that come and go: `make soak` (ARGS='--minutes N --seed S').

Twenty pods a second begin on a node double that belongs to an API server double; some grow beyond their requests and put the node
under pressure, and random faults of the runtime, the kernel's files, the API server and the daemon itself come and go. Each stop
of a pod and each moment is checked from outside, by what the node knows and not by what evictd says:

* fairness: no pod within its request is stopped while an evictable pod has exceeded its own for `SETTLED` seconds;
* thrift: no pod is stopped where the memory of earlier victims, which comes back late, has been enough for `LATE` seconds;
* protection: no critical pod is stopped;
* progress: no pressure lasts longer than `BOUND` seconds without a fault while a pod exceeds its request;
* early: the kernel's OOM killer takes fewer pods than evictd, although each fault makes evictd blind for up to two seconds;
* the descriptors and the memory of the daemon's process do not grow (`Memory`); the doubles live in another one.

Beside them one pod of each kind of `hostile.HOSTILE` runs at any time and is replaced when it ends, each beyond its request and
growing, and another process floods the health page: no law may break for their sake.
"""

import argparse
import sys
import tempfile
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import cast

from tests.faults.churn import FAULT_SECONDS, THRESHOLD, ChurningNode
from tests.faults.cri_server import fake_runtime
from tests.faults.harness import Fault, Run
from tests.faults.hostile import flooded, immutable_files_cleared
from tests.faults.soak_daemon import DaemonProcess
from tests.faults.table import API, KERNEL, RUNTIME, YEAR, Context
from tests.kube import objects
from tests.kube.api_server import ApiServer
from tests.ports import free_ports

BOUND = 30.0
CALM_SECONDS = (1.0, 5.0)
BLIND_KILLS = 5
"""Pods that the kernel may kill in a run too short to compare."""
WINDOW = 5
"""Reports, one a minute, over which together evictd must be earlier than the kernel."""
WARM_SECONDS = 600
MOST_GROWTH = 5 << 20
"""Bytes by which the daemon's process may grow after its first `WARM_SECONDS`; runs of that length or less judge no growth."""
MOST_DESCRIPTORS, DESCRIPTORS_A_POD = 200, 10
"""Descriptors of the daemon's process: the files of the cgroups of each pod stay open."""
TICK_SECONDS = 0.02
MEBI = 1 << 20
CALLS = 64
"""Calls that the runtime double serves at a time: stops wait for the end of a pod, and no call that hangs holds up another."""


def faults() -> list[Fault]:
    """The faults of the table that are over when they end, and not those of its two pods."""
    kernel = (fault for fault in KERNEL if "of a pod" not in fault.name)
    return [*(fault for fault in API if "wall clock" not in fault.name), *kernel, *RUNTIME, *WALL_CLOCKS]


def _shifting(by: int) -> Context:
    return lambda run: cast("DaemonProcess", run).wall_clock_shifted(by)


WALL_CLOCKS = [
    Fault(f"the wall clock goes {where} ten years", "clock", _shifting(years * YEAR))
    for where, years in (("back", -10), ("forward", 10))
]


class Memory:
    """Judges the resident memory of the daemon's process by the least of each minute.

    A fault may take more while it lasts, such as 10,000 containers in a listing; what the least rises by does not come back.
    """

    def __init__(self) -> None:
        self.warm: int | None = None
        """Bytes in the first minute after `WARM_SECONDS`."""
        self.most = 0
        """The highest of the minutes since then."""
        self._minute: list[int] = []

    def sample(self, resident: int) -> None:
        """Note what is resident now."""
        self._minute.append(resident)

    def end_minute(self, age: float) -> str:
        """Begin the next minute, `age` seconds after the begin of the run. Return the broken law, empty if it holds."""
        least = min(self._minute, default=0)
        self._minute.clear()
        if age <= WARM_SECONDS or not least:
            return ""
        if self.warm is None:
            self.warm = least
        self.most = max(self.most, least)
        if least - self.warm <= MOST_GROWTH:
            return ""
        return f"memory: from {self.warm / MEBI:.1f} to {least / MEBI:.1f} MiB after {age / 60:.0f} minutes"


class Soak:
    """One run: the doubles, the daemon's process, and what came of it."""

    def __init__(self, node: ChurningNode, run: DaemonProcess, api: ApiServer) -> None:
        self.node = node
        self.run = run
        self.course = Course(node, run)
        run.meanwhile = self.course.step
        self.faults: Counter[str] = Counter()
        self.memory = Memory()
        self._api = api
        self._table = faults()
        self._told = 0
        self._counts = [Counter[str]()]
        """Of the reports of the last `WINDOW`."""

    def turn(self) -> None:
        """Let the node run for some seconds, then make a fault for a while."""
        node, pods = (
            self.node,
            len(self.node.lives),
        )  # many may end between two cycles, and their files close with the next one
        self.course.go(node.random.uniform(*CALM_SECONDS))
        fault = node.random.choice(self._table)
        self.faults[fault.area] += 1
        if node.random.random() < 0.1:
            self.faults["SIGKILL and start"] += 1
            self.run.crash()
        with fault.context(cast("Run", self.run)):
            self.course.faulty = True
            self.course.go(node.random.uniform(*FAULT_SECONDS))
        self.course.faulty = False
        self.run.ask()
        self.memory.sample(self.run.figures["resident"])
        for text in node.broken[self._told :]:
            print(f"broken, at the latest during {fault.name!r}: {text}", flush=True)
        self._told = len(node.broken)
        self._api.forget_requests()
        node.stopped.clear()
        open_files, pods = self.run.figures["descriptors"], max(pods, len(node.lives))
        if open_files > MOST_DESCRIPTORS + DESCRIPTORS_A_POD * pods:
            node.broken.append(f"descriptors: {open_files} with {pods} pods")

    def report(self, age: float) -> None:
        """Print figures, and judge law early over the last minutes: over an hour a quarter of one would not show.

        `age` is the time since the begin of the run in seconds.
        """
        self._api.store.compact()
        self._judge_early()
        if grown := self.memory.end_minute(age):
            self.node.broken.append(grown)
        self._counts = [*self._counts[1 - WINDOW :], self.node.counts.copy()]
        print(
            f"{dict(self.node.counts)}, {self.run.figures['cycles']} cycles, {self.faults.total()} faults, longest pressure "
            f"{self.course.longest:.1f} s, {len(self.node.lives)} pods, {self.run.figures['resident'] >> 20} MiB, "
            f"{self.run.figures['descriptors']} descriptors, {len(self.node.broken)} broken",
            flush=True,
        )

    def _judge_early(self) -> None:
        since = self.node.counts - self._counts[0]
        if since["killed by the kernel"] > since["evicted"] + BLIND_KILLS:
            self.node.broken.append(f"early: of the last reports {dict(since)}")

    def conclude(self, minutes: float) -> int:
        """Judge the run as a whole. Return 1 if a law was broken."""
        node, memory = self.node, self.memory
        self._judge_early()
        if memory.warm is not None:
            print(
                f"memory, the least of each minute: {memory.warm / MEBI:.1f} MiB after ten, then at most {memory.most / MEBI:.1f}"
            )
        print(
            f"{minutes:g} minutes: {dict(node.counts)}, {node.counts['begun'] / minutes / 60:.1f} pods a second, "
            f"{self.run.figures['cycles']} cycles, longest pressure {self.course.longest:.1f} s, {dict(self.faults)}"
        )
        print("\n".join(node.broken[:20]) or "no law was broken")
        return int(bool(node.broken))


def soak(folder: Path, *, minutes: float, seed: int) -> int:
    """Run; prints figures each minute. Returns 1 if a law was broken."""
    node = ChurningNode(folder, seed)
    with ExitStack() as stack:
        stack.enter_context(immutable_files_cleared(folder))
        api = node.api = stack.enter_context(ApiServer(folder))
        api.store.create("nodes", objects.node("n1", kubelet=False))
        endpoint = stack.enter_context(fake_runtime(folder / "s", node.answers(), threads=CALLS))
        (port,) = free_ports(1)
        run = stack.enter_context(DaemonProcess(node, endpoint, api, health=f"127.0.0.1:{port}"))
        stack.enter_context(flooded(port))
        this = Soak(node, run, api)
        begun = reported = time.monotonic()
        while (now := time.monotonic()) < begun + minutes * 60:
            this.turn()
            if now - reported > min(60.0, minutes * 20):
                reported = now
                this.report(now - begun)
        return this.conclude(minutes)


class Course:
    """Lets the node's time pass, and measures how long a pressure lasts, without the time in which there are faults."""

    def __init__(self, node: ChurningNode, run: DaemonProcess) -> None:
        self._node = node
        self._run = run
        self.faulty = False
        self.longest = 0.0
        self._lasted = 0.0
        self._before = time.monotonic()

    def go(self, seconds: float) -> None:
        """Let the pods begin, grow and end for so long."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            self.step()
            time.sleep(TICK_SECONDS)

    def step(self) -> None:
        """Let them do what is due."""
        self._node.tick()
        now = time.monotonic()
        hog = any(life.evictable and self._node._exceeded(life, now) for life in tuple(self._node.lives.values()))
        if not hog or self._node.available(owed=False) >= THRESHOLD:
            self._lasted = 0.0
        elif not self.faulty:
            self._lasted += now - self._before
        self._before = now
        self.longest = max(self.longest, self._lasted)
        if self._lasted > BOUND:
            self._node.broken.append(f"progress: under pressure for {BOUND:.0f} s: {self._run.figures['in flight']}")
            self._lasted = 0.0


def main() -> int:
    """Run what the arguments say."""
    parser = argparse.ArgumentParser(prog="make soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        return soak(Path(folder), minutes=args.minutes, seed=args.seed)


if __name__ == "__main__":
    sys.exit(main())
