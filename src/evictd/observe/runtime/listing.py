"""Lists the runtime's sandboxes and containers, in parts where one response cannot hold them.

A response of CRI is limited to 16 MiB, by the runtime as well as by the client. A listing of sandboxes repeats the annotations of
every pod, up to 256 KiB each, so some 65 pods of one author exceed it. The pods that have a cgroup are then listed one by one by
the label of their uid. Such a listing is incomplete: it lacks pods that ended, so nothing may be collected by it.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from evictd.clients.cri.values import CriContainer, CriSandbox
from evictd.core.model.observation import Problem
from evictd.errors import RuntimeResponseTooLargeError

SOURCE = "container runtime listing"


class ListCalls(Protocol):
    """The calls of a `CriClient` that list pods."""

    def list_sandboxes(self, uid: str = "") -> tuple[CriSandbox, ...]:
        """List all sandboxes, or those of one pod."""
        ...

    def list_containers(self, uid: str = "") -> tuple[CriContainer, ...]:
        """List all containers, or those of one pod."""
        ...


class CgroupPods(Protocol):
    """Knows the pods that have a cgroup."""

    def pod_uids(self) -> Iterable[str]:
        """List their uids."""
        ...


class SignOfLife(Protocol):
    """Is called after each call of the runtime, each of which takes at most its deadline: the daemon feeds its watchdog there."""

    def sign_of_life(self) -> None:
        """Note that the reading goes on."""
        ...


class NoSurroundings:
    """A reader's default surroundings: no pod has a cgroup, and no watchdog waits."""

    def pod_uids(self) -> Iterable[str]:
        """List none."""
        return ()

    def sign_of_life(self) -> None:
        """Do nothing."""


NO_SURROUNDINGS = NoSurroundings()


@dataclass(frozen=True, slots=True)
class Listing:
    """The pods and containers that a runtime listed; `complete` if these are all that it has."""

    sandboxes: tuple[CriSandbox, ...]
    containers: tuple[CriContainer, ...]
    complete: bool


def read_listing(calls: ListCalls, pods: CgroupPods, problems: list[Problem], alive: SignOfLife) -> Listing:
    """List everything, or in parts; raises the runtime errors of `evictd.errors`.

    Without pods that have a cgroup the error of the listing is raised: "no pods" must not be confused with "no answer".
    """
    try:
        sandboxes = calls.list_sandboxes()
        alive.sign_of_life()
        containers = calls.list_containers()
        alive.sign_of_life()
    except RuntimeResponseTooLargeError as error:
        uids = tuple(pods.pod_uids())
        if not uids:
            raise
        problems.append(Problem(source=SOURCE, detail=f"listed in parts, without pods that ended: {error}"))
        return _in_parts(calls, uids, problems, alive)
    return Listing(sandboxes, containers, complete=True)


def _in_parts(calls: ListCalls, uids: Iterable[str], problems: list[Problem], alive: SignOfLife) -> Listing:
    sandboxes: list[CriSandbox] = []
    containers: list[CriContainer] = []
    for uid in uids:
        try:
            of_pod = calls.list_sandboxes(uid), calls.list_containers(uid)
        except RuntimeResponseTooLargeError as error:  # this pod alone
            problems.append(Problem(source=f"{SOURCE} of {uid[:40]!r}", detail=str(error)))
            continue
        finally:
            alive.sign_of_life()
        sandboxes += of_pod[0]
        containers += of_pod[1]
    return Listing(tuple(sandboxes), tuple(containers), complete=False)
