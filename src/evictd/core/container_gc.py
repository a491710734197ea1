"""Which dead containers, sandboxes and log directories may go.

The kubelet's container collector (`pkg/kubelet/kuberuntime/kuberuntime_gc.go`, spec 7.5) as three functions from a
listing to a selection; `act.collect` performs them in this order, each over a fresh listing, because a sandbox is free
only when its containers are gone. A live pod keeps its newest dead container of each name, under pressure too: somebody
wants to read its logs.

Times are wall-clock nanoseconds since the epoch, as the runtime stamps them.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import Enum

from evictd.core.config import ContainerGCPolicy
from evictd.core.duration import MINUTE
from evictd.core.pod import Pod

GC_PERIOD = MINUTE
"""How often dead containers are collected, pressure or not."""


_TERMINAL_PHASES = frozenset({"Succeeded", "Failed"})


class ContainerState(Enum):
    """CRI's container states by their names on the wire."""

    CREATED = "CONTAINER_CREATED"
    RUNNING = "CONTAINER_RUNNING"
    EXITED = "CONTAINER_EXITED"
    UNKNOWN = "CONTAINER_UNKNOWN"


class PodFate(Enum):
    """What is known of the pod a container belonged to (the kubelet's pod worker)."""

    ACTIVE = "active"
    TERMINATED = "terminated"
    """It will not run again, but is still an object: its containers may go when eviction asks."""
    REMOVED = "removed"
    """Gone from all sources, or evicted: nothing of it is needed any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Container:
    """A container as the runtime lists it."""

    id: str
    pod_uid: str
    name: str
    sandbox_id: str
    created_at: int
    state: ContainerState


@dataclass(frozen=True, slots=True, kw_only=True)
class Sandbox:
    """A pod sandbox as the runtime lists it."""

    id: str
    pod_uid: str
    created_at: int
    ready: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PodFates:
    """The fate of each pod by uid. A pod of which nobody knows is gone, once all sources of pods were heard."""

    by_uid: Mapping[str, PodFate]
    all_sources_ready: bool = True
    awaited: frozenset[tuple[str, str]] = frozenset()
    """Namespace and name of pods that are to run here, whose uid nobody can tell before they have a sandbox."""

    def of(self, uid: str) -> PodFate:
        """Look up one pod; active where in doubt."""
        unknown = PodFate.REMOVED if self.all_sources_ready else PodFate.ACTIVE
        return self.by_uid.get(uid, unknown)

    def removable(self, uid: str, *, evict_terminated: bool) -> bool:
        """Whether everything dead of this pod may go (`ShouldPodContentBeRemoved`, `ShouldPodRuntimeBeRemoved`)."""
        fate = self.of(uid)
        return fate is PodFate.REMOVED or (evict_terminated and fate is PodFate.TERMINATED)


def with_api_pods(fates: PodFates, pods: Iterable[Pod] | None) -> PodFates:
    """Add what the API server says to what the runtime does: an object keeps its logs and its newest dead containers.

    `fates` are the runtime's; what runs there is active whatever the API says. `pods` is `None` until the first list has
    come: then one source was not heard, and nobody counts as gone.
    """
    if pods is None:
        return replace(fates, all_sources_ready=False)
    known = {pod.uid: PodFate.TERMINATED if pod.phase in _TERMINAL_PHASES else PodFate.ACTIVE for pod in pods}
    local = {uid: fate for uid, fate in fates.by_uid.items() if uid not in known or fate is not PodFate.TERMINATED}
    return replace(fates, by_uid={**known, **local})


def confirmed(fates: PodFates, sandboxes: Iterable[Sandbox], containers: Iterable[Container]) -> PodFates:
    """Let what is alive now outvote what was known a moment ago: fates are older than the listing they are applied to.

    A pod with a ready sandbox that nobody knew, or that has a container which did not exit, is active. One that is known
    to be removed stays so: it is on its way out.
    """
    alive = {sandbox.pod_uid for sandbox in sandboxes if sandbox.ready}
    moving = {container.pod_uid for container in containers if container.state is not ContainerState.EXITED}
    risen = {
        uid for uid in alive if uid not in fates.by_uid or (uid in moving and fates.by_uid[uid] is PodFate.TERMINATED)
    }
    if not risen:
        return fates
    return replace(fates, by_uid={**fates.by_uid, **dict.fromkeys(risen, PodFate.ACTIVE)})


def evict_containers(
    containers: Iterable[Container],
    fates: PodFates,
    policy: ContainerGCPolicy,
    *,
    evict_terminated: bool,
    now: int,
) -> tuple[Container, ...]:
    """Choose the dead containers to remove, in this order (`evictContainers`)."""
    chosen: list[Container] = []
    units = _evict_units(containers, now - policy.min_age)
    if fates.all_sources_ready:
        for uid, name in tuple(units):
            if fates.removable(uid, evict_terminated=evict_terminated):
                chosen += units.pop((uid, name))
    if policy.max_per_pod_container >= 0:
        chosen += _enforce_per_unit(units, policy.max_per_pod_container)
    if 0 <= policy.max_containers < _total(units):
        chosen += _enforce_per_unit(units, max(1, policy.max_containers // len(units)))
        oldest = sorted((container for unit in units.values() for container in unit), key=_age)
        chosen += oldest[: max(0, len(oldest) - policy.max_containers)]
    return tuple(chosen)


def evict_sandboxes(
    sandboxes: Iterable[Sandbox], containers: Iterable[Container], fates: PodFates, *, evict_terminated: bool
) -> tuple[Sandbox, ...]:
    """Choose the sandboxes to remove (`evictSandboxes`): inactive ones, but the newest of a pod that is still wanted.

    A sandbox is active while it is ready or any container, dead or alive, is still listed in it.
    """
    occupied = {container.sandbox_id for container in containers}
    by_pod: dict[str, list[Sandbox]] = {}
    for sandbox in sandboxes:
        by_pod.setdefault(sandbox.pod_uid, []).append(sandbox)
    chosen: list[Sandbox] = []
    for uid, members in by_pod.items():
        members.sort(key=_age)
        spared = 0 if fates.removable(uid, evict_terminated=evict_terminated) else 1
        older = members[: len(members) - spared]
        chosen += (sandbox for sandbox in older if not sandbox.ready and sandbox.id not in occupied)
    return tuple(chosen)


def evict_pod_log_directories(names: Iterable[str], fates: PodFates) -> tuple[str, ...]:
    """Choose the entries of the pod log directory whose pod is gone (`evictPodLogsDirectories`).

    An entry is `<namespace>_<name>_<uid>`; one without an underscore is not ours. The kubelet makes it before the sandbox.
    """
    if not fates.all_sources_ready:
        return ()
    return tuple(name for name in names if "_" in name and _gone(name, fates))


def _gone(entry: str, fates: PodFates) -> bool:
    owner, _, uid = entry.rpartition("_")
    namespace, _, name = owner.partition("_")
    return fates.of(uid) is PodFate.REMOVED and (namespace, name) not in fates.awaited


_Units = dict[tuple[str, str], list[Container]]


def _evict_units(containers: Iterable[Container], newest: int) -> _Units:
    """Group what is dead and old enough by pod and container name, oldest first (`evictableContainers`)."""
    units: _Units = {}
    for container in containers:
        if container.state is not ContainerState.RUNNING and container.created_at <= newest:
            units.setdefault((container.pod_uid, container.name), []).append(container)
    for unit in units.values():
        unit.sort(key=_age)
    return units


def _enforce_per_unit(units: _Units, most: int) -> list[Container]:
    """Cut each unit down to its newest ones; gives what was cut off."""
    surplus: list[Container] = []
    for unit in units.values():
        cut = max(0, len(unit) - most)
        surplus += unit[:cut]
        del unit[:cut]
    return surplus


def _total(units: _Units) -> int:
    return sum(map(len, units.values()))


def _age(item: Container | Sandbox) -> tuple[int, str]:
    return item.created_at, item.id
