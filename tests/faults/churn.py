"""The node of `make soak`: pods that begin, grow and end as time passes, and the laws of each stop."""

import random
import shutil
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import grpc
from cri_api.v1 import api_pb2 as pb

from evictd_testnode.tool import wait_for
from tests.faults.hostile import ANNOTATIONS, HOSTILE, PLANTED, STUCK_SECONDS, WITH_VOLUME, add_volumes, remove_files
from tests.faults.node_double import MACHINE, MEMORY, OF_API, FakeNode, FakePod
from tests.kube.api_server import ApiServer
from tests.trees import plant, v2

PODS_A_SECOND = 20
GROWTH_A_SECOND = 200 << 20
MADE_UP = 1.0
"""Seconds of a stall of the whole process for which pods begin and grow afterwards: more would make the next stall."""
BASE, CAPACITY, THRESHOLD = 3_000_000_000, 16_384_000_000, 1 << 30
SETTLED = 2.0
"""Seconds for which something is true before evictd must know it: a cycle reads, decides and acts on one reading."""
FAULT_SECONDS = (0.2, 2.0)
LATE = SETTLED + FAULT_SECONDS[1]
"""Seconds by which a stop may come after the shortage that it was decided for: one cycle, and a fault that holds up the call."""
CRITICAL = 2_000_000_000


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
        self.counts: Counter[str] = Counter()
        self.api: ApiServer | None = None
        self._short: list[float] = []  # the times at which the node was short, counting what victims owe
        self._next = self._ticked = time.monotonic()
        super().__init__(folder)

    def add(self, pod: FakePod) -> None:
        if not isinstance(pod, Life):  # those that every double begins with
            return
        self.pods[pod.key] = pod
        container, new = v2(pod.used, anon=pod.used, pids=2), self.folder / "new" / pod.uid
        plant(new, v2(pod.used, anon=pod.used, pids=3, below={f"c-{pod.key}": container}))
        new.rename(self.cgroup(pod.key))  # no reader sees a part of it, as with the kernel's

    def refresh_cgroups(self) -> None:
        """Remove the cgroups of pods that have ended."""
        for key in [pod.key for pod in tuple(self.pods.values()) if not pod.running]:
            old = self.folder / "new" / f"old-{key}"
            with suppress(FileNotFoundError):
                self.cgroup(key).rename(old)
            shutil.rmtree(old, ignore_errors=True)

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
                self.write(str(path / "memory.current"), f"{life.used:020}\n")
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
        if life.hostile in WITH_VOLUME:
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
