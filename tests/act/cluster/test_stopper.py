"""The terminator by pod: stop, shorten, and again."""

from collections.abc import Iterable
from typing import Any

from evictd.act.cluster.stopper import RuntimeStopper
from evictd.act.victim import Termination
from evictd.core.pod import Pod

POD = Pod(name="a", namespace="default", uid="u")


class Terminators:
    """What of a `Terminator` is called, and with what."""

    def __init__(self) -> None:
        self.begun: list[tuple[str, list[str], list[str], int]] = []
        self.forgotten: list[str] = []
        self.finished_at: int | None = None

    def begin(
        self, uid: str, *, containers: Iterable[str], sandboxes: Iterable[str], grace_seconds: int
    ) -> Termination:
        self.begun.append((uid, list(containers), list(sandboxes), grace_seconds))
        return Termination(uid=uid, started_at=0, grace_ends_at=0)

    def progress(self, uid: str) -> Termination | None:
        known = any(uid == begun[0] for begun in self.begun)
        return Termination(uid=uid, started_at=0, grace_ends_at=0, finished_at=self.finished_at) if known else None

    def forget(self, uid: str) -> None:
        self.forgotten.append(uid)


def test_ids_are_looked_up_at_the_moment_of_stopping() -> None:
    """A container that was started meanwhile has another id."""
    terminators: Any = Terminators()
    ids = {"u": (["c-1"], ["s-1"])}
    stopper = RuntimeStopper(terminators, lambda uid: ids.get(uid, ([], [])))
    assert not stopper.stopped("u")
    assert (stopper.runs("u"), stopper.runs("other")) == (True, False)
    stopper.stop(POD, 30)
    terminators.finished_at = 5
    assert stopper.stopped("u")
    ids["u"] = (["c-2"], ["s-2"])
    stopper.again(POD, 1)
    assert terminators.begun == [("u", ["c-1"], ["s-1"], 30), ("u", ["c-2"], ["s-2"], 1)]
    assert terminators.forgotten == ["u"]


def test_a_pod_whose_record_was_dropped_has_stopped() -> None:
    """A terminator keeps what is under way, and drops what nobody waits for with its end: which would else be missed for ever."""
    terminators: Any = Terminators()
    stopper = RuntimeStopper(terminators, lambda _: (["c"], []))
    stopper.stop(POD, 30)
    assert not stopper.stopped("u")
    terminators.begun.clear()  # the record goes
    assert stopper.stopped("u")
    stopper.forget("u")
    assert not stopper.stopped("u")
