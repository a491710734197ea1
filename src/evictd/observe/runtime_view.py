"""What the container runtime holds at one time.

Two listings are the ground; a pod's cgroup and a container's limits never change, so the statuses that tell them are
asked for once per id. A listing that fails is an error of the whole view, because "no pods" and "no answer" must never be
mixed up; a status that fails is a problem of that one id.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from evictd.clients.cri import CriClient
from evictd.clients.cri.values import (
    Container,
    ContainerStats,
    ContainerStatus,
    Detail,
    ImageFsInfo,
    Sandbox,
    SandboxState,
    SandboxStatus,
)
from evictd.core.observation import Problem
from evictd.errors import EvictdError, RuntimeNotFoundError, RuntimeRefusedError, RuntimeUnavailableError
from evictd.observe.cgroup import slice_path

T = TypeVar("T")
S = TypeVar("S", SandboxStatus, ContainerStatus)

_AT_ONCE = 4
PATIENCE_SECONDS = 20
"""How long new ids are asked about in one look; what is under way then still has its own deadline."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimeView:
    """One listing. `time` is the cycle's `now`; statistics are by container id, `None` where they could not be had."""

    time: int
    sandboxes: tuple[Sandbox, ...]
    containers: tuple[Container, ...]
    statuses: Mapping[str, ContainerStatus] = field(default_factory=dict)
    """Of the containers that were asked about, by id: limits, image and log file. Their state may be old."""
    pod_cgroups: Mapping[str, str] = field(default_factory=dict)
    """The pods' own cgroups by pod uid, as paths from the root of each hierarchy."""
    stats: Mapping[str, ContainerStats] | None = None
    image_fs: ImageFsInfo | None = None
    problems: tuple[Problem, ...] = ()


class RuntimeReader:
    """Lists one runtime's pods again and again; remembers what cannot change."""

    def __init__(self, client: CriClient) -> None:
        self._client = client
        self._cgroups: dict[str, str | None] = {}
        self._statuses: dict[str, ContainerStatus] = {}

    def read(
        self,
        now: int,
        *,
        with_stats: bool = True,
        described: Callable[[Sandbox], bool] = lambda _: False,
        step: Callable[[], None] = lambda: None,
    ) -> RuntimeView:
        """List everything; raises the runtime errors of `evictd.errors` where the listings fail.

        `with_stats` also asks for the statistics, which cost the runtime some milliseconds per running container.
        `described` tells the pods whose spec is known from elsewhere: their containers need not be asked about.
        `step` is called after each question or batch of questions: none takes longer than `PATIENCE_SECONDS` and one deadline.
        """
        sandboxes = self._client.begin_list_sandboxes()
        containers = self._client.begin_list_containers()
        rows, members = sandboxes.result(), containers.result()
        step()
        problems: list[Problem] = []
        stats = _optional(self._client.list_container_stats, "container stats", problems) if with_stats else None
        step()
        image_fs = _optional(self._client.image_fs_info, "image filesystem", problems) if with_stats else None
        step()
        self._forget({row.id for row in rows}, {member.id for member in members})
        statuses = self._read_statuses(members, {row.id for row in rows if described(row)}, problems)
        step()
        pod_cgroups = self._read_cgroups(rows, problems)
        step()
        return RuntimeView(
            time=now,
            sandboxes=rows,
            containers=members,
            statuses=statuses,
            pod_cgroups=pod_cgroups,
            stats=None if stats is None else {row.id: row for row in stats},
            image_fs=image_fs,
            problems=tuple(problems),
        )

    def _forget(self, sandboxes: set[str], containers: set[str]) -> None:
        for gone in self._cgroups.keys() - sandboxes:
            del self._cgroups[gone]
        for gone in self._statuses.keys() - containers:
            del self._statuses[gone]

    def _read_cgroups(self, sandboxes: Iterable[Sandbox], problems: list[Problem]) -> dict[str, str]:
        # Oldest first, so that the newest sandbox of a pod has the last word.
        rows = sorted(sandboxes, key=lambda row: (row.state is SandboxState.READY, row.created_at))
        new = [row.id for row in rows if row.id not in self._cgroups]
        ask = partial(self._client.sandbox_status, verbose=True)
        _ask_each(ask, new, "sandbox", problems, learn=lambda status: self._learn_cgroup(status, problems))
        known = ((row.uid, self._cgroups.get(row.id)) for row in rows)
        return {uid: cgroup for uid, cgroup in known if cgroup is not None}

    def _learn_cgroup(self, status: SandboxStatus, problems: list[Problem]) -> None:
        cgroup = pod_cgroup(status.detail)
        if cgroup is None and status.state is SandboxState.READY:
            detail = f"the runtime does not tell its pod's cgroup ({status.detail.cgroups_path!r})"
            problems.append(Problem(source=f"sandbox {status.id[:12]!r}", detail=detail))
        else:
            self._cgroups[status.id] = cgroup

    def _read_statuses(
        self, containers: Iterable[Container], described: AbstractSet[str], problems: list[Problem]
    ) -> dict[str, ContainerStatus]:
        new = [
            row.id
            for row in containers
            if row.id not in self._statuses and row.sandbox_id not in described and row.state.may_run
        ]
        _ask_each(self._client.container_status, new, "container", problems, learn=self._learn_status)
        return dict(self._statuses)

    def _learn_status(self, status: ContainerStatus) -> None:
        self._statuses[status.id] = status


def pod_cgroup(detail: Detail) -> str | None:
    """Give the path of the cgroup that holds the pod's containers, or `None` where the runtime's words make no safe path.

    The sandbox's own cgroup is one level below it: `/kubepods/burstable/pod1/<id>`, or with systemd
    `kubepods-burstable-pod1.slice:cri-containerd:<id>`, where the nesting of slices is in the name.
    """
    path = detail.cgroups_path
    if path is None:
        return None
    slice_name, colon, _ = path.partition(":")
    if colon:
        return expand_slice(slice_name)
    parent = path.rpartition("/")[0]
    return parent if parent.startswith("/") and _is_plain(parent) else None


def expand_slice(name: str) -> str | None:
    """Give the path of a systemd slice: `a-b.slice` lies in `a.slice`; `None` for a name that is none."""
    stem = name.removesuffix(".slice")
    parts = stem.split("-")
    if stem == name or "/" in name or not all(parts) or not _is_plain(f"/{name}"):
        return None
    return slice_path(name)


def _is_plain(path: str) -> bool:
    return path.isprintable() and all(part not in {"", ".", ".."} for part in path.split("/")[1:])


def _optional(call: Callable[[], T], source: str, problems: list[Problem]) -> T | None:
    """Make a call whose failure, a late answer included, is no more than a problem."""
    try:
        return call()
    except EvictdError as error:
        problems.append(Problem(source=source, detail=str(error)))
        return None


def _ask_each(
    ask: Callable[[str], S], ids: Sequence[str], what: str, problems: list[Problem], *, learn: Callable[[S], None]
) -> None:
    """Ask about each id, several at a time: at the first look at a full node there are many.

    A slow runtime must not hold up the loop for longer than a bound. What was answered by then is learned, and a view without
    the rest is none: raises `RuntimeUnavailableError`, and the next look asks for the rest.
    """
    if not ids:
        return
    pool = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="runtime-view")
    try:
        asked = [pool.submit(_unless_gone, ask, each, what, problems) for each in ids]
        wait(asked, timeout=PATIENCE_SECONDS, return_when=FIRST_EXCEPTION)
    except RuntimeError:
        _ask_in_turn(ask, ids, what, problems, learn=learn)
        return
    finally:
        pool.shutdown(cancel_futures=True)
    answered = [future for future in asked if not future.cancelled()]
    failures = [error for future in answered if (error := future.exception()) is not None]
    for future in answered:
        if future.exception() is None and (status := future.result()) is not None:
            learn(status)
    if failures:
        raise failures[0]
    if len(answered) < len(asked):
        raise RuntimeUnavailableError(
            f"{what} statuses: {len(answered)} of {len(asked)} in {PATIENCE_SECONDS} s; the next look asks for the rest"
        )


def _ask_in_turn(
    ask: Callable[[str], S], ids: Sequence[str], what: str, problems: list[Problem], *, learn: Callable[[S], None]
) -> None:
    """Ask without threads: a node that is out of PIDs has none to give, and pods must be found on it all the more."""
    for each in ids:
        status = _unless_gone(ask, each, what, problems)
        if status is not None:
            learn(status)


def _unless_gone(ask: Callable[[str], S], identity: str, what: str, problems: list[Problem]) -> S | None:
    """Ask about one id; what vanished meanwhile is no problem, a runtime that no longer answers ends the whole view."""
    source = f"{what} {identity[:12]!r}"
    try:
        status = ask(identity)
    except RuntimeNotFoundError:
        return None
    except RuntimeRefusedError as error:
        problems.append(Problem(source=source, detail=str(error)))
        return None
    if status.id != identity:
        problems.append(Problem(source=source, detail=f"the runtime answers about {status.id[:12]!r}"))
        return None
    return status
