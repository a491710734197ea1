"""Pods that came in the minute before an eviction."""

from evictd.codec.journal import decode_entry
from evictd.commands.incident_arrivals import with_arrivals_before
from evictd.commands.world_journal import journal_lines
from evictd.core.eviction.synchronize import synchronize
from evictd.core.model.signal import Signal
from evictd.core.units.duration import SECOND
from evictd.render.incident.record.arrivals import NewPods
from tests.render.played_worlds import incident_run


def test_pods_that_came_are_counted_with_what_they_held() -> None:
    """An eviction was not needed, it said, while a pod came each five seconds (world 22)."""
    lines = journal_lines(incident_run("22-minimum-reclaim"), end=1_800_000_000 * SECOND)
    entry = next(
        each for each in map(decode_entry, lines) if any(found["kind"] == "EvictPod" for found in each.decisions)
    )
    state = synchronize(entry.state, entry.observation, entry.config, entry.now).state
    found = with_arrivals_before(NewPods(after=1), entry.now, state, Signal.MEMORY_AVAILABLE)
    assert found == NewPods(before=7, over=35 * SECOND, held=350 << 20, after=1)
    assert with_arrivals_before(NewPods(), entry.now, state, None) == NewPods()
    assert with_arrivals_before(NewPods(), entry.now, None, Signal.MEMORY_AVAILABLE) == NewPods(), "a damaged record"
