"""Removes dead containers, their sandboxes and their logs.

Performs the selections of `core.gc.container_gc` in the kubelet's three phases, each on a fresh listing. A failed removal is
recorded and the next one follows, as in the kubelet; NotFound counts as removed. RemoveContainer may return while the runtime
still lists the container, so the second phase waits for at most a second until the list agrees. The bound matters: containerd
1.6 can list a container forever that it cannot find.
"""

from collections.abc import Callable, Iterable
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from threading import Event

from evictd.act.logs import PodLogs
from evictd.clients.cri import values
from evictd.clients.cri.client import CriClient
from evictd.core.gc import container_gc
from evictd.core.gc.container_gc import ContainerState, GCContainer, GCSandbox, PodLifecycles
from evictd.core.model.config import ContainerGCPolicy
from evictd.core.model.observation import Reclaim, ReclaimOutcome
from evictd.errors import EvictdError, RuntimeNotFoundError, RuntimeUnavailableError

UNKNOWN_STATE_GRACE_SECONDS = 30
"""Grace period, Kubernetes' default, for stopping a container of unknown state before its removal."""
_POLL_SECONDS = 0.02
_POLLS = 50


@dataclass(slots=True)
class _Run:
    """Result of one collection so far."""

    removed: set[str] = field(default_factory=set)
    freed_bytes: int = 0
    errors: list[str] = field(default_factory=list)

    def attempt(self, action: Callable[[], object]) -> bool:
        """Perform one removal and return whether it succeeded. An unavailable runtime ends the collection by its exception."""
        try:
            action()
        except RuntimeUnavailableError:
            raise
        except EvictdError as error:
            self.errors.append(str(error))
            return False
        return True


class ContainerCollector:
    """Removes dead containers, their sandboxes and logs on one runtime; blocking."""

    def __init__(self, client: CriClient, policy: ContainerGCPolicy, logs: PodLogs) -> None:
        self._client = client
        self.policy = policy
        self._logs = logs
        self._lost: frozenset[str] = frozenset()
        """Ids of containers that were removed but are still listed; removing again has no effect until the runtime restarts."""

    def collect(self, lifecycles: PodLifecycles, *, evict_terminated: bool, wall: int) -> ReclaimOutcome:
        """Run all phases (`GarbageCollect`); `wall` is nanoseconds since 1970, the clock of the runtime's stamps.

        `evict_terminated` is eviction's `DeleteAllUnusedContainers`. Errors of the runtime and of files are in the outcome.
        """
        run = _Run()
        try:
            confirmed = self._remove_containers(run, lifecycles, evict_terminated=evict_terminated, wall=wall)
            self._remove_sandboxes(run, confirmed, evict_terminated=evict_terminated)
            self._remove_logs(run, confirmed, wall)
        except EvictdError as error:
            run.errors.append(str(error))
        return ReclaimOutcome(
            action=Reclaim.CONTAINERS,
            freed_bytes=run.freed_bytes,
            removed=len(run.removed),
            error="; ".join(run.errors),
        )

    def collect_rotated_logs(self, wall: int, *, remove: bool) -> ReclaimOutcome:
        """Remove the rotated logs of running containers, or only return how many bytes that would free."""
        try:
            found = self._logs.rotated(wall, remove=remove)
        except EvictdError as error:
            return ReclaimOutcome(action=Reclaim.ROTATED_LOGS, error=str(error))
        if not remove:
            return ReclaimOutcome(action=Reclaim.ROTATED_LOGS, unused_bytes=found.size)
        return ReclaimOutcome(action=Reclaim.ROTATED_LOGS, freed_bytes=found.size, removed=found.files)

    def _remove_containers(
        self, run: _Run, lifecycles: PodLifecycles, *, evict_terminated: bool, wall: int
    ) -> PodLifecycles:
        # Containers first: the sandbox of each listed container is then in the second list.
        listed = self._client.list_containers()
        rows = self._client.list_sandboxes()
        sandboxes = _sandboxes(rows)
        containers = _containers((row for row in listed if row.id not in self._lost), rows)
        confirmed = container_gc.confirmed(lifecycles, sandboxes, containers)
        chosen = container_gc.evict_containers(
            containers, confirmed, self.policy, evict_terminated=evict_terminated, now=wall
        )
        layers = self._writable_layers() if chosen and evict_terminated else {}
        for container in chosen:
            if run.attempt(partial(self._remove, container)):
                run.removed.add(container.id)
                run.freed_bytes += layers.get(container.id, 0)
        return confirmed

    def _remove(self, container: GCContainer) -> None:
        """Remove one container, its logs first: if they cannot be removed, the container stays and is retried later."""
        if container.state is ContainerState.UNKNOWN:
            self._client.stop_container(container.id, UNKNOWN_STATE_GRACE_SECONDS)
        with suppress(RuntimeNotFoundError):  # listed but unknown to the runtime: its removal succeeds as well
            self._logs.remove_container_log(self._client.container_status(container.id).log_path)
        self._client.remove_container(container.id)

    def _writable_layers(self) -> dict[str, int]:
        """Bytes of each container's writable layer, if the runtime reports it; used only for `freed_bytes`."""
        try:
            stats = self._client.list_container_stats()
        except EvictdError:
            return {}
        return {row.id: row.writable_layer.used_bytes or 0 for row in stats if row.writable_layer is not None}

    def _remove_sandboxes(self, run: _Run, lifecycles: PodLifecycles, *, evict_terminated: bool) -> None:
        containers = self._listed_without(self._lost | run.removed, run.removed)
        rows = self._client.list_sandboxes()
        chosen = container_gc.evict_sandboxes(
            _sandboxes(rows), _containers(containers, rows), lifecycles, evict_terminated=evict_terminated
        )
        for sandbox in chosen:
            run.attempt(partial(self._remove_sandbox, sandbox))

    def _listed_without(self, gone: AbstractSet[str], awaited: AbstractSet[str]) -> list[values.CriContainer]:
        """List the containers after those in `awaited` have left the list, or after the longest wait."""
        listed = self._client.list_containers()
        for _ in range(_POLLS):
            if awaited.isdisjoint(row.id for row in listed):
                break
            Event().wait(_POLL_SECONDS)
            listed = self._client.list_containers()
        self._lost = frozenset(row.id for row in listed if row.id in gone)
        return [row for row in listed if row.id not in gone]

    def _remove_sandbox(self, sandbox: GCSandbox) -> None:
        self._client.stop_sandbox(sandbox.id)
        self._client.remove_sandbox(sandbox.id)

    def _remove_logs(self, run: _Run, lifecycles: PodLifecycles, wall: int) -> None:
        for name in container_gc.evict_pod_log_directories(self._logs.settled_names(wall), lifecycles):
            run.attempt(partial(self._logs.remove_directory, name))
        run.attempt(self._logs.remove_dangling_links)


def remove_dead_containers(client: CriClient, uid: str) -> None:
    """Remove the ended containers of an evicted pod, as the kubelet does as soon as they have ended; their logs stay.

    Raises `RuntimeUnavailableError`, or another `EvictdError` of the first that cannot be removed.
    """
    for row in client.list_containers(uid):
        if row.state is ContainerState.EXITED:
            client.remove_container(row.id)


def _sandboxes(rows: Iterable[values.CriSandbox]) -> tuple[GCSandbox, ...]:
    return tuple(
        GCSandbox(
            id=row.id,
            pod_uid=row.uid,
            created_at=row.created_at,
            ready=row.state is values.SandboxState.READY,
        )
        for row in rows
    )


def _containers(rows: Iterable[values.CriContainer], sandboxes: Iterable[values.CriSandbox]) -> tuple[GCContainer, ...]:
    """Convert to the core's containers; the pod is the sandbox's, or the label's if the sandbox is gone."""
    uids = {sandbox.id: sandbox.uid for sandbox in sandboxes}
    return tuple(
        GCContainer(
            id=row.id,
            pod_uid=uids.get(row.sandbox_id) or row.pod_uid,
            name=row.container_name or row.name,
            sandbox_id=row.sandbox_id,
            created_at=row.created_at,
            state=row.state,
        )
        for row in rows
    )
