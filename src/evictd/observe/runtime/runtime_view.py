"""Lists the container runtime's sandboxes and containers, with their cgroups, limits and statistics.

Two listings are made in every reading. A pod's cgroup and a container's limits never change, so the statuses that hold them are
requested once per id. A failed listing fails the whole reading, because "no pods" must never be confused with "no answer"; a
failed status is a problem of that id only.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import field, replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from evictd.clients.cri.values import (
    ContainerStatus,
    CriContainer,
    CriContainerStats,
    CriSandbox,
    FilesystemUsage,
    ImageFsInfo,
    SandboxState,
    SandboxStatus,
)
from evictd.core.frozen import frozen
from evictd.core.model.observation import Problem
from evictd.core.model.pod import Pod
from evictd.errors import EvictdError, RuntimeNotFoundError, RuntimeRefusedError, RuntimeUnavailableError
from evictd.observe.cgroups.cgroup import slice_path
from evictd.observe.runtime.listing import NO_SURROUNDINGS, CgroupPods, SignOfLife, read_listing

if TYPE_CHECKING:  # the client brings the whole gRPC library along
    from evictd.clients.cri.client import CriClient

T = TypeVar("T")
S = TypeVar("S", SandboxStatus, ContainerStatus)

_CONCURRENT_CALLS = 4
PATIENCE_SECONDS = 20
"""The time for requesting statuses of new ids in one reading; calls under way then still have their own deadline."""


@frozen
class RuntimeView:
    """One listing. `time` is the cycle's `now`; statistics are by container id, `None` if the call failed."""

    time: int
    sandboxes: tuple[CriSandbox, ...]
    containers: tuple[CriContainer, ...]
    statuses: Mapping[str, ContainerStatus] = field(default_factory=dict)
    """The requested statuses by container id, for limits, image and log file; their state may be out of date."""
    pod_cgroups: Mapping[str, str] = field(default_factory=dict)
    """The pods' own cgroups by pod uid, as paths from the root of each hierarchy."""
    stats: Mapping[str, CriContainerStats] | None = None
    image_fs: ImageFsInfo | None = None
    problems: tuple[Problem, ...] = ()
    wall: int | None = None
    """The wall clock at `time`, in nanoseconds; the runtime's time stamps are of the wall clock."""
    complete: bool = True
    """Whether the runtime listed everything; else only the pods that have a cgroup (`observe.runtime.listing`)."""
    current: bool = True
    """Whether the listings are of this cycle; else they are the last known ones, as of `time`."""


class RuntimeReader:
    """Reads one runtime repeatedly; caches what cannot change.

    The pods that have a cgroup are requested one by one where a listing of all pods is larger than one response may be. `alive`
    is called after each call or batch of calls, each of which takes at most `PATIENCE_SECONDS` and one deadline.
    """

    def __init__(
        self, client: "CriClient", *, pods: CgroupPods = NO_SURROUNDINGS, alive: SignOfLife = NO_SURROUNDINGS
    ) -> None:
        self._client = client
        self._pods = pods
        self._alive = alive
        self._cgroups: dict[str, str | None] = {}
        self._statuses: dict[str, ContainerStatus] = {}

    def read(
        self,
        now: int,
        *,
        with_stats: bool = True,
        with_image_fs: bool = True,
        described: Callable[[CriSandbox], bool] = lambda _: False,
    ) -> RuntimeView:
        """List everything; raises the runtime errors of `evictd.errors` if a listing fails.

        `with_stats` also requests the statistics, which cost the runtime some milliseconds per running container, and
        `with_image_fs` the filesystem of the images, which costs it one call.
        `described` selects pods whose spec is known from a manifest: their containers' statuses are not requested.
        """
        # The calls are made in turn in this thread: a node without a free PID gives no thread to wait for them with.
        problems: list[Problem] = []
        listing = read_listing(self._client, self._pods, problems, self._alive)
        rows, members = listing.sandboxes, listing.containers
        stats = _optional(self._client.list_container_stats, "container stats", problems) if with_stats else None
        self._alive.sign_of_life()
        image_fs = _optional(self._client.image_fs_info, "image filesystem", problems) if with_image_fs else None
        self._alive.sign_of_life()
        self._forget({row.id for row in rows}, {member.id for member in members})
        statuses = self._read_statuses(members, {row.id for row in rows if described(row)}, problems)
        self._alive.sign_of_life()
        pod_cgroups = self._read_cgroups(rows, problems)
        self._alive.sign_of_life()
        return RuntimeView(
            time=now,
            sandboxes=rows,
            containers=members,
            statuses=statuses,
            pod_cgroups=pod_cgroups,
            stats=None if stats is None else {row.id: row for row in stats},
            image_fs=image_fs,
            problems=tuple(problems),
            complete=listing.complete,
        )

    def _forget(self, sandboxes: set[str], containers: set[str]) -> None:
        for gone in self._cgroups.keys() - sandboxes:
            del self._cgroups[gone]
        for gone in self._statuses.keys() - containers:
            del self._statuses[gone]

    def _read_cgroups(self, sandboxes: Iterable[CriSandbox], problems: list[Problem]) -> dict[str, str]:
        # Ordered so that the cgroup of a ready, newer sandbox overwrites that of an older one of the same pod.
        rows = sorted(sandboxes, key=lambda row: (row.state is SandboxState.READY, row.created_at))
        new = [row.id for row in rows if row.id not in self._cgroups]
        request = partial(self._client.sandbox_status, verbose=True)
        _request_each(request, new, "sandbox", problems, store=lambda status: self._store_cgroup(status, problems))
        known = ((row.uid, self._cgroups.get(row.id)) for row in rows)
        return {uid: cgroup for uid, cgroup in known if cgroup is not None}

    def _store_cgroup(self, status: SandboxStatus, problems: list[Problem]) -> None:
        cgroup = sandbox_pod_cgroup(status.cgroups_path)
        if cgroup is None and status.state is SandboxState.READY:
            detail = f"the runtime reports no usable cgroup of its pod ({status.cgroups_path!r})"
            problems.append(Problem(source=f"sandbox {status.id[:12]!r}", detail=detail))
        else:
            self._cgroups[status.id] = cgroup

    def _read_statuses(
        self, containers: Iterable[CriContainer], described: AbstractSet[str], problems: list[Problem]
    ) -> dict[str, ContainerStatus]:
        new = [
            row.id
            for row in containers
            if row.id not in self._statuses and row.sandbox_id not in described and row.state.may_run
        ]
        _request_each(self._client.container_status, new, "container", problems, store=self._store_status)
        return dict(self._statuses)

    def _store_status(self, status: ContainerStatus) -> None:
        self._statuses[status.id] = status


def with_known_layers(view: RuntimeView, last: RuntimeView) -> RuntimeView:
    """Fill in missing writable layers from the last statistics, each with its own time stamp.

    The statistics call fails as a whole, and a restarted containerd reports no layer until its next collection. Without this
    the pod that wrote the most would count as one that wrote nothing.
    """
    if not last.stats:
        return view
    stats = dict(view.stats or {})
    for container in view.containers:
        now, before = stats.get(container.id), last.stats.get(container.id)
        if before is not None and layer_of(now) is None and (layer := layer_of(before)) is not None:
            memory = None if now is None else now.memory
            stats[container.id] = replace(now or before, memory=memory, writable_layer=layer)
    return replace(view, stats=stats if view.stats is not None or stats else None)


def uids_with_containers(view: RuntimeView) -> frozenset[str]:
    """Return the uids of the pods of which a container may run."""
    occupied = {container.sandbox_id for container in view.containers if container.state.may_run}
    return frozenset(sandbox.uid for sandbox in view.sandboxes if sandbox.id in occupied)


def layer_of(stats: CriContainerStats | None) -> FilesystemUsage | None:
    """Return a container's writable layer, or `None` if the runtime has not measured it."""
    layer = None if stats is None else stats.writable_layer
    return None if layer is None or layer.time == 0 or layer.used_bytes is None else layer


def sandbox_pod_cgroup(path: str | None) -> str | None:
    """Return the path of the pod's cgroup from the sandbox's `cgroupsPath`, or `None` if that yields no safe path.

    The sandbox's own cgroup is one level below the pod's: `/kubepods/burstable/pod1/<id>`, or with systemd
    `kubepods-burstable-pod1.slice:cri-containerd:<id>`, where the name of the slice holds its parents' names.
    """
    if path is None:
        return None
    slice_name, colon, _ = path.partition(":")
    if colon:
        return expand_slice(slice_name)
    parent = path.rpartition("/")[0]
    return parent if parent.startswith("/") and _is_plain(parent) else None


def expand_slice(name: str) -> str | None:
    """Return the path of a systemd slice (`slice_path`); `None` if the untrusted name is not a slice's."""
    stem = name.removesuffix(".slice")
    parts = stem.split("-")
    if stem == name or "/" in name or not all(parts) or not _is_plain(f"/{name}"):
        return None
    return slice_path(name)


def _is_plain(path: str) -> bool:
    return path.isprintable() and all(part not in {"", ".", ".."} for part in path.split("/")[1:])


def _optional(call: Callable[[], T], source: str, problems: list[Problem]) -> T | None:
    """Make a call whose failure, a timeout included, only adds a problem."""
    try:
        return call()
    except EvictdError as error:
        problems.append(Problem(source=source, detail=str(error)))
        return None


def _request_each(
    request: Callable[[str], S], ids: Sequence[str], what: str, problems: list[Problem], *, store: Callable[[S], None]
) -> None:
    """Request the status of each id, several at a time: the first reading of a full node has hundreds.

    A slow runtime must not delay the loop for longer than `PATIENCE_SECONDS`. Statuses received by then are stored; if some are
    missing, raises `RuntimeUnavailableError`, and the next reading requests the rest.
    """
    if not ids:
        return
    pool = ThreadPoolExecutor(_CONCURRENT_CALLS, thread_name_prefix="runtime-view")
    try:
        calls = [pool.submit(_unless_gone, request, each, what, problems) for each in ids]
        wait(calls, timeout=PATIENCE_SECONDS, return_when=FIRST_EXCEPTION)
    except RuntimeError:
        _request_in_turn(request, ids, what, problems, store=store)
        return
    finally:
        pool.shutdown(cancel_futures=True)
    answered = [future for future in calls if not future.cancelled()]
    failures = [error for future in answered if (error := future.exception()) is not None]
    for future in answered:
        if future.exception() is None and (status := future.result()) is not None:
            store(status)
    if failures:
        raise failures[0]
    if len(answered) < len(calls):
        raise RuntimeUnavailableError(
            f"{what} statuses: {len(answered)} of {len(calls)} in {PATIENCE_SECONDS} s; the next cycle requests the rest"
        )


def _request_in_turn(
    request: Callable[[str], S], ids: Sequence[str], what: str, problems: list[Problem], *, store: Callable[[S], None]
) -> None:
    """Request statuses without threads: a node without a free PID gives none, and evictd must still find its pods."""
    for each in ids:
        status = _unless_gone(request, each, what, problems)
        if status is not None:
            store(status)


def _unless_gone(request: Callable[[str], S], identity: str, what: str, problems: list[Problem]) -> S | None:
    """Request one status; `None` if the id no longer exists or was refused. `RuntimeUnavailableError` is not caught."""
    source = f"{what} {identity[:12]!r}"
    try:
        status = request(identity)
    except RuntimeNotFoundError:
        return None
    except RuntimeRefusedError as error:
        problems.append(Problem(source=source, detail=str(error)))
        return None
    if status.id != identity:
        problems.append(Problem(source=source, detail=f"the runtime returned the status of {status.id[:12]!r}"))
        return None
    return status


class PodIds(NamedTuple):
    """The ids that the runtime lists for one pod."""

    containers: tuple[str, ...] = ()
    """Those of its containers that may run."""
    sandboxes: tuple[str, ...] = ()


def running_ids(view: RuntimeView | None, uid: str) -> PodIds:
    """Return the ids of a pod's containers that may run, and of its sandboxes; none without a listing."""
    if view is None:
        return PodIds()
    sandboxes = tuple(sandbox.id for sandbox in view.sandboxes if sandbox.uid == uid)
    containers = (each for each in view.containers if each.sandbox_id in sandboxes and each.state.may_run)
    return PodIds(tuple(each.id for each in containers), sandboxes)


def sidecar_ids(view: RuntimeView, pod: Pod) -> tuple[str, ...]:
    """Return the ids of a pod's running sidecars in the order in which they stop: the last one started first."""
    names = [container.name for container in reversed(pod.init_containers) if container.sidecar]
    running = frozenset(running_ids(view, pod.uid).containers) if names else frozenset()
    ids = {container.name: container.id for container in view.containers if container.id in running}
    return tuple(ids[name] for name in names if name in ids)


def running_uids(view: RuntimeView) -> frozenset[str]:
    """Return the uids of the pods that have a ready sandbox, or a container that may run."""
    return uids_with_containers(view) | {s.uid for s in view.sandboxes if s.state is SandboxState.READY}
