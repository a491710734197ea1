"""Checks who filled what was short at an eviction, pods or what belongs to no pod, and since when nothing has."""

from dataclasses import replace

import pytest
from msgspec.structs import replace as changed

from evictd.codec.records.journal_record import JournalRecord, decode_record
from evictd.commands.played.world_journal import journal_lines as played_lines
from evictd.core.units.duration import MINUTE, SECOND
from evictd.render.history.evictions import evictions_of
from evictd.render.incident.record.collect import incident_of
from evictd.render.incident.record.filled import (
    filled_lines,
    fills_host,
    is_unknown,
    outside_pods_held,
    pods_filled_again,
    who_filled,
)
from evictd.world.behaviours import Grow, Stops, Usage
from evictd.world.loop import play
from evictd.world.model import HostUse, Owner
from tests.playbook import config
from tests.render.recorded_incident import incident, journal_lines
from tests.world.worlds import GI, MI, hog, holder, world


def test_what_pods_took_again_is_no_part_of_what_filled_the_supply() -> None:
    """A pod took its 300Mi again after a restart and the host leaked: nothing was said of the host."""
    held = who_filled(decode_record(journal_lines()[1]))
    assert held is not None
    assert fills_host(held)
    grown = held.elsewhere.grown
    with_pods = replace(held, evictable=replace(held.evictable, grown=3 * grown))
    assert not fills_host(with_pods)
    assert fills_host(with_pods, 2 * grown)
    assert not fills_host(replace(held, outdated=1))
    assert not fills_host(replace(held, unread=1)), "pods wrote it since they were read, and the host was blamed"
    assert is_unknown(replace(held, unread=1))
    assert not is_unknown(replace(with_pods, unread=1))
    assert not any(map(is_unknown, (held, None)))
    assert not fills_host(None)
    assert outside_pods_held(held, incident().event) is None
    assert outside_pods_held(None, incident().event) is None


def returning_pod(host_rate: int) -> list[JournalRecord]:
    """A job fills memory, and a pod is evicted whose successor meets the threshold again; the host grows by so much a second."""
    job = hog(name="nightly", rate=0, memory="3Gi")
    job = replace(job, start=5 * MINUTE, behaviours=(Grow(of=Usage.MEMORY, rate=17 * MI, bound=2900 * MI),))
    ledger = holder("ledger", 1200 * MI, Usage.MEMORY, memory="1Gi", priority=500, owner="StatefulSet/ledger", grace=45)
    ledger = replace(ledger, behaviours=(*ledger.behaviours, Stops(after=20 * SECOND)))
    web = holder("web", 3100 * MI, Usage.MEMORY, memory="4Gi", priority=500)
    host = HostUse(name="slab", behaviours=(Grow(of=Usage.MEMORY, rate=host_rate),))
    owner = Owner(name="StatefulSet/ledger", delay=5 * SECOND)
    of_world = world(job, ledger, web, memory=8 * GI, owners=(owner,), host=(host,), duration=12 * MINUTE)
    played = play(of_world, config(soft={"memory.available": ("1Gi", "30s")}, transition="1m"))
    return list(map(decode_record, played_lines(played, end=1_800_000_000 * SECOND)))


@pytest.mark.parametrize(("rate", "fills"), [(MI // 20, False), (MI // 3, False), (3 * MI // 2, True)])
def test_a_little_growth_of_the_host_fills_nothing_where_a_pod_came_back(rate: int, *, fills: bool) -> None:
    """The host grew by 3Mi in a minute after a pod had come back with 1200Mi: that was all that filled memory."""
    records = returning_pod(rate)
    evictions = evictions_of(records)
    first, event = evictions[:2]
    assert (first.pod, event.owner, event.pod != first.pod) == ("default/ledger", first.owner, True)
    number = next(n for n, each in enumerate(records) if each.wall == event.at)
    assert fills_host(who_filled(records[number]))
    assert incident_of(records, evictions, event.pod).host_filled == fills
    until = records[: number + 1]
    assert pods_filled_again(until, evictions, event) != fills
    assert not pods_filled_again(until, evictions[1:], event), "no eviction before it"
    assert not pods_filled_again((), evictions, event)
    blind = [changed(each, findings=()) if each.wall == first.at else each for each in until]
    assert not pods_filled_again(blind, evictions, event), "what filled it before is not known"
    assert not pods_filled_again([*until[:-1], changed(until[-1], findings=())], evictions, event)


FELL = tuple((float(at), 4000 - (at + 600) * 50) for at in range(-600, -549, 10))

FOUND = replace(incident(), points=(*FELL, *((float(at), 1500) for at in range(-540, 1, 10)), (10.0, 1800)))


def test_what_grew_no_more_for_minutes_is_said_with_the_time() -> None:
    """What filled the disk had ended ten minutes before, and was told as if it had gone on (world 03)."""
    assert FOUND.event.filled
    assert filled_lines(FOUND) == (
        FOUND.event.filled,
        "Nothing has grown since 23:51:20.",
    )


@pytest.mark.parametrize(
    "points",
    [
        (),
        tuple((float(at), 1500) for at in range(-600, 1, 10)),
        tuple((float(at), 4000 - at) for at in range(-600, 1, 10)),
        tuple((float(at), 4000 if at < -30 else 1500) for at in range(-600, 1, 10)),
    ],
    ids=["no reading", "no reading of the growth", "it grows on", "it ended in the last minute"],
)
def test_else_only_who_filled_it_is_said(points: tuple[tuple[float, int], ...]) -> None:
    assert filled_lines(replace(FOUND, points=points)) == (FOUND.event.filled,)
    assert filled_lines(replace(FOUND, event=replace(FOUND.event, filled=""))) == ()
