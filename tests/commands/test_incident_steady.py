"""Pods that grew before an eviction, and no more at the end of the journal."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from evictd.codec.journal_record import decode_record
from evictd.commands.incident_steady import steady_growers
from evictd.commands.world_journal import journal_lines
from evictd.core.units.duration import MINUTE, SECOND
from evictd.render.history.evictions import evictions_of
from evictd.render.incident.incident import Incident, incident_of
from evictd.render.incident.verdict import EvictionVerdict, Grower, Need
from tests.render.played_worlds import incident_run


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
    assert steady_growers(lines[-1], found) == {"default/batch-1", "default/batch-2"}


def test_nothing_is_known_within_a_minute_or_of_a_damaged_record(lines: Sequence[bytes], found: Incident) -> None:
    evicting = next(line for line in lines if decode_record(line).wall == found.event.at)
    assert not steady_growers(evicting, found)
    assert not steady_growers(b"{}", found)
    assert not steady_growers(lines[-1], replace(found, verdict=None))
