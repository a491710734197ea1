"""How dead containers, their sandboxes and their logs are removed.

Performs what `core.container_gc` chooses, in the kubelet's three phases, each over a fresh listing. A failure is noted and
the rest goes on, as in the kubelet; what is already gone has been removed. RemoveContainer answers before a runtime has
let go of everything, so the second phase waits, within bounds, until the list agrees: not longer, because containerd 1.6
may list a container for ever that it cannot find (spec/cri-with-containerd.md, section 6).
"""

from collections.abc import Callable, Iterable
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Event

from evictd.act.log_files import PodLogs
from evictd.clients.cri import CriClient, values
from evictd.clients.cri.values import CONTAINER_NAME_LABEL, POD_UID_LABEL
from evictd.core import container_gc
from evictd.core.config import ContainerGCPolicy
from evictd.core.container_gc import Container, ContainerState, PodFates, Sandbox
from evictd.core.observation import Reclaim, ReclaimOutcome
from evictd.errors import EvictdError, RuntimeNotFoundError, RuntimeUnavailableError

UNKNOWN_STATE_GRACE_SECONDS = 30
"""Kubernetes' default grace period: for a container of which not even the state is known."""
_POLL_SECONDS = 0.02
_POLLS = 50


@dataclass(slots=True)
class _Run:
    """What one collection has come to so far."""

    removed: set[str] = field(default_factory=set)
    freed_bytes: int = 0
    errors: list[str] = field(default_factory=list)

    def attempt(self, action: Callable[[], object]) -> bool:
        """Do one removal; a refusal is noted, a runtime that is away ends the collection."""
        try:
            action()
        except RuntimeUnavailableError:
            raise
        except EvictdError as error:
            self.errors.append(str(error))
            return False
        return True


class ContainerCollector:
    """Removes dead containers and what belongs to them on one runtime; blocks while it works."""

    def __init__(self, client: CriClient, policy: ContainerGCPolicy, logs: PodLogs) -> None:
        self._client = client
        self.policy = policy
        self._logs = logs
        self._lost: frozenset[str] = frozenset()
        """Removed, but still listed: asking again would change nothing until the runtime is restarted."""

    def collect(self, fates: PodFates, *, evict_terminated: bool, wall: int) -> ReclaimOutcome:
        """Run all phases (`GarbageCollect`); `wall` is the time since the epoch, on the clock the runtime stamps with.

        `evict_terminated` is eviction's `DeleteAllUnusedContainers`. Never raises for the runtime's or a file's faults.
        """
        run = _Run()
        try:
            confirmed = self._remove_containers(run, fates, evict_terminated=evict_terminated, wall=wall)
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

    def _remove_containers(self, run: _Run, fates: PodFates, *, evict_terminated: bool, wall: int) -> PodFates:
        # Containers before sandboxes: whoever is in the first list has its sandbox in the second.
        listed = self._client.list_containers()
        rows = self._client.list_sandboxes()
        sandboxes = _sandboxes(rows)
        containers = _containers((row for row in listed if row.id not in self._lost), rows)
        confirmed = container_gc.confirmed(fates, sandboxes, containers)
        chosen = container_gc.evict_containers(
            containers, confirmed, self.policy, evict_terminated=evict_terminated, now=wall
        )
        layers = self._writable_layers() if chosen and evict_terminated else {}
        for container in chosen:
            if run.attempt(lambda each=container: self._remove(each)):  # type: ignore[misc]
                run.removed.add(container.id)
                run.freed_bytes += layers.get(container.id, 0)
        return confirmed

    def _remove(self, container: Container) -> None:
        """Remove one container, its logs first: if they cannot go, the container stays and is tried again."""
        if container.state is ContainerState.UNKNOWN:
            self._client.stop_container(container.id, UNKNOWN_STATE_GRACE_SECONDS)
        with suppress(RuntimeNotFoundError):  # listed, but lost by the runtime: its removal is a success as well
            self._logs.remove_container_log(self._client.container_status(container.id).log_path)
        self._client.remove_container(container.id)

    def _writable_layers(self) -> dict[str, int]:
        """Bytes of each container's writable layer, as far as the runtime tells; only to say what was freed."""
        try:
            stats = self._client.list_container_stats()
        except EvictdError:
            return {}
        return {row.id: row.writable_layer.used_bytes or 0 for row in stats if row.writable_layer is not None}

    def _remove_sandboxes(self, run: _Run, fates: PodFates, *, evict_terminated: bool) -> None:
        containers = self._listed_without(self._lost | run.removed, run.removed)
        rows = self._client.list_sandboxes()
        chosen = container_gc.evict_sandboxes(
            _sandboxes(rows), _containers(containers, rows), fates, evict_terminated=evict_terminated
        )
        for sandbox in chosen:
            run.attempt(lambda each=sandbox: self._remove_sandbox(each))  # type: ignore[misc]

    def _listed_without(self, gone: AbstractSet[str], awaited: AbstractSet[str]) -> list[values.Container]:
        """List the containers once what was just removed is out of the list, or the wait for it is over."""
        listed = self._client.list_containers()
        for _ in range(_POLLS):
            if awaited.isdisjoint(row.id for row in listed):
                break
            Event().wait(_POLL_SECONDS)
            listed = self._client.list_containers()
        self._lost = frozenset(row.id for row in listed if row.id in gone)
        return [row for row in listed if row.id not in gone]

    def _remove_sandbox(self, sandbox: Sandbox) -> None:
        self._client.stop_sandbox(sandbox.id)
        self._client.remove_sandbox(sandbox.id)

    def _remove_logs(self, run: _Run, fates: PodFates, wall: int) -> None:
        for name in container_gc.evict_pod_log_directories(self._logs.settled_names(wall), fates):
            run.attempt(lambda each=name: self._logs.remove_directory(each))  # type: ignore[misc]
        run.attempt(self._logs.remove_dangling_links)


def _sandboxes(rows: Iterable[values.Sandbox]) -> tuple[Sandbox, ...]:
    return tuple(
        Sandbox(
            id=row.id,
            pod_uid=row.uid,
            created_at=row.created_at,
            ready=row.state is values.SandboxState.READY,
        )
        for row in rows
    )


def _containers(rows: Iterable[values.Container], sandboxes: Iterable[values.Sandbox]) -> tuple[Container, ...]:
    """Make the core's containers; the sandbox says whose they are, a label only where that is gone."""
    uids = {sandbox.id: sandbox.uid for sandbox in sandboxes}
    return tuple(
        Container(
            id=row.id,
            pod_uid=uids.get(row.sandbox_id) or row.labels.get(POD_UID_LABEL, ""),
            name=row.labels.get(CONTAINER_NAME_LABEL) or row.name,
            sandbox_id=row.sandbox_id,
            created_at=row.created_at,
            state=ContainerState(row.state.value),
        )
        for row in rows
    )
