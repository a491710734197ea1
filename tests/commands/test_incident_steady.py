"""What grew before an eviction, and grew on at the end of the journal or no more."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from evictd.codec.records.journal import JournalEntry
from evictd.codec.records.journal_record import decode_record
from evictd.commands.decided.incident_steady import growth_on, is_quiet, last_entry, steady_growers
from evictd.commands.played.world_journal import journal_lines
from evictd.core.units.duration import MINUTE, SECOND
from evictd.render.attribution import clock_text
from evictd.render.history.evictions import evictions_of
from evictd.render.incident.record.collect import incident_of
from evictd.render.incident.record.incident import Incident
from evictd.render.incident.record.verdict import EvictionVerdict, Grower, Need
from evictd.world.behaviours import Grow, LeakAndRelease, Usage
from evictd.world.loop import play
from evictd.world.model import HostUse, WorldPod
from tests.playbook import config
from tests.render.played_worlds import incident_run
from tests.world.worlds import GI, HARD, MI, hog, world


@pytest.fixture(scope="module")
def lines() -> Sequence[bytes]:
    """The journal of a world whose pods grow until a minute after its begin, and are refused by a budget then."""
    return tuple(journal_lines(incident_run("42-budget-of-one"), end=1_800_000_000 * SECOND))


@pytest.fixture(scope="module")
def found(lines: Sequence[bytes]) -> Incident:
    """Its only eviction, before which all three grew."""
    records = [decode_record(line) for line in lines]
    growers = tuple(Grower(pod=f"default/batch-{number}", rate=5 << 20) for number in range(3))
    verdict = EvictionVerdict(need=Need.NEEDED, pod="default/batch-0", growers=growers, played=5 * MINUTE)
    return replace(incident_of(records, evictions_of(records), "last"), verdict=verdict)


def test_those_that_still_run_grew_no_more(lines: Sequence[bytes], found: Incident) -> None:
    """They were to be limited or ended, eighteen minutes after their growth had ended (world 42)."""
    assert steady_growers(last_entry(lines[-1]), found) == {"default/batch-1", "default/batch-2"}


def test_nothing_is_known_within_a_minute_or_of_a_damaged_record(lines: Sequence[bytes], found: Incident) -> None:
    evicting = next(line for line in lines if decode_record(line).wall == found.event.at)
    assert not steady_growers(last_entry(evicting), found)
    assert not steady_growers(last_entry(b"{}"), found)
    assert not steady_growers(last_entry(lines[-1]), replace(found, verdict=None))


def last_incident(*pods: WorldPod, grew: Sequence[str], **more: Any) -> tuple[JournalEntry, Incident]:
    """The last entry of the journal of a world, and its first eviction, before which all that is named grew."""
    growers = tuple(Grower(pod=name, rate=MI) for name in grew)
    run = play(world(*pods, memory=8 * GI, duration=10 * MINUTE, **more), config(hard=HARD))
    lines = journal_lines(run, end=1_800_000_000 * SECOND)
    records = [decode_record(line) for line in lines]
    found = incident_of(records, evictions_of(records), "fast")
    verdict = EvictionVerdict(need=Need.NEEDED, pod="default/fast", growers=growers, played=5 * MINUTE)
    last = last_entry(lines[-1])
    assert last is not None
    return last, replace(found, verdict=verdict)


def test_a_pod_that_grows_on_is_found_with_the_time_at_which_the_node_is_short_again() -> None:
    """The node was said to be relieved, nine minutes before it was short again."""
    last, found = last_incident(hog(name="fast", rate=25 * MI), hog(name="slow", rate=6 * MI), grew=["default/slow"])
    assert found.relieved
    grows = growth_on(last, found)
    assert grows is not None
    assert grows.growers == (Grower(pod="default/slow", rate=6 * MI),)
    left = grows_for(last.wall, grows.short_at)
    assert 6 * MI * left == pytest.approx(8 * GI - 500 * MI - 6 * MI * last.now / SECOND, abs=12 * MI)
    assert growth_on(last, replace(found, running=frozenset())) is None, "it was evicted"
    assert growth_on(last, replace(found, levels=(("hard", 1),))) is not None
    assert growth_on(last, replace(found, levels=(("hard", 8 * GI),))) is None, "it is short"
    assert growth_on(last_entry(b"{}"), found) is None


def test_a_pod_that_makes_the_node_short_in_hours_is_found_too() -> None:
    """Of a leak of 1Mi a second nothing was said after one of 20Mi a second had gone, nor what to do about it."""
    last, found = last_incident(hog(name="fast", rate=25 * MI), hog(name="slow", rate=MI), grew=["default/slow"])
    grows = growth_on(last, found)
    assert grows is not None
    assert grows.pods == ("default/slow",)
    assert MI * grows_for(last.wall, grows.short_at) > 6 * GI


def test_the_time_is_that_of_the_growth_that_is_named() -> None:
    """`grows by 3Mi a second, and the node is short again at` half a minute later: at the fall of the last reading."""
    saw = LeakAndRelease(of=Usage.MEMORY, rate=20 * MI, low=100 * MI, peak=900 * MI)
    beside = replace(hog(name="saw"), behaviours=(saw,))
    last, found = last_incident(
        hog(name="fast", rate=25 * MI), hog(name="slow", rate=6 * MI), beside, grew=["default/slow"]
    )
    grows = growth_on(last, found)
    assert grows is not None
    assert grows.pods == ("default/slow",)
    assert last is not None
    seen = last.observation.node
    assert seen is not None
    assert seen.memory is not None
    left = (seen.memory.available_bytes or 0) - 500 * MI
    assert 6 * MI * grows_for(last.wall, grows.short_at) == pytest.approx(left, abs=12 * MI)


def grows_for(wall: str, short_at: str) -> int:
    """Return the seconds from the time of a record to a time of the same day."""
    hours, minutes, seconds = (
        int(until) - int(since) for until, since in zip(short_at.split(":"), clock_text(wall).split(":"), strict=True)
    )
    return hours * 3600 + minutes * 60 + seconds


def test_what_belongs_to_no_pod_grows_on_and_a_slow_growth_is_none() -> None:
    """The kernel filled the node again, and the evicted pod alone was named."""
    slab = HostUse(name="slab", behaviours=(Grow(of=Usage.MEMORY, rate=5 * MI),))
    last, found = last_incident(hog(name="fast", rate=25 * MI), host=(slab,), grew=["default/fast", ""])
    grows = growth_on(last, found)
    assert grows is not None
    assert grows.growers == (Grower(pod="", rate=5 * MI),)
    faster = Grower(pod="", rate=100 * MI)
    assert found.verdict is not None
    assert growth_on(last, replace(found, verdict=replace(found.verdict, growers=(faster,)))) is None
    slow = replace(slab, behaviours=(Grow(of=Usage.MEMORY, rate=MI // 2),))
    assert growth_on(*last_incident(hog(name="fast", rate=25 * MI), host=(slow,), grew=[""])) is None, "hours later"


def test_after_the_end_of_what_grew_the_node_is_quiet() -> None:
    last, found = last_incident(hog(name="fast", rate=50 * MI), grew=["default/fast"])
    assert is_quiet(last, found)
    assert not is_quiet(last, replace(found, signal=None))
    assert not is_quiet(last_entry(b"{}"), found)
    evicted_now = replace(found, event=replace(found.event, at=last.wall))
    assert not is_quiet(last, evicted_now), "its end is not a minute ago"
    later = replace(found.event, pod="default/next", at=last.wall)
    assert not is_quiet(last, replace(found, evicted_later=(later,))), "the growth of its next pod ended with that"
    last, found = last_incident(hog(name="fast", rate=25 * MI), hog(name="slow", rate=6 * MI), grew=["default/fast"])
    assert not is_quiet(last, found), "another pod grows"
    slow = HostUse(name="agent", behaviours=(Grow(of=Usage.MEMORY, rate=4 * MI),))
    assert not is_quiet(*last_incident(hog(name="fast", rate=50 * MI), host=(slow,), grew=["default/fast"])), (
        "the host grows"
    )
