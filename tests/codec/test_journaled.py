"""Which cycles have a record, and what it has beside the core's arguments."""

from dataclasses import replace

from evictd.codec.records.journaled import LastRecord, recorded_signals, undamaged_points, usage_of
from evictd.core.model.decision import RecordEvent
from evictd.core.model.finding import NoAction, NoActionReason, SignalUnobserved
from evictd.core.model.observation import Outcomes
from evictd.core.model.signal import Signal
from evictd.core.model.state import State
from evictd.core.model.stats import DiskUsage
from evictd.core.units.duration import SECOND
from tests.daemon.world import GI, HOG, observe, step, uses
from tests.playbook import threshold

PRESSED, CALM = step(GI // 2), step(4 * GI)


def test_a_victim_that_is_gone_is_recorded_once() -> None:
    gone = replace(observe(4 * GI), outcomes=Outcomes(cleaned_up=frozenset({HOG.uid})))
    assert LastRecord().outcome_is_new(State(), gone, CALM)
    assert not LastRecord().followed_by(gone, CALM, 0).outcome_is_new(State(), gone, CALM)


def test_the_cycle_in_which_a_threshold_is_clear_again_is_recorded_once() -> None:
    """A disk had its bytes back a second after the end of a pod, and the journal said so five minutes later."""
    gone = replace(observe(GI // 2), outcomes=Outcomes(cleaned_up=frozenset({HOG.uid})))
    still = LastRecord().followed_by(gone, PRESSED, 0)
    assert not still.outcome_is_new(State(), gone, PRESSED)
    assert still.outcome_is_new(State(), gone, CALM)
    assert not LastRecord().followed_by(gone, CALM, 0).outcome_is_new(State(), gone, CALM)
    assert not LastRecord().followed_by(observe(GI // 2), PRESSED, 0).outcome_is_new(State(), observe(4 * GI), CALM)


def test_a_disk_that_is_clear_again_is_recorded_although_memory_is_short() -> None:
    gone = replace(observe(GI // 2), outcomes=Outcomes(cleaned_up=frozenset({HOG.uid})))
    met = dict(PRESSED.state.thresholds_first_observed_at) | {threshold("nodefs.available", "1Gi"): 0}
    both = replace(PRESSED, state=replace(PRESSED.state, thresholds_first_observed_at=met))
    assert not LastRecord().followed_by(gone, both, 0).outcome_is_new(State(), gone, both)
    assert LastRecord().followed_by(gone, both, 0).outcome_is_new(State(), gone, PRESSED)
    assert not LastRecord().followed_by(gone, PRESSED, 0).outcome_is_new(State(), gone, PRESSED)


def test_an_event_alone_is_recorded_once() -> None:
    event = next(each for each in PRESSED.decisions if isinstance(each, RecordEvent))
    again = replace(CALM, decisions=(event, CALM.decisions[-1]))
    assert not LastRecord().repeats(again)
    assert LastRecord().followed_by(observe(GI // 2), PRESSED, 0).repeats(again)
    assert not LastRecord().followed_by(observe(GI // 2), PRESSED, 0).repeats(PRESSED)


def test_a_reason_without_a_decision_is_recorded_when_it_begins_and_when_it_ends() -> None:
    blind = replace(CALM, findings=(NoAction(why=NoActionReason.NO_STATS),))
    seen = LastRecord()
    assert not seen.reason_is_new(CALM, 0)
    assert seen.reason_is_new(blind, 0)
    seen = seen.followed_by(observe(4 * GI), blind, 0)
    assert not seen.reason_is_new(blind, SECOND)
    assert seen.reason_is_new(CALM, SECOND)
    assert not seen.reason_is_new(replace(blind, findings=(*blind.findings, *CALM.findings)), SECOND)


def test_a_signal_that_is_not_read_is_recorded_when_that_begins_and_when_it_ends() -> None:
    """Six minutes in which memory could not be read were not in the journal."""
    unread = replace(CALM, findings=(SignalUnobserved(signal=Signal.MEMORY_AVAILABLE),))
    seen = LastRecord()
    assert seen.reason_is_new(unread, 0)
    seen = seen.followed_by(observe(4 * GI), unread, 0)
    assert not seen.reason_is_new(unread, SECOND)
    assert seen.reason_is_new(CALM, SECOND)
    absent = replace(CALM, findings=(SignalUnobserved(signal=Signal.MEMORY_AVAILABLE, absent=True),))
    assert not LastRecord().reason_is_new(absent, 0)


def test_a_reason_that_comes_and_goes_has_six_records_an_hour() -> None:
    blind = replace(CALM, findings=(NoAction(why=NoActionReason.NO_STATS),))
    seen, recorded = LastRecord(), list[int]()
    for second in range(0, 2 * 3600, 10):
        step = blind if second % 20 else CALM
        if seen.reason_is_new(step, second * SECOND):
            recorded.append(second)
            seen = seen.followed_by(observe(4 * GI), step, second * SECOND)
    assert recorded[:6] == [10, 20, 30, 40, 50, 60]
    assert len(recorded) == 12
    assert recorded[6] >= 3610


def test_the_readings_are_of_what_the_victims_are_of() -> None:
    assert recorded_signals(State(), CALM) == frozenset()
    assert recorded_signals(State(), PRESSED) == {Signal.MEMORY_AVAILABLE}


def test_unknown_usage_is_null_and_not_zero() -> None:
    stats = replace(uses(HOG, 5), ephemeral_storage=DiskUsage(7, None))
    assert usage_of(stats) == {
        "memoryWorkingSetBytes": 5,
        "ephemeralStorageUsedBytes": 7,
        "inodesUsed": None,
        "processCount": None,
    }


def test_the_readings_before_a_record_are_those_that_are_not_damaged() -> None:
    plain = [[600.0, 5], (3, -1), [1e300, 5], [-1.0, 5], [True, 5], [1.0, 2**63], [1.0], "damaged", None]
    assert list(undamaged_points(plain)) == [(600.0, 5), (3.0, -1)]
    assert not list(undamaged_points({"a": 1}))
