"""Later evictions of an owner whose pods did not grow: the cause is that of the first one."""

from dataclasses import replace
from pathlib import Path

import pytest

from evictd.commands.decided.incident_decided import read_incident
from evictd.commands.decided.incident_first import with_first
from evictd.commands.inputs.source import own_config, world_under
from evictd.commands.played.world_journal import write_world_journal
from evictd.render.incident.heading import heading_lines
from evictd.render.incident.record.incident import Incident
from evictd.render.incident.record.verdict import Grower
from evictd.render.incident.remedy.avoidance import avoidance
from evictd.render.incident.summary import summary_text
from evictd.world.file import decode_world
from evictd.world.loop import play
from tests.daemon.world import NOW
from tests.truth.random_worlds import returning_world


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    """A journal in which a database of constant use goes four times, beside a crawler that grew before the first time."""
    file = decode_world(returning_world(0))
    return write_world_journal(play(world_under(file, None), own_config(file), calm=True), tmp_path, end=NOW)


def incidents(journal: Path) -> tuple[Incident, Incident]:
    return read_incident([journal], "default/db"), read_incident([journal], "last")


def test_a_pod_that_came_back_has_the_cause_of_the_first_eviction(journal: Path) -> None:
    """The last of four incidents said to mend the owner, whose pods had not grown, and rejected the request that keeps them."""
    first, last = incidents(journal)
    assert first.first is None
    assert last.first is not None
    assert last.first.id == first.id
    assert summary_text(last).startswith("default/crawler grew by ")
    assert f"incident {first.id}); {last.event.pod} came in its place; " in summary_text(last)
    assert [each.partition(": ")[2] for each in avoidance(last).by] == [*avoidance(first).by]
    assert any("a request of " in each and "it is the one that grew" in each for each in avoidance(last).by)
    assert not any("mend" in line for found in (first, last) for line in heading_lines(found))


def test_a_pod_that_was_there_at_the_first_eviction_did_not_come_in_its_place(journal: Path) -> None:
    """Of a replica that had stood in the ranking of the first eviction it said that it came in that one's place."""
    first, last = incidents(journal)
    there = replace(first.ranking[-1], pod=last.event.pod, chosen=False)
    first = replace(first, ranking=(*(each for each in first.ranking if each.pod != there.pod), there))
    said = f"incident {first.id}); {last.event.pod} was evicted for that as well; "
    assert said in summary_text(replace(last, first=first))
    dry = replace(last, first=first, event=replace(last.event, dry_run=True))
    assert f"{last.event.pod} would have been evicted for that as well" in summary_text(dry)


def test_only_a_pod_that_did_not_grow_has_the_cause_of_the_first_eviction(journal: Path) -> None:
    first, last = incidents(journal)
    assert first.verdict is not None
    last = replace(last, first=None)

    def found(last: Incident, first: Incident = first) -> Incident | None:
        return with_first(last, [first.event, last.event], lambda _: first).first

    assert found(last) is first
    rows = tuple(replace(each, usage=(each.usage or 0) * 2) if each.chosen else each for each in last.ranking)
    assert found(replace(last, ranking=rows)) is None, "it holds more than the first one"
    assert last.verdict is not None
    fast = replace(last.verdict, growers=(Grower(pod="default/web-0", rate=last.missing or 0),))
    assert found(replace(last, verdict=fast)) is None, "without that growth it would not have been short"
    own = replace(first.verdict, growers=(Grower(pod=first.event.pod, rate=1 << 20),))
    assert found(last, replace(first, verdict=own)) is None, "the first one was its own cause"
    assert found(replace(last, verdict=None)) is None
    assert found(replace(last, event=replace(last.event, owner=""))) is None
