"""Until when a condition stands although no threshold of it is met any more."""

import msgspec

from evictd.codec.journal_record import JournalRecord, RecordedConfig, RecordedState
from evictd.core.model.signal import Signal
from evictd.core.units.duration import MINUTE, SECOND
from evictd.render.incident.condition_end import clear_text, condition_ends
from tests.render.recorded_journal import journal

NOW = 3600 * SECOND


def ended(*, met: bool = False) -> JournalRecord:
    """A record 0.2 s after a threshold was met."""
    finding = {"kind": "Threshold", "threshold": {"signal": "memory.available"}, "met": met}
    state = RecordedState(node_conditions_last_observed_at={"MemoryPressure": NOW - SECOND // 5, "PIDPressure": NOW})
    config = RecordedConfig(pressure_transition_period=5 * MINUTE)
    return msgspec.structs.replace(
        journal()[0], wall="2026-01-01T01:00:00Z", now=NOW, state=state, config=config, findings=(finding,)
    )


def test_it_stands_for_the_transition_period_after_the_last_threshold_that_was_met() -> None:
    """A history ended with "MemoryPressure since 10:59:57Z", and nothing was short from that second on."""
    assert condition_ends(ended()) == {
        "MemoryPressure": (
            "no threshold of it has been met since 2026-01-01T01:00:00Z: it stands until 2026-01-01T01:05:00Z"
        )
    }


def test_a_signal_is_clear_since_then() -> None:
    assert clear_text(ended(), Signal.MEMORY_AVAILABLE) == (
        "no threshold of memory.available has been met since 01:00:00"
    )
    assert clear_text(ended(met=True), Signal.MEMORY_AVAILABLE) == ""
    assert clear_text(ended(), Signal.PID_AVAILABLE) == "", "no threshold of it was read"
    assert clear_text(ended(), None) == ""


def test_nothing_is_said_while_a_threshold_is_met_or_of_a_record_that_does_not_say() -> None:
    assert condition_ends(ended(met=True)) == {}
    assert condition_ends(msgspec.structs.replace(ended(), findings=())) == {}
    assert condition_ends(msgspec.structs.replace(ended(), config=RecordedConfig())) == {}
    assert condition_ends(msgspec.structs.replace(ended(), wall="damaged")) == {}
