"""What is worth a line: beginnings and ends, never the same thing twice."""

from dataclasses import replace

from evictd.core.model.finding import NoAction, NoActionReason, SignalUnobserved, ThresholdFinding
from evictd.core.model.observation import Problem
from evictd.core.model.signal import Signal
from evictd.core.model.state import State
from evictd.core.model.threshold import Origin, Threshold, ThresholdValue
from evictd.core.units.quantity import Quantity, of_bytes
from evictd.daemon.telemetry.findings_log import Topics, changes, topics
from tests.daemon.world import GI, NOW, SOFT, step


def topics_at(available: int, state: State | None = None, at: int = NOW) -> tuple[Topics, State]:
    done = step(available, state, at)
    return topics(done.findings, ()), done.state


def test_a_calm_node_logs_nothing() -> None:
    first, state = topics_at(4 * GI)
    second, _ = topics_at(4 * GI, state, NOW + 1)
    assert changes(first, second) == []


def test_a_threshold_is_logged_when_it_is_met_and_when_it_no_longer_is() -> None:
    calm, _ = topics_at(4 * GI)
    pressed, state = topics_at(2 * GI - 1)
    (line,) = changes(calm, pressed)
    assert (line.level, line.event, line.fields["kind"]) == ("warning", "threshold met", "soft")
    assert line.fields["grace_left"] == "1m30s"
    still, state = topics_at(2 * GI - 2, state, NOW + 1)
    assert changes(pressed, still) == []
    relieved, _ = topics_at(4 * GI, state, NOW + 2)
    assert [line.event for line in changes(still, relieved)] == ["threshold no longer met"]


def test_a_soft_limit_that_moves_with_each_reading_is_no_other_threshold() -> None:
    """Soft thresholds of memory leave out what no process can allocate, which moves by bytes: two lines in each cycle."""
    pressed, state = topics_at(2 * GI - 1)
    done = step(2 * GI - 2, state, NOW + 1)
    moved = [
        replace(each, limit=of_bytes(each.limit.value() - 4096)) if isinstance(each, ThresholdFinding) else each
        for each in done.findings
    ]
    assert changes(pressed, topics(moved, ())) == []


def test_the_reason_of_a_wait_is_logged_once() -> None:
    _, state = topics_at(GI // 2)
    waiting, state = topics_at(GI // 2, state, NOW + 1)
    assert any(line.event == "WaitingForVictim" for line in changes({}, waiting))
    again, _ = topics_at(GI // 2, state, NOW + 2)
    assert changes(waiting, again) == []


def test_a_threshold_stays_met_while_policy_kubelet_waits_for_its_victim_and_looks_at_nothing() -> None:
    before, _ = topics_at(GI // 2)
    waiting = topics([NoAction(why=NoActionReason.WAITING_FOR_VICTIM)], (), before)
    assert [line.event.partition(":")[0] for line in changes(before, waiting)] == [
        NoActionReason.WAITING_FOR_VICTIM.value
    ]
    assert "threshold no longer met" in {line.event for line in changes(waiting, topics_at(9 * GI)[0])}


def test_a_threshold_stays_met_while_its_signal_is_not_read() -> None:
    """An unreadable memory.stat was logged as "threshold no longer met" in the middle of a shortage."""
    pressed, _ = topics_at(GI // 2)
    for findings in ([SignalUnobserved(signal=Signal.MEMORY_AVAILABLE)], [NoAction(why=NoActionReason.NO_STATS)]):
        unread = topics(findings, (), pressed)
        assert not any(line.event.startswith("threshold") for line in changes(pressed, unread))
        assert "threshold no longer met" in {line.event for line in changes(unread, topics_at(9 * GI)[0])}


def test_a_threshold_that_a_reload_took_away_is_not_called_no_longer_met() -> None:
    """Its signal was as low as before."""
    pressed, _ = topics_at(2 * GI - 1)
    (line,) = (each for each in changes(pressed, topics((), (), pressed)) if each.event.startswith("threshold"))
    assert (line.event, line.fields) == ("threshold no longer applies", {"signal": "memory.available", "kind": "soft"})


def no_action_at(signal: Signal, origin: Origin) -> NoAction:
    threshold = Threshold(signal=signal, value=ThresholdValue(quantity=Quantity(GI)), origin=origin)
    return NoAction(why=NoActionReason.NOTHING_HELPS, threshold=threshold)


def test_a_derived_threshold_repeats_no_reason_of_its_source() -> None:
    source = no_action_at(Signal.NODEFS_AVAILABLE, Origin.SET)
    derived = no_action_at(Signal.CONTAINERFS_AVAILABLE, Origin.DERIVED)
    lines = changes({}, topics((derived, source), ()))
    assert [line.fields["signal"] for line in lines] == ["nodefs.available"]


def test_a_derived_threshold_has_a_line_where_its_source_has_another_reason_or_none() -> None:
    derived = no_action_at(Signal.CONTAINERFS_AVAILABLE, Origin.DERIVED)
    inodes = no_action_at(Signal.NODEFS_INODES_FREE, Origin.SET)
    for others in ((), (inodes,)):
        lines = changes({}, topics((*others, derived), ()))
        assert "containerfs.available" in [line.fields["signal"] for line in lines]


def test_a_signal_without_observation_is_a_warning_once() -> None:
    found, _ = topics_at(4 * GI)
    assert [line.fields["signal"] for line in changes({}, found)] == ["pid.available"]


def test_signals_without_observation_share_a_line_that_names_what_cannot_be_read() -> None:
    unobserved = [SignalUnobserved(signal=Signal.NODEFS_AVAILABLE), SignalUnobserved(signal=Signal.PID_AVAILABLE)]
    problems = [Problem(source="container runtime", detail="no socket"), Problem(source="nodefs", detail="none")]
    blind = topics(unobserved, problems)
    first, *others = changes({}, blind)
    assert first.event == "signal has a threshold but no observation"
    assert first.fields == {"signal": "nodefs.available, pid.available", "unreadable": "container runtime, nodefs"}
    assert [line.event for line in others] == ["cannot be read", "cannot be read"]
    ended = [line.fields for line in changes(blind, {}) if line.event == "signal is observed again"]
    assert ended == [{"signal": "nodefs.available, pid.available"}]


def test_a_problem_is_logged_when_it_begins_and_ends_whatever_its_detail() -> None:
    first = topics((), [Problem(source="runtime", detail="refused")])
    second = topics((), [Problem(source="runtime", detail="timed out")])
    assert [line.event for line in changes({}, first)] == ["cannot be read"]
    assert changes(first, second) == []
    assert [line.event for line in changes(second, {})] == ["can be read again"]


def test_the_threshold_tested_is_the_one_named() -> None:
    found, _ = topics_at(2 * GI - 1)
    assert ("met", SOFT.signal.value, "soft", "2Gi") in found


def test_a_problem_with_a_pod_is_worded_by_its_kind() -> None:
    (line,) = changes({}, topics((), [Problem(source="killing pod u", detail="state D")]))
    assert (line.event, line.fields) == ("pod cannot be killed", {"source": "killing pod u", "detail": "state D"})


def test_a_file_that_can_be_written_again_is_logged_and_its_error_only_where_it_occurred() -> None:
    problems = [Problem(source="state", detail="not written: Read-only file system")]
    failing = topics((), problems)
    assert changes({}, failing) == []
    assert [(line.event, line.fields) for line in changes(failing, {})] == [
        ("can be written again", {"source": "state"})
    ]
