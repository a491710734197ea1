"""Checks how the node stands at the end of a journal: which conditions stand and until when, and what is not known yet."""

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from evictd.codec.records.journal_record import (
    JournalRecord,
    RecordedConfig,
    RecordedExtra,
    RecordedKill,
    RecordedState,
)
from evictd.core.model.signal import Signal
from evictd.core.units.duration import MINUTE, SECOND
from evictd.render.history.evictions import evictions_of
from evictd.render.incident.record.collect import incident_of
from evictd.render.incident.record.journal_end import (
    also_short,
    clear_text,
    condition_ends,
    ends_before_relief,
    ends_before_relief_text,
    pause_clause,
)
from evictd.render.incident.remedy.now import now_text
from tests.render.recorded_incident import incident, recorded
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
            "no threshold of it was met at the last record, 2026-01-01T01:00:00Z: it stands until 2026-01-01T01:05:00Z, "
            "unless one is met again"
        )
    }


def test_it_stands_longer_for_the_sake_of_an_owner_whose_pods_come_back() -> None:
    """The last record of a history kept the condition for an hour, and five minutes were said."""
    kept: dict[str, Any] = {"kind": "KeptAway", "condition": "MemoryPressure", "owner": "default/ReplicaSet/leak"}
    kept |= {"periodNanoseconds": 60 * MINUTE, "until": NOW - SECOND // 5 + 60 * MINUTE}
    record = ended()

    def said(**changed: Any) -> str:
        found = (*record.findings, kept | changed)
        return condition_ends(msgspec.structs.replace(record, findings=found))["MemoryPressure"]

    because = "because pods of default/ReplicaSet/leak come back when it ends, unless one is met again"
    assert said().endswith(f"it stands until 2026-01-01T02:00:00Z, {because}")
    for other in ({"condition": "DiskPressure"}, {"periodNanoseconds": None}):
        assert said(**other).endswith("it stands until 2026-01-01T01:05:00Z, unless one is met again")


def test_a_dry_run_reports_no_condition() -> None:
    """A history ended with "MemoryPressure since 10:59:57Z" beside a node without it, also after a reload to a dry run."""
    dry = msgspec.structs.replace(ended(), extra=RecordedExtra(dry_run=True))
    assert condition_ends(dry)["MemoryPressure"] == "a dry run reports no condition"


def test_a_signal_is_clear_since_then() -> None:
    assert clear_text(ended(), Signal.MEMORY_AVAILABLE) == (
        "no threshold of memory.available was met at the last record, 01:00:00"
    )
    assert clear_text(ended(met=True), Signal.MEMORY_AVAILABLE) == ""
    assert clear_text(ended(), Signal.PID_AVAILABLE) == "", "no threshold of it was read"
    assert clear_text(ended(), None) == ""


def test_nothing_is_said_while_a_threshold_is_met_or_of_a_record_that_does_not_say() -> None:
    assert condition_ends(ended(met=True)) == {}
    assert condition_ends(msgspec.structs.replace(ended(), findings=())) == {}
    assert condition_ends(msgspec.structs.replace(ended(), config=RecordedConfig())) == {}
    assert condition_ends(msgspec.structs.replace(ended(), wall="damaged")) == {}


TEXT = (
    "the journal ends before what the last eviction gave back was read: "
    "`evictd status` says whether the node is still short"
)


def test_a_journal_that_ends_with_the_pod_does_not_say_that_the_node_is_still_short() -> None:
    """A disk was relieved 2 s after the eviction, and for five minutes the node was said to be still short."""
    records = recorded()[:2]
    found = incident_of(records, evictions_of(records), "last")
    assert found.ends_before_relief
    assert ends_before_relief_text(found) == TEXT
    assert now_text(found).startswith(TEXT)
    assert "the node is still short:" not in now_text(replace(found, host_filled=True, pressed=True))


def test_what_was_read_is_said() -> None:
    records, memory = recorded(), Signal.MEMORY_AVAILABLE
    evictions = evictions_of(records)
    assert ends_before_relief(records[:3], evictions, memory), "it was gone in the last record"
    assert not ends_before_relief(records[:4], evictions, memory)
    assert not ends_before_relief(records[:2], evictions, Signal.PID_AVAILABLE)
    assert not ends_before_relief(records[:2], evictions, None)
    dry = recorded(dry_run=True)
    assert not ends_before_relief(dry[:2], evictions_of(dry), memory), "nothing ended"
    still = replace(incident(), ends_before_relief=True, still_met=True)
    assert ends_before_relief_text(replace(still, still_met=False)) == ""
    assert ends_before_relief_text(replace(still, paused="evictions pause until 00:01:00")) == ""


PAUSE = (
    "evictions pause until 01:20:00 at the latest, and one more pod goes then if a threshold is still met; "
    "if the disk is full before, writes fail"
)


def paused(**changed: Any) -> JournalRecord:
    """A record whose evictions pause for twenty minutes more."""
    finding = {"kind": "NoAction", "why": "EvictionsDoNotHelp", "signal": "nodefs.available", "needed": "3Gi"}
    finding |= {"until": NOW + 20 * MINUTE} | changed
    return msgspec.structs.replace(journal()[0], wall="2026-01-01T01:00:00Z", now=NOW, findings=(finding,))


def test_it_says_until_when_they_pause_and_what_was_missing() -> None:
    """`now` named the writer to look for, and not that one more pod goes twenty minutes later (world 03)."""
    told = f"3Gi was missing at the last record; {PAUSE}"
    assert pause_clause(paused(), Signal.NODEFS_AVAILABLE) == told
    assert pause_clause(paused(), Signal.CONTAINERFS_AVAILABLE) == told, "of the same condition"


def test_where_nothing_is_left_it_is_said_what_has_come_already() -> None:
    """`if the inodes are used up before` stood beside `nothing was left from 11:48:30 on`."""
    record = paused(signal="nodefs.inodesFree")
    met = {"kind": "Threshold", "threshold": {"signal": "nodefs.inodesFree"}, "available": "0", "met": True}
    clause = pause_clause(msgspec.structs.replace(record, findings=(*record.findings, met)), Signal.NODEFS_INODES_FREE)
    assert clause.endswith("; no inode is left, so no file can be created until then")


def test_a_count_has_a_unit_and_an_amount_that_is_not_known_is_left_out() -> None:
    pids = paused(signal="pid.available", needed="91")
    clause = pause_clause(pids, Signal.PID_AVAILABLE)
    assert clause.startswith("91 processes were missing at the last record; ")
    assert clause.endswith("; if the PIDs are used up before, no process can start")
    assert pause_clause(paused(needed=None), Signal.NODEFS_AVAILABLE) == PAUSE
    assert pause_clause(paused(needed="0"), Signal.NODEFS_AVAILABLE) == PAUSE


def test_what_a_pause_for_swap_does_not_keep_from_coming_is_said_too() -> None:
    """The resources of nodes with swap, or of stalls, ended `incident` with a KeyError."""
    swap = pause_clause(paused(signal="swap.available"), Signal.SWAP_AVAILABLE)
    assert swap.endswith("; if the swap is used up before, memory is used up next")
    stalls = pause_clause(paused(signal="node.io.some.avg10"), Signal.NODE_IO_SOME_10)
    assert stalls.endswith("one more pod goes then if a threshold is still met")


@pytest.mark.parametrize(
    "changed", [{"why": "NoCandidates"}, {"until": None}, {"signal": "memory.available"}, {"signal": "new"}]
)
def test_nothing_is_said_without_a_pause_of_that_condition(changed: dict[str, Any]) -> None:
    assert pause_clause(paused(**changed), Signal.NODEFS_AVAILABLE) == ""


def test_nothing_is_said_of_a_damaged_time_or_a_limit_of_the_pod_alone() -> None:
    assert pause_clause(msgspec.structs.replace(paused(), wall="damaged"), Signal.NODEFS_AVAILABLE) == ""
    assert pause_clause(paused(), None) == ""


def test_a_node_of_which_the_kernel_kills_later_is_short_unless_a_pod_was_evicted_since() -> None:
    """`The node is relieved` was said while the kernel had killed a database eleven times in half an hour."""
    evicted, first, *_ = journal()

    def later(minutes: int, record: JournalRecord = first, **extra: Any) -> JournalRecord:
        wall = f"2026-01-01T00:{10 + minutes:02}:00Z"
        return msgspec.structs.replace(record, wall=wall, now=minutes * MINUTE, extra=RecordedExtra(**extra))

    begin, killed = later(0, evicted), (RecordedKill(where="n/db"),)
    kill, calm = later(4, decisions_of_none(first), kernel_killed=killed), later(5, decisions_of_none(first))
    text = "the kernel killed processes of n/db, last at 00:14:00"
    assert also_short(begin, [kill, calm], Signal.MEMORY_AVAILABLE) == text
    soon = later(1, decisions_of_none(first), kernel_killed=killed)
    assert also_short(begin, [soon, calm], Signal.MEMORY_AVAILABLE) == ""
    assert also_short(begin, [kill, later(5, evicted)], Signal.MEMORY_AVAILABLE) == ""


def decisions_of_none(record: JournalRecord) -> JournalRecord:
    """A record without decisions and findings."""
    return msgspec.structs.replace(record, decisions=(), findings=())
