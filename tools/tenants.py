"""Makes tenants for the search of `tools.adversary`, changes them, and makes a world of each.

A tenant may create up to four pods with any behaviours, owners, grace periods and budgets of its own. Its neighbours are six pods
that stay within their requests.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from random import Random
from typing import Any

MIB, GIB = 1 << 20, 1 << 30
NEIGHBOURS = 6
MOST_PODS = 4
MOST_TAKES = 3
MOST_REQUESTED = GIB
"""What all pods of a tenant request together: the scheduler binds no more to the node."""
CAPACITY: Mapping[str, int] = {
    "memory": 3 * GIB, "memoryVolume": 3 * GIB, "pageCache": 3 * GIB, "processes": 8192, "layer": 40 * GIB,
    "logs": 40 * GIB, "volume": 40 * GIB, "hostPath": 40 * GIB, "unlinked": 40 * GIB, "layerInodes": 2_000_000,
    "volumeInodes": 2_000_000, "hostPathInodes": 2_000_000,
}  # fmt: skip
"""What the node has of each usage."""
FILES_OF_THE_NODE = frozenset({"hostPath", "hostPathInodes"})
"""What only a pod with a hostPath volume takes, which the Pod Security Standard `baseline` refuses."""
SLOWEST, FASTEST = 1 / 2000, 1 / 4
"""The least and most that a behaviour takes in a second, as parts of what the node has: of memory 1.5 MiB and 768 MiB."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Take:
    """One behaviour that takes something; amounts and rates are parts of what the node has, times in seconds."""

    kind: str
    of: str
    amount: float
    rate: float
    start: int
    duration: int
    pause: int

    @property
    def document(self) -> dict[str, Any]:
        """The entry of `behaviours` in a world file."""
        has, start = CAPACITY[self.of], f"{self.start}s"
        amount, rate = max(int(has * self.amount), 1), max(int(has * self.rate), 1)
        match self.kind:
            case "grow":
                return {"grow": {"of": self.of, "rate": rate, "start": start}}
            case "growTo":
                return {"grow": {"of": self.of, "rate": rate, "start": start, "bound": amount}}
            case "leakAndRelease":
                # A world refuses a peak that is reached in less than a second.
                return {"leakAndRelease": {"of": self.of, "rate": min(rate, amount), "peak": amount, "start": start}}
            case "burst":
                times = {"duration": f"{self.duration}s", "every": f"{self.duration + self.pause}s"}
                return {"burst": {"of": self.of, "amount": amount, "rate": rate, "start": start, **times}}
            case _:
                return {"takeRest": {"rate": max(int(CAPACITY["memory"] * self.rate), 1), "start": start}}


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantPod:
    """One pod of a tenant."""

    takes: tuple[Take, ...]
    request: int
    """Bytes of memory."""
    grace: int
    ignores_term: bool
    recreated: bool
    delay: int
    tolerates: bool
    guarded: bool
    """Whether a budget of the tenant's own allows no eviction of it."""

    def document(self, name: str) -> dict[str, Any]:
        """The entry of `pods` in a world file."""
        behaviours = [each.document for each in self.takes]
        return {
            "name": name,
            "owner": f"ReplicaSet/{name}",
            "culprit": True,
            "requests": {"memory": self.request},
            "volumes": [{"name": "data"}],
            "terminationGracePeriodSeconds": self.grace,
            "behaviours": [*behaviours, {"ignoresTerm": {}}] if self.ignores_term else behaviours,
        }


Tenant = tuple[TenantPod, ...]


@dataclass(frozen=True, slots=True)
class Imagination:
    """Thinks up tenants, from random numbers and what they may take."""

    random: Random
    usages: tuple[str, ...]

    def take(self) -> Take:
        """Return any behaviour."""
        random = self.random
        return Take(
            kind=random.choice(("grow", "growTo", "leakAndRelease", "burst", "takeRest")),
            of=random.choice(self.usages),
            amount=random.uniform(0.05, 1),
            rate=SLOWEST * (FASTEST / SLOWEST) ** random.random(),
            start=random.choice((0, 0, 10, 60)),
            duration=random.choice((5, 20, 60, 120)),
            pause=random.choice((5, 30, 70, 300)),
        )

    def pod(self) -> TenantPod:
        """Return any pod."""
        random = self.random
        return TenantPod(
            takes=tuple(self.take() for _ in range(random.randint(1, MOST_TAKES))),
            request=random.choice((0, 16 * MIB, 64 * MIB, 256 * MIB, GIB)),
            grace=random.choice((0, 30, 3600)),
            ignores_term=random.random() < 0.5,
            recreated=random.random() < 0.7,
            delay=random.choice((0, 2, 10)),
            tolerates=random.random() < 0.7,
            guarded=random.random() < 0.3,
        )

    def tenant(self) -> Tenant:
        """Return any tenant; most have one pod."""
        return tuple(self.pod() for _ in range(self.random.choice((1, 1, 1, 2, MOST_PODS))))

    def changed(self, tenant: Tenant) -> Tenant:
        """Return a tenant that differs in one pod, or has one more or less."""
        place = self.random.randrange(len(tenant))
        others, turn = (*tenant[:place], *tenant[place + 1 :]), self.random.random()
        if turn < 0.1 and others:
            return others
        if turn < 0.2 and len(tenant) < MOST_PODS:
            return (*tenant, self.pod())
        return (*others, self._changed_pod(tenant[place]))

    def _changed_pod(self, pod: TenantPod) -> TenantPod:
        if self.random.random() < 0.4:
            names = ("request", "grace", "ignores_term", "recreated", "delay", "tolerates", "guarded")
            name = self.random.choice(names)
            return replace(pod, **{name: getattr(self.pod(), name)})
        place = self.random.randrange(len(pod.takes))
        others, turn = (*pod.takes[:place], *pod.takes[place + 1 :]), self.random.random()
        if turn < 0.15 and others:
            return replace(pod, takes=others)
        if turn < 0.3 and len(pod.takes) < MOST_TAKES:
            return replace(pod, takes=(*pod.takes, self.take()))
        return replace(pod, takes=(*others, self._changed_take(pod.takes[place])))

    def _changed_take(self, take: Take) -> Take:
        random = self.random
        if random.random() < 0.3:
            amount = min(max(take.amount * random.uniform(0.6, 1.6), 0.01), 1.0)
            rate = min(max(take.rate * random.uniform(0.4, 2.5), SLOWEST), FASTEST)
            return replace(take, amount=amount, rate=rate)
        name = random.choice(("kind", "of", "amount", "rate", "start", "duration", "pause"))
        return replace(take, **{name: getattr(self.take(), name)})


def world_document(tenant: Tenant, minutes: int) -> dict[str, Any]:
    """Return the world file of a tenant beside its neighbours; it lasts `minutes`."""
    names = [f"tenant-{number}" for number in range(len(tenant))]
    pods, requested = list[dict[str, Any]](), 0
    for pod, name in zip(tenant, names, strict=True):
        request = min(pod.request, MOST_REQUESTED - requested)
        requested += request
        pods.append(replace(pod, request=request).document(name))
    owners = [
        {"name": f"ReplicaSet/{name}", "delay": f"{pod.delay}s", "tolerates": pod.tolerates}
        for pod, name in zip(tenant, names, strict=True)
        if pod.recreated
    ]
    guarded = [f"default/{name}" for pod, name in zip(tenant, names, strict=True) if pod.guarded]
    hard = {"memory.available": "200Mi", "nodefs.available": "10%", "nodefs.inodesFree": "5%", "pid.available": "10%"}
    nodefs = {"capacity": "40Gi", "inodes": CAPACITY["layerInodes"], "used": "4Gi", "inodesUsed": 200_000}
    return {
        "kind": "World",
        "name": "tenant",
        "description": "Found by make adversary.",
        "config": {"evictionHard": hard},
        "duration": f"{minutes}m",
        "node": {"memory": "3Gi", "pids": CAPACITY["processes"], "nodefs": nodefs},
        "pods": [*_neighbours(), *pods],
        "owners": owners,
        "apiServer": {"budgets": [{"pods": guarded, "allowed": 0}] if guarded else []},
    }


def _neighbours() -> Iterator[dict[str, Any]]:
    holds = {"memory": "200Mi", "volume": "500Mi", "processes": 20, "volumeInodes": 5000}
    yield {
        "name": "neighbour",
        "count": NEIGHBOURS,
        "requests": {"memory": "256Mi", "ephemeral-storage": "1Gi"},
        "volumes": [{"name": "data"}],
        "behaviours": [{"hold": {"of": of, "amount": amount}} for of, amount in holds.items()],
    }
