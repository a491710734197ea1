"""Pods are stopped by the ids that the runtime listed last."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from evictd.act.termination import Termination
from evictd.core.gc.container_gc import ContainerState
from evictd.core.model.resources import Container
from evictd.daemon.actuator.pod_stopper import PodStopper, sidecar_ids
from tests.daemon.actuator.test_standalone import VIEW
from tests.daemon.world import HOG


class Terminators:
    """Records what of a `Terminator` is called."""

    def __init__(self) -> None:
        self.begun: list[tuple[str, tuple[str, ...], tuple[str, ...], int]] = []
        self.sidecars: tuple[str, ...] = ()
        self.forgotten: list[str] = []
        self.finished_at: int | None = None

    def begin(
        self,
        uid: str,
        *,
        containers: Iterable[str],
        sandboxes: Iterable[str],
        grace_seconds: int,
        sidecars: Iterable[str],
    ) -> None:
        self.sidecars = tuple(sidecars)
        self.begun.append((uid, tuple(containers), tuple(sandboxes), grace_seconds))

    def progress(self, uid: str) -> Termination | None:
        known = any(uid == begun[0] for begun in self.begun)
        return Termination(uid=uid, started_at=0, grace_ends_at=0, finished_at=self.finished_at) if known else None

    def forget(self, uid: str) -> None:
        self.forgotten.append(uid)


def stopper() -> tuple[PodStopper, Terminators]:
    """A stopper that knows one listing, and its terminator."""
    terminators: Any = Terminators()
    made = PodStopper(terminators)
    made.update(VIEW)
    return made, terminators


def test_ids_are_looked_up_at_the_moment_of_stopping() -> None:
    """A container that was started meanwhile has another id."""
    made, terminators = stopper()
    assert not made.stopped(HOG.uid)
    made.stop(HOG, 30)
    assert not made.stopped(HOG.uid)
    terminators.finished_at = 5
    assert made.stopped(HOG.uid)
    made.update(replace(VIEW, containers=(replace(VIEW.containers[0], id="c2"),)))
    made.again(HOG, 1)
    assert terminators.begun == [(HOG.uid, ("c1",), ("s1",), 30), (HOG.uid, ("c2",), ("s1",), 1)]
    assert terminators.forgotten == [HOG.uid]


def test_without_a_listing_nothing_is_known_and_the_last_one_stays_while_the_runtime_is_away() -> None:
    terminators: Any = Terminators()
    made = PodStopper(terminators)
    made.stop(HOG, 1)
    made.update(VIEW)
    made.update(None)
    made.stop(HOG, 1)
    assert terminators.begun == [(HOG.uid, (), (), 1), (HOG.uid, ("c1",), ("s1",), 1)]


def test_a_pod_whose_record_was_dropped_has_stopped() -> None:
    """The terminator drops the record of a pod that the loop no longer waits for only with its end."""
    made, terminators = stopper()
    made.stop(HOG, 30)
    made.drop(HOG.uid)
    assert not made.stopped(HOG.uid)
    terminators.begun.clear()  # the record goes
    assert made.stopped(HOG.uid)
    made.forget(HOG.uid)
    assert not made.stopped(HOG.uid)


def test_sidecars_stop_in_the_reverse_of_their_order() -> None:
    """Those that run, by the ids of their instances; an init container that is no sidecar has ended long ago."""
    names = ("a", "init", "b", "c")
    spec = replace(HOG, init_containers=tuple(Container(name=name, sidecar=name != "init") for name in names))
    rows = [replace(VIEW.containers[0], id=f"id-{name}", name=name) for name in ("main", "a", "b", "c")]
    rows[3] = replace(rows[3], state=ContainerState.EXITED)
    view = replace(VIEW, containers=tuple(rows))
    assert sidecar_ids(view, spec) == ("id-b", "id-a")
    assert sidecar_ids(view, HOG) == ()
    made, terminators = stopper()
    made.update(view)
    made.stop(spec, 30)
    assert terminators.sidecars == ("id-b", "id-a")
