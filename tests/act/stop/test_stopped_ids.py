"""Pods are stopped by the ids that the runtime listed last."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest

from evictd.act.stop.stopper import PodStopper
from evictd.act.stop.termination import Termination
from evictd.core.model.resources import Container
from evictd.observe.runtime.runtime_view import PodIds, RuntimeView, running_ids
from tests.act.test_standalone import VIEW
from tests.daemon.world import HOG, NOW


class RecordingStopper(PodStopper):
    """Records what it would begin; nothing is stopped."""

    def __init__(self) -> None:
        calls: Any = None
        super().__init__(calls, clock=lambda: NOW)
        self.asked: list[tuple[str, tuple[str, ...], tuple[str, ...], int]] = []
        self.sidecars: tuple[str, ...] = ()
        self.records: dict[str, Termination] = {}

    def begin(
        self,
        uid: str,
        *,
        containers: Iterable[str],
        sandboxes: Iterable[str],
        grace_seconds: int,
        sidecars: Iterable[str] = (),
        freeze: bool = False,
    ) -> Termination:
        self._begun[uid] = None
        self.sidecars = tuple(sidecars)
        self.asked.append((uid, tuple(containers), tuple(sandboxes), grace_seconds))
        return self.records.setdefault(uid, Termination(uid=uid, started_at=0, grace_ends_at=0))

    def progress(self, uid: str) -> Termination | None:
        return self.records.get(uid)


def stopper() -> RecordingStopper:
    """A stopper that knows one listing."""
    made = RecordingStopper()
    made.update(VIEW)
    return made


def test_ids_are_looked_up_at_the_moment_of_stopping() -> None:
    """A container that was started meanwhile has another id."""
    made = stopper()
    assert not made.stopped(HOG.uid)
    made.stop(HOG, 30)
    assert not made.stopped(HOG.uid)
    made.records[HOG.uid] = replace(made.records[HOG.uid], finished_at=5)
    assert made.stopped(HOG.uid)
    made.update(replace(VIEW, containers=(replace(VIEW.containers[0], id="c2"),)))
    made.stop(HOG, 1)
    assert made.asked == [(HOG.uid, ("c1",), ("s1",), 30), (HOG.uid, ("c2",), ("s1",), 1)]


def test_without_a_listing_nothing_is_known_and_the_last_one_stays_while_the_runtime_is_away() -> None:
    made = RecordingStopper()
    made.stop(HOG, 1)
    made.update(VIEW)
    made.update(None)
    made.stop(HOG, 1)
    assert made.asked == [(HOG.uid, (), (), 1), (HOG.uid, ("c1",), ("s1",), 1)]


def test_sandboxes_of_a_victim_of_the_previous_run_are_left_to_the_next_listing() -> None:
    """Stopping a sandbox kills at once."""
    made = stopper()
    made.resume(HOG, 7)
    assert made.asked == [(HOG.uid, ("c1",), (), 7)]


def test_a_pod_whose_record_was_dropped_has_stopped() -> None:
    """The record of a pod that the loop no longer waits for is dropped only with its end."""
    made = stopper()
    made.stop(HOG, 30)
    made.drop(HOG.uid)
    assert not made.stopped(HOG.uid)
    made.records.clear()
    assert made.stopped(HOG.uid)
    made.forget(HOG.uid)
    assert not made.stopped(HOG.uid)


def test_a_listing_that_arrives_meanwhile_counts_for_the_next_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a cluster another thread stops the pod: its sidecar, started again meanwhile, was stopped with the others."""
    spec = replace(HOG, init_containers=(Container(name="side", sidecar=True),))
    listed, again = (
        replace(VIEW, containers=(replace(VIEW.containers[0], id=identity, name="side"),))
        for identity in ("s-1", "s-2")
    )
    made, found = stopper(), running_ids

    def replaced(view: RuntimeView, uid: str) -> PodIds:
        made.update(again)
        return found(view, uid)

    made.update(listed)
    monkeypatch.setattr("evictd.act.stop.stopper.running_ids", replaced)
    made.stop(spec, 30)
    assert (made.asked[0][1], made.sidecars) == (("s-1",), ("s-1",))


def test_the_sidecars_of_a_pod_are_asked_last() -> None:
    names = ("a", "b")
    spec = replace(HOG, init_containers=tuple(Container(name=name, sidecar=True) for name in names))
    rows = tuple(replace(VIEW.containers[0], id=f"id-{name}", name=name) for name in ("main", *names))
    made = stopper()
    made.update(replace(VIEW, containers=rows))
    made.stop(spec, 30)
    assert made.sidecars == ("id-b", "id-a")
