"""What is worth a line: beginnings and ends, never the same thing twice."""

from evictd.core.observation import Problem
from evictd.core.state import State
from evictd.daemon.findings_log import Topics, changes, topics
from tests.daemon.world import GI, NOW, SOFT, step


def topics_at(available: int, state: State | None = None, at: int = NOW) -> tuple[Topics, State]:
    done = step(available, state, at)
    return topics(done.findings, ()), done.state


def test_a_calm_node_says_nothing_cycle_after_cycle() -> None:
    first, state = topics_at(4 * GI)
    second, _ = topics_at(4 * GI, state, NOW + 1)
    assert changes(first, second) == []


def test_a_threshold_is_told_when_it_is_met_and_when_it_no_longer_is() -> None:
    calm, _ = topics_at(4 * GI)
    pressed, state = topics_at(2 * GI - 1)
    (line,) = changes(calm, pressed)
    assert (line.level, line.event, line.fields["kind"]) == ("warning", "threshold met", "soft")
    assert line.fields["grace_left"] == "1m30s"
    still, state = topics_at(2 * GI - 2, state, NOW + 1)
    assert changes(pressed, still) == []
    relieved, _ = topics_at(4 * GI, state, NOW + 2)
    assert [line.event for line in changes(still, relieved)] == ["threshold no longer met"]


def test_what_is_behind_a_wait_is_told_once() -> None:
    _, state = topics_at(GI // 2)
    waiting, state = topics_at(GI // 2, state, NOW + 1)
    assert any(line.event == "WaitingForVictim" for line in changes({}, waiting))
    again, _ = topics_at(GI // 2, state, NOW + 2)
    assert changes(waiting, again) == []


def test_a_signal_without_observation_is_a_warning_once() -> None:
    found, _ = topics_at(4 * GI)
    assert [line.fields["signal"] for line in changes({}, found)] == ["pid.available"]


def test_a_problem_is_told_when_it_starts_and_when_it_ends_whatever_its_words() -> None:
    first = topics((), [Problem(source="runtime", detail="refused")])
    second = topics((), [Problem(source="runtime", detail="timed out")])
    assert [line.event for line in changes({}, first)] == ["cannot be read"]
    assert changes(first, second) == []
    assert [line.event for line in changes(second, {})] == ["can be read again"]


def test_the_threshold_tested_is_the_one_named() -> None:
    found, _ = topics_at(2 * GI - 1)
    assert ("met", SOFT.signal.value, "soft", "2Gi") in found
