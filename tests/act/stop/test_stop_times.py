"""The longest of the last stops, each counted once; and the order of a stop without grace."""

import errno
from concurrent.futures import Future
from pathlib import Path

from evictd.act.stop.stopper import KEPT, MOST_BEGUN, PodStopper, StopTimes
from evictd.act.stop.termination import Termination
from evictd.act.stop.victim_cgroups import VictimCgroups
from evictd.clients.cri.channel import Pending
from evictd.clients.cri.values import CriContainer, CriSandbox
from evictd.core.units.duration import SECOND
from tests.recorded_errors import RecordedErrors


def stopped(number: int, *, grace_ends_at: int = SECOND) -> Termination:
    return Termination(uid=f"u{number}", started_at=0, grace_ends_at=grace_ends_at)


def test_the_longest_of_the_last_stops_counts() -> None:
    times = StopTimes()
    assert times.longest() is None
    times.add(stopped(0), 7 * SECOND)
    times.add(stopped(1), 2 * SECOND)
    assert times.longest() == 6 * SECOND
    for number in range(2, KEPT + 1):
        times.add(stopped(number), SECOND)
    assert times.longest() == SECOND


def test_a_stop_that_hung_counts_until_the_next_one_ends() -> None:
    """One minute of a runtime that hangs must not take the grace of the next eight pods."""
    times = StopTimes()
    times.add(stopped(0), 3 * SECOND)
    times.add(stopped(1), 61 * SECOND)
    assert times.longest() == 60 * SECOND
    times.add(stopped(2), 2 * SECOND)
    assert times.longest() == 2 * SECOND


def test_the_first_end_that_is_seen_of_a_pod_counts() -> None:
    times = StopTimes()
    for at in (2 * SECOND, 9 * SECOND):
        times.add(stopped(0), at)
    assert times.longest() == SECOND


def test_a_pod_that_ended_within_its_grace_is_left_out() -> None:
    times = StopTimes()
    times.add(stopped(0, grace_ends_at=30 * SECOND), 2 * SECOND)
    assert times.longest() is None


class Unanswered:
    """A runtime that notes which containers it is asked to stop, and never answers."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def begin_stop_container(self, container_id: str, grace_seconds: int) -> Pending[None]:
        self.asked.append(container_id)
        return Pending(Future(), "StopContainer", lambda _: None, timeout=60)

    def begin_stop_sandbox(self, sandbox_id: str) -> Pending[None]:
        raise AssertionError(sandbox_id)

    def begin_list_containers(self, uid: str = "") -> Pending[tuple[CriContainer, ...]]:
        raise AssertionError(uid)

    def begin_list_sandboxes(self, uid: str = "") -> Pending[tuple[CriSandbox, ...]]:
        raise AssertionError(uid)


def test_the_runtime_is_asked_whatever_becomes_of_the_kill() -> None:
    """The kill comes first, in the loop's thread."""

    def directories(_: str) -> tuple[Path, ...]:
        raise OSError(errno.EIO, "Input/output error")

    calls, errors = Unanswered(), RecordedErrors()
    killer = VictimCgroups(directories, errors)
    terminator = PodStopper(calls, clock=lambda: SECOND, minimum_grace_seconds=0, cgroups=killer, errors=errors)
    terminator.begin("u", containers=["c"], sandboxes=["s"], grace_seconds=0)
    assert calls.asked == ["c"]
    assert ["Input/output error" in each for each in errors.details] == [True]


def test_a_grace_that_is_shortened_to_none_is_ended_at_once(tmp_path: Path) -> None:
    """In the loop's thread: that of the stopper may not have its turn on a node without memory."""
    pod = tmp_path / "podu"
    pod.mkdir()
    (pod / "cgroup.events").write_text("populated 1\n")
    (kill := pod / "cgroup.kill").write_text("")
    errors = RecordedErrors()
    killer = VictimCgroups(lambda _: (pod,), errors)
    terminator = PodStopper(Unanswered(), clock=lambda: SECOND, minimum_grace_seconds=0, cgroups=killer, errors=errors)
    terminator.begin("u", containers=["c"], sandboxes=["s"], grace_seconds=600)
    assert kill.read_text() == ""
    terminator.begin("u", containers=["c"], sandboxes=["s"], grace_seconds=0)
    assert kill.read_text() == "1"
    assert errors.details == []


def test_the_record_of_a_pod_that_is_dropped_is_kept_until_its_stop_has_ended() -> None:
    terminator = PodStopper(Unanswered(), clock=lambda: SECOND)
    terminator.begin("u", containers=["c"], sandboxes=["s"], grace_seconds=600)
    terminator.drop("u")
    assert [each.uid for each in terminator.in_flight()] == ["u"]
    assert not terminator.stopped("u")


def test_of_pods_that_are_dropped_a_bounded_number_is_remembered() -> None:
    """Without an API server no pod is ever forgotten."""
    terminator = PodStopper(Unanswered(), clock=lambda: SECOND)
    for number in range(MOST_BEGUN + 1):
        terminator.begin(f"u{number}", containers=(), sandboxes=(), grace_seconds=1)
    assert len(terminator._begun) == MOST_BEGUN
    assert f"u{MOST_BEGUN}" in terminator._begun
