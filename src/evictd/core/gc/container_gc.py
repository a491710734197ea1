"""Selects the dead containers, sandboxes and log directories to remove.

The kubelet's container collector (`pkg/kubelet/kuberuntime/kuberuntime_gc.go`) as three functions from a listing to a
selection. `act.gc.containers` calls them in this order, each on a fresh listing, because a sandbox can be removed only after its
containers. An active pod keeps the newest dead container of each name, also under pressure, for `kubectl logs --previous`.

Times are wall-clock nanoseconds since the epoch, as the runtime stamps them.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from enum import Enum

from evictd.core.frozen import frozen
from evictd.core.model.config import ContainerGCPolicy
from evictd.core.model.pod import Pod
from evictd.core.units.duration import MINUTE

GC_PERIOD = MINUTE
"""Interval of the periodic collection of dead containers, independent of pressure."""


class ContainerState(Enum):
    """State of a container, by its CRI name; an unknown state is treated as possibly running."""

    CREATED = "CONTAINER_CREATED"
    RUNNING = "CONTAINER_RUNNING"
    EXITED = "CONTAINER_EXITED"
    UNKNOWN = "CONTAINER_UNKNOWN"

    @property
    def may_run(self) -> bool:
        """Whether one of its processes may be running."""
        return self is ContainerState.RUNNING or self is ContainerState.UNKNOWN


class PodLifecycle(Enum):
    """State of the pod that a container belongs to (the kubelet's pod worker)."""

    ACTIVE = "active"
    TERMINATED = "terminated"
    """The pod will not run again, but its object exists: its containers are removed only under pressure."""
    REMOVED = "removed"
    """Gone from all sources, or evicted: everything of it may be removed."""


@frozen
class GCContainer:
    """A container as the runtime lists it."""

    id: str
    pod_uid: str
    name: str
    sandbox_id: str
    created_at: int
    state: ContainerState


@frozen
class GCSandbox:
    """A pod sandbox as the runtime lists it."""

    id: str
    pod_uid: str
    created_at: int
    ready: bool


@frozen
class PodLifecycles:
    """Lifecycle of each pod by uid. An unknown pod counts as removed once every source of pods was read."""

    by_uid: Mapping[str, PodLifecycle]
    all_sources_ready: bool = True
    awaited: frozenset[tuple[str, str]] = frozenset()
    """Namespace and name of expected pods whose uid is unknown until they have a sandbox."""

    def of(self, uid: str) -> PodLifecycle:
        """Look up one pod; an unknown pod is active until every source was read."""
        unknown = PodLifecycle.REMOVED if self.all_sources_ready else PodLifecycle.ACTIVE
        return self.by_uid.get(uid, unknown)

    def removable(self, uid: str, *, evict_terminated: bool) -> bool:
        """Whether everything dead of this pod may be removed (`ShouldPodContentBeRemoved`, `ShouldPodRuntimeBeRemoved`)."""
        lifecycle = self.of(uid)
        return lifecycle is PodLifecycle.REMOVED or (evict_terminated and lifecycle is PodLifecycle.TERMINATED)


def with_api_pods(lifecycles: PodLifecycles, pods: Iterable[Pod] | None) -> PodLifecycles:
    """Merge the pods of the API server into the lifecycles found on the runtime.

    A pod whose object exists keeps its logs and its newest dead containers. A pod that runs is active, whatever the API server
    reports. `pods` is `None` until the first list: a source is then missing, and no pod counts as removed.
    """
    if pods is None:
        return replace(lifecycles, all_sources_ready=False)
    known = {pod.uid: PodLifecycle.TERMINATED if pod.terminal else PodLifecycle.ACTIVE for pod in pods}
    local = {
        uid: one for uid, one in lifecycles.by_uid.items() if uid not in known or one is not PodLifecycle.TERMINATED
    }
    return replace(lifecycles, by_uid={**known, **local})


def confirmed(
    lifecycles: PodLifecycles, sandboxes: Iterable[GCSandbox], containers: Iterable[GCContainer]
) -> PodLifecycles:
    """Correct lifecycles by a newer listing, because they were computed before it.

    An unknown pod with a ready sandbox becomes active, and so does a terminated pod with a ready sandbox and a container that has
    not exited. A removed pod stays removed: it is being stopped.
    """
    ready = {sandbox.pod_uid for sandbox in sandboxes if sandbox.ready}
    running = {container.pod_uid for container in containers if container.state is not ContainerState.EXITED}
    revived = {
        uid
        for uid in ready
        if uid not in lifecycles.by_uid or (uid in running and lifecycles.by_uid[uid] is PodLifecycle.TERMINATED)
    }
    if not revived:
        return lifecycles
    return replace(lifecycles, by_uid={**lifecycles.by_uid, **dict.fromkeys(revived, PodLifecycle.ACTIVE)})


def evict_containers(
    containers: Iterable[GCContainer],
    lifecycles: PodLifecycles,
    policy: ContainerGCPolicy,
    *,
    evict_terminated: bool,
    now: int,
) -> tuple[GCContainer, ...]:
    """Choose the dead containers to remove, in this order (`evictContainers`)."""
    chosen: list[GCContainer] = []
    units = _evict_units(containers, now - policy.min_age)
    if lifecycles.all_sources_ready:
        for uid, name in tuple(units):
            if lifecycles.removable(uid, evict_terminated=evict_terminated):
                chosen += units.pop((uid, name))
    if policy.max_per_pod_container >= 0:
        chosen += _enforce_per_unit(units, policy.max_per_pod_container)
    if 0 <= policy.max_containers < sum(map(len, units.values())):
        chosen += _enforce_per_unit(units, max(1, policy.max_containers // len(units)))
        oldest = sorted((container for unit in units.values() for container in unit), key=_age)
        chosen += oldest[: max(0, len(oldest) - policy.max_containers)]
    return tuple(chosen)


def evict_sandboxes(
    sandboxes: Iterable[GCSandbox],
    containers: Iterable[GCContainer],
    lifecycles: PodLifecycles,
    *,
    evict_terminated: bool,
) -> tuple[GCSandbox, ...]:
    """Choose the sandboxes to remove (`evictSandboxes`): inactive ones, except the newest of a pod that is not removable.

    A sandbox is active while it is ready or any container, dead or running, is listed in it.
    """
    occupied = {container.sandbox_id for container in containers}
    by_pod: dict[str, list[GCSandbox]] = {}
    for sandbox in sandboxes:
        by_pod.setdefault(sandbox.pod_uid, []).append(sandbox)
    chosen: list[GCSandbox] = []
    for uid, members in by_pod.items():
        members.sort(key=_age)
        kept = 0 if lifecycles.removable(uid, evict_terminated=evict_terminated) else 1
        older = members[: len(members) - kept]
        chosen += (sandbox for sandbox in older if not sandbox.ready and sandbox.id not in occupied)
    return tuple(chosen)


def evict_pod_log_directories(names: Iterable[str], lifecycles: PodLifecycles) -> tuple[str, ...]:
    """Choose the entries of the pod log directory whose pod is removed (`evictPodLogsDirectories`).

    An entry is `<namespace>_<name>_<uid>`; one without an underscore is no pod's. The kubelet makes the directory before the
    sandbox, so the directory of an expected pod stays.
    """
    if not lifecycles.all_sources_ready:
        return ()
    return tuple(name for name in names if "_" in name and _gone(name, lifecycles))


def _gone(entry: str, lifecycles: PodLifecycles) -> bool:
    owner, _, uid = entry.rpartition("_")
    namespace, _, name = owner.partition("_")
    return lifecycles.of(uid) is PodLifecycle.REMOVED and (namespace, name) not in lifecycles.awaited


_Units = dict[tuple[str, str], list[GCContainer]]


def _evict_units(containers: Iterable[GCContainer], newest: int) -> _Units:
    """Group dead containers of at least the minimum age by pod and container name, oldest first (`evictableContainers`)."""
    units: _Units = {}
    for container in containers:
        if container.state is not ContainerState.RUNNING and container.created_at <= newest:
            units.setdefault((container.pod_uid, container.name), []).append(container)
    for unit in units.values():
        unit.sort(key=_age)
    return units


def _enforce_per_unit(units: _Units, most: int) -> list[GCContainer]:
    """Keep the `most` newest containers of each unit; returns the others."""
    excess: list[GCContainer] = []
    for unit in units.values():
        cut = max(0, len(unit) - most)
        excess += unit[:cut]
        del unit[:cut]
    return excess


def _age(item: GCContainer | GCSandbox) -> tuple[int, str]:
    return item.created_at, item.id
