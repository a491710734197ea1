"""The end of a journal before what the last eviction gave back was read."""

from dataclasses import replace

from evictd.core.model.signal import Signal
from evictd.render.history.evictions import evictions_of
from evictd.render.incident.collect import incident_of
from evictd.render.incident.now import now_text
from evictd.render.incident.settling import settling_at_end, settling_text
from tests.render.recorded_incident import incident, recorded

TEXT = (
    "the journal ends before what the last eviction gave back was read: "
    "`evictd status` says whether the node is still short"
)


def test_a_journal_that_ends_with_the_pod_does_not_say_that_the_node_is_still_short() -> None:
    """A disk was relieved 2 s after the eviction, and for five minutes the node was said to be still short."""
    records = recorded()[:2]
    found = incident_of(records, evictions_of(records), "last")
    assert found.settling
    assert settling_text(found) == TEXT
    assert now_text(found).startswith(TEXT)
    assert "the node is still short:" not in now_text(replace(found, host_filled=True, pressed=True))


def test_what_was_read_is_said() -> None:
    records, memory = recorded(), Signal.MEMORY_AVAILABLE
    evictions = evictions_of(records)
    assert settling_at_end(records[:3], evictions, memory), "it was gone in the last record"
    assert not settling_at_end(records[:4], evictions, memory)
    assert not settling_at_end(records[:2], evictions, Signal.PID_AVAILABLE)
    assert not settling_at_end(records[:2], evictions, None)
    dry = recorded(dry_run=True)
    assert not settling_at_end(dry[:2], evictions_of(dry), memory), "nothing ended"
    still = replace(incident(), settling=True, still_met=True)
    assert settling_text(replace(still, still_met=False)) == ""
    assert settling_text(replace(still, paused="evictions pause until 00:01:00")) == ""
