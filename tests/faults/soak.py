"""Runs the real loop for an hour beside pods that come and go: `make soak` (ARGS='--minutes N --seed S').

Twenty pods a second begin on a node double that belongs to an API server double; some grow beyond their requests and put the node
under pressure, and random faults of the runtime, the kernel's files, the API server and the daemon itself come and go. Each stop
of a pod and each moment is checked from outside, by what the node knows and not by what evictd says:

* fairness: no pod within its request is stopped while an evictable pod has exceeded its own for `SETTLED` seconds;
* thrift: no pod is stopped where the memory of earlier victims, which comes back late, has been enough for `LATE` seconds;
* protection: no critical pod is stopped;
* progress: no pressure lasts longer than `BOUND` seconds without a fault while a pod exceeds its request;
* early: the kernel's OOM killer takes fewer pods than evictd, although each fault makes evictd blind for up to two seconds;
* the descriptors and the memory of the process do not grow.

Beside them one pod of each kind of `hostile.HOSTILE` runs at any time and is replaced when it ends, each beyond its request and
growing, and another process floods the health page: no law may break for their sake.
"""

import argparse
import random
import resource
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import grpc
from cri_api.v1 import api_pb2 as pb

from evictd.demo.tool import wait_for
from tests.cluster.control_plane import free_ports
from tests.faults.cri_server import fake_runtime
from tests.faults.harness import Fault, Run
from tests.faults.hostile import ANNOTATIONS, HOSTILE, PLANTED, STUCK_SECONDS, add_volumes, flooded, remove_files
from tests.faults.node_double import MACHINE, MEMORY, OF_API, FakeNode, FakePod
from tests.faults.table import API, KERNEL, RUNTIME
from tests.kube import objects
from tests.kube.api_server import ApiServer

PODS_A_SECOND = 20
GROWTH_A_SECOND = 200 << 20
MADE_UP = 1.0
"""Seconds of a stall of the whole process for which pods begin and grow afterwards: more would make the next stall."""
BASE, CAPACITY, THRESHOLD = 3_000_000_000, 16_384_000_000, 1 << 30
SETTLED = 2.0
"""Seconds for which something is true before evictd must know it: a cycle reads, decides and acts on one reading."""
BOUND = 30.0
FAULT_SECONDS = (0.2, 2.0)
CALM_SECONDS = (1.0, 5.0)
LATE = SETTLED + FAULT_SECONDS[1]
"""Seconds by which a stop may come after the shortage that it was decided for: one cycle, and a fault that holds up the call."""
BLIND_KILLS = 5
"""Pods that the kernel may kill in a run too short to compare."""
CRITICAL = 2_000_000_000
MOST_GROWTH = 300 << 20
"""Bytes by which the process may grow after its first sixth: the doubles of the servers live in it as well."""
MOST_DESCRIPTORS, DESCRIPTORS_A_POD = 200, 10
"""Descriptors of the process: the files of the cgroups of each pod stay open."""


@dataclass
class Life(FakePod):
    """A pod with a request, and with a time to live."""

    priority: int = 0
    grows_to: int = 0
    ends: float = 0.0
    hostile: str = ""
    """One of `HOSTILE`; empty for the other pods."""
    exceeds_since: float | None = None
    ending: float | None = None
    """When the last process of a stopped pod will have ended. Its memory is back by then: the kernel frees it before it drops the
    process from cgroup.procs (measured with 1.5 GiB, which took 1.6 to 5.8 s on a busy machine)."""

    @property
    def stays(self) -> bool:
        """Whether it runs and was not stopped."""
        return self.running and self.ending is None

    @property
    def evictable(self) -> bool:
        return self.priority < CRITICAL and self.stays


class ChurningNode(FakeNode):
    """The node double with pods that come, grow and go, and the laws of each stop."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.random = random.Random(seed)
        self.lives: dict[str, Life] = {}
        self.broken: list[str] = []
        self.lock = threading.RLock()
        self.counts: Counter[str] = Counter()
        self.api: ApiServer | None = None
        self._short: list[float] = []  # the times at which the node was short, counting what victims owe
        self._next = self._ticked = time.monotonic()
        super().__init__(folder)

    def add(self, pod: FakePod) -> None:
        if isinstance(pod, Life):  # not those that every double begins with
            super().add(pod)

    def refresh(self) -> None:
        """Write the node's memory as its pods use it."""
        if MEMORY not in self.kept:
            used = sum(life.used for life in tuple(self.lives.values()))
            self.write("cgroup/kubepods/memory.current", f"{used:020}\n")
            self.write(MEMORY, f"anon {BASE + used:020}\nfile 0\nkernel 5\ninactive_file 0\n")

    def available(self, *, owed: bool) -> int:
        """What is left, and with what victims still owe."""
        lives = tuple(self.lives.values())
        return CAPACITY - BASE - sum(life.used for life in lives if life.stays or not owed)

    def tick(self) -> None:
        """Let pods begin, grow and end as time passes."""
        now = time.monotonic()
        self._next = max(self._next, now - MADE_UP)
        growth, self._ticked = int(min(now - self._ticked, MADE_UP) * GROWTH_A_SECOND), now
        with self.lock:
            while self._next < now:
                self._next += 1 / PODS_A_SECOND
                self._begin(now)
            self._begin_hostile(now)
            for life in tuple(self.lives.values()):
                self._live(life, now, growth)
            self._kill_for_want_of_memory()
            if self.available(owed=True) < THRESHOLD:
                self._short.append(now)
            self._short = [at for at in self._short if now - at < LATE]
        self.refresh()

    def _begin(self, now: float) -> None:
        chance, number = self.random.random(), self.counts["begun"]
        self.counts["begun"] += 1
        used = self.random.randrange(20 << 20, 60 << 20)
        ends = now + self.random.uniform(2, 8)
        life = Life(f"p{number}", used, request=used * 2, ends=ends, annotations=dict(OF_API))
        if chance < 0.015:
            life.grows_to, life.ends = self.random.randrange(2 << 30, 5 << 30), now + 40
        elif chance < 0.1:
            life.request = used // 2
        elif chance < 0.13:
            life.priority = CRITICAL + 1
            life.request = used // 2
        self._enter(life)

    def _begin_hostile(self, now: float) -> None:
        """Keep one pod of each kind; it begins small and takes a hog's share in its life."""
        for kind in set(HOSTILE) - {life.hostile for life in self.lives.values()}:
            self.counts[f"hostile {kind}"] += 1
            name = f"{kind}-{self.counts[f'hostile {kind}']}"
            life = Life(name, 40 << 20, request=30 << 20, ends=now + 60, annotations=dict(OF_API), hostile=kind)
            life.grows_to = self.random.randrange(200 << 20, 1 << 30)
            life.annotations |= ANNOTATIONS.get(kind, {})
            self._enter(life)
            if kind in PLANTED:
                PLANTED[kind](self, life)

    def _enter(self, life: Life) -> None:
        self.lives[life.key] = life
        self.add(life)
        if self.api is not None:
            made = life.api_object()
            made["spec"]["priority"] = life.priority
            add_volumes(life.hostile, made)
            self.api.store.create("pods", made)

    def _live(self, life: Life, now: float, growth: int) -> None:
        if life.stays and life.used < life.grows_to:
            life.used = min(life.grows_to, life.used + growth)
            for path in (self.cgroup(life.key), self.cgroup(life.key) / f"c-{life.key}"):
                (path / "memory.current").write_text(f"{life.used}\n")
        exceeds = life.stays and life.used > life.request
        life.exceeds_since = (life.exceeds_since or now) if exceeds else None
        if now > (life.ends if life.ending is None else life.ending):
            self._remove(life)

    def _kill_for_want_of_memory(self) -> None:
        """End pods as the kernel's OOM killer does: more use than the machine has could not be true, and is not read."""
        while self.available(owed=False) < 0:
            victim = max(self.lives.values(), key=lambda life: life.oom_score_adj + 1000 * life.used // MACHINE)
            self.counts["killed by the kernel"] += 1
            self._remove(victim)

    def _remove(self, life: Life) -> None:
        life.running = life.ready = False
        del self.lives[life.key]
        self.refresh_cgroups()
        if life.hostile == "files":
            remove_files(self, life)
        self.pods.pop(life.key, None)
        if self.api is not None and self.api.store.get(("pods", "ns", life.name)) is not None:
            self.api.store.remove(("pods", "ns", life.name))

    def _stop(self, pod: FakePod) -> None:
        """Check the laws: evictd stops this pod."""
        now = time.monotonic()
        with self.lock:
            life = self.lives.get(pod.key)
            if life is None or not life.stays:
                return  # asked again, or the pod has ended meanwhile
            self.counts["evicted"] += 1
            hogs = [each.name for each in self.lives.values() if each.evictable and self._exceeded(each, now)]
            if life.priority >= CRITICAL:
                self.broken.append(f"protection: {life}")
            if life.exceeds_since is None and life.used <= life.request and hogs:
                self.broken.append(f"fairness: {life} while {hogs[:5]} exceed their requests")
            if not self._short:
                self.broken.append(f"thrift: {life}; available {self.available(owed=False)}, with what is owed "
                                   f"{self.available(owed=True)}")  # fmt: skip
            life.ending = now + (STUCK_SECONDS if life.hostile == "stuck" else self.random.uniform(0, 0.8))

    def _stop_container(self, request: bytes, context: grpc.ServicerContext) -> bytes:
        """Answer when the container has ended, as a runtime does."""
        key = self._find(pb.StopContainerRequest.FromString(request).container_id, context).key
        answer = super()._stop_container(request, context)
        wait_for(lambda: key not in self.lives, seconds=10)
        return answer

    def _exceeded(self, life: Life, now: float) -> bool:
        return life.exceeds_since is not None and now - life.exceeds_since > SETTLED


def faults() -> list[Fault]:
    """The faults of the table that are over when they end, and not those of its two pods."""
    return [*API, *(fault for fault in KERNEL if "of a pod" not in fault.name), *RUNTIME]


def soak(folder: Path, *, minutes: float, seed: int) -> int:
    """Run; prints figures each minute. Returns 1 if a law was broken."""
    node, until = ChurningNode(folder, seed), time.monotonic() + minutes * 60
    table, counts, now = faults(), Counter[str](), (0, 0)
    with ExitStack() as stack:
        api = node.api = stack.enter_context(ApiServer(folder))
        api.store.create("nodes", objects.node("n1", kubelet=False))
        endpoint = stack.enter_context(fake_runtime(folder / "s", node.answers()))
        (port,) = free_ports(1)
        run = stack.enter_context(Run(node, endpoint, api, health=f"127.0.0.1:{port}"))
        stack.enter_context(flooded(port))
        course = Course(node, run)
        begin: tuple[int, int] | None = None
        reported, told = time.monotonic(), 0
        while time.monotonic() < until:
            pods = len(node.lives)  # many may end between two cycles, and their files close with the next one
            course.go(node.random.uniform(*CALM_SECONDS))
            fault = node.random.choice(table)
            counts[fault.area] += 1
            if node.random.random() < 0.1:
                counts["SIGKILL and start"] += 1
                run.crash()
                run.start()
            with fault.context(run):
                course.faulty = True
                course.go(node.random.uniform(*FAULT_SECONDS))
            course.faulty = False
            for text in node.broken[told:]:
                print(f"broken, at the latest during {fault.name!r}: {text}", flush=True)
            told = len(node.broken)
            api.forget_requests()
            run.logged.clear()
            now = (_resident_bytes(), len(list(Path("/proc/self/fd").iterdir())))
            pods = max(pods, len(node.lives))
            if now[1] > MOST_DESCRIPTORS + DESCRIPTORS_A_POD * pods:
                node.broken.append(f"descriptors: {now[1]} with {pods} pods")
            if time.monotonic() - reported > min(60.0, minutes * 20):
                reported = time.monotonic()
                api.store.compact()  # the double's history, not a part of the daemon
                if until - reported < minutes * 50:
                    begin = begin or now
                print(_figures(node, run, counts, course, now), flush=True)
        if node.counts["killed by the kernel"] > node.counts["evicted"] + BLIND_KILLS:
            node.broken.append(f"early: {dict(node.counts)}")
        if begin is not None:
            print(f"memory: {begin[0] >> 20} MiB after the first sixth, {now[0] >> 20} MiB at the end")
            if now[0] - begin[0] > MOST_GROWTH:
                node.broken.append(f"memory: from {begin[0] >> 20} to {now[0] >> 20} MiB")
    print(
        f"{minutes:g} minutes: {dict(node.counts)}, {node.counts['begun'] / minutes / 60:.1f} pods a second, "
        f"{run.cycles} cycles, longest pressure {course.longest:.1f} s, {dict(counts)}"
    )
    print("\n".join(node.broken[:20]) or "no law was broken")
    return int(bool(node.broken))


def _resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def _figures(node: ChurningNode, run: Run, counts: Counter[str], course: "Course", now: tuple[int, int]) -> str:
    return (
        f"{dict(node.counts)}, {run.cycles} cycles, {sum(counts.values())} faults, longest pressure {course.longest:.1f} s, "
        f"{len(node.lives)} pods, {now[0] >> 20} MiB, {now[1]} descriptors, {len(node.broken)} broken"
    )


class Course:
    """Makes cycles, and measures how long a pressure lasts, without the time in which there are faults."""

    def __init__(self, node: ChurningNode, run: Run) -> None:
        self._node = node
        self._run = run
        self.faulty = False
        self.longest = 0.0
        self._lasted = 0.0

    def go(self, seconds: float) -> None:
        """Make cycles for so long."""
        until = (before := time.monotonic()) + seconds
        while (now := time.monotonic()) < until:
            self._node.tick()
            self._run.cycle()
            hog = any(life.evictable and self._node._exceeded(life, now) for life in self._node.lives.values())
            if not hog or self._node.available(owed=False) >= THRESHOLD:
                self._lasted = 0.0
            elif not self.faulty:
                self._lasted += now - before
            before = now
            self.longest = max(self.longest, self._lasted)
            if self._lasted > BOUND:
                self._node.broken.append(f"progress: under pressure for {BOUND:.0f} s: {self._run.describe()[:2000]}")
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
