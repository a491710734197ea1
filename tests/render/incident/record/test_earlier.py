"""Evictions that growth of one pod caused, however long before the one of an incident."""

from dataclasses import replace
from typing import Any

import pytest
from msgspec.structs import replace as changed

from evictd.codec.records.journal_record import JournalRecord, decode_record
from evictd.commands.played.world_journal import journal_lines
from evictd.core.model.signal import Resource
from evictd.core.units.duration import MINUTE
from evictd.render.history.evictions import evictions_of
from evictd.render.incident.record.earlier import Earlier, earlier_evictions, evicted_for, of_one_owner
from evictd.world.behaviours import Usage
from evictd.world.loop import play
from tests.playbook import config
from tests.world.worlds import GI, MI, hog, holder, world

END = 1_800_000_000 * 10**9


@pytest.fixture(scope="module")
def slow_leak() -> tuple[JournalRecord, ...]:
    """A leak of 2Mi a second: a job goes after about 16 minutes, a cache 12 minutes later, and the leak 17 minutes later."""
    leak = hog(rate=2 * MI, name="api", priority=100, memory="1Gi")
    job = holder("nightly", 1500 * MI, Usage.MEMORY, memory="1Gi")
    cache = holder("cache", 2000 * MI, Usage.MEMORY, priority=50, memory="1Gi")
    rest = holder("rest", 2000 * MI, Usage.MEMORY, priority=100, memory="2Gi")
    played = play(
        world(leak, job, cache, rest, memory=8 * GI, duration=60 * MINUTE), config(hard={"memory.available": "500Mi"})
    )
    return tuple(map(decode_record, journal_lines(played, end=END)))


def found(records: tuple[JournalRecord, ...]) -> tuple[Earlier, ...]:
    evictions = evictions_of(records)
    event = evictions[-1]
    last = next(n for n, each in enumerate(records) if each.wall == event.at and any(_evicts(each)))
    return earlier_evictions(records[: last + 1], evictions, event)


def _evicts(record: JournalRecord) -> list[Any]:
    return [each for each in record.decisions if each["kind"] == "EvictPod"]


def without_attribution(record: JournalRecord) -> JournalRecord:
    return changed(record, findings=tuple(each for each in record.findings if each["kind"] != "Attribution"))


def test_each_eviction_of_the_same_growth_is_found_with_what_the_pod_held_then(
    slow_leak: tuple[JournalRecord, ...],
) -> None:
    first, second = found(slow_leak)
    assert [each.event.pod for each in (first, second)] == ["default/nightly", "default/cache"]
    for each in (first, second):
        assert (each.grower, each.now, [*each.held]) == ("default/api", "default/api", ["default/api"])
    assert second.held["default/api"] - first.held["default/api"] == pytest.approx(1500 * MI, rel=0.02)


def test_without_an_attribution_each_pod_that_grew_on_may_be_the_one(slow_leak: tuple[JournalRecord, ...]) -> None:
    first, _ = found(tuple(map(without_attribution, slow_leak)))
    assert (first.grower, [*first.held]) == ("", ["default/api"])


def test_a_pod_that_gave_its_memory_back_meanwhile_did_not_grow_on(slow_leak: tuple[JournalRecord, ...]) -> None:
    evicting = [n for n, each in enumerate(slow_leak) if _evicts(each)]
    again = list(slow_leak)
    again[evicting[1] - 1] = changed(again[evicting[1] - 1], observation=again[0].observation)
    assert [each.event.pod for each in found(tuple(again))] == ["default/cache"]


@pytest.fixture(scope="module")
def workers() -> tuple[JournalRecord, ...]:
    """A leak of 3Mi a second within its request, for which two steady pods of one owner go before it exceeds that."""
    leak = hog(rate=3 * MI, name="orders", memory="4Gi", priority=100, owner="ReplicaSet/orders")
    steady = [holder(f"worker-{n}", 800 * MI, memory="700Mi", owner="ReplicaSet/worker") for n in range(3)]
    played = play(world(leak, *steady, memory=8 * GI, duration=50 * MINUTE), config(hard={"memory.available": "500Mi"}))
    return tuple(map(decode_record, journal_lines(played, end=END)))


def test_a_victim_of_the_same_owner_counts_where_the_pod_of_another_one_grew(
    workers: tuple[JournalRecord, ...],
) -> None:
    """The limit that spares the last of four workers was said to be enough: with it the first three go as they did."""
    evictions = [each for each in evictions_of(workers) if each.owner == "ReplicaSet/worker"]
    assert len(evictions) > 1
    last = next(n for n, each in enumerate(workers) if each.wall == evictions[-1].at and _evicts(each))
    earlier = earlier_evictions(workers[: last + 1], evictions, evictions[-1])
    assert [each.event.pod for each in earlier] == [each.pod for each in evictions[:-1]]
    assert {each.now for each in earlier} == {"default/orders"}
    unsure = tuple(map(without_attribution, workers[: last + 1]))
    assert {pod for each in earlier_evictions(unsure, evictions, evictions[-1]) for pod in each.held} == {
        "default/orders"
    }


def test_what_came_in_the_place_of_a_pod_that_grew_has_no_earlier_victim(
    slow_leak: tuple[JournalRecord, ...],
) -> None:
    """The growth of its own owner's pod evicted it: that is another growth than its successor's."""
    event = replace(evictions_of(slow_leak)[-1], owner="ReplicaSet/api")
    kin = replace(evictions_of(slow_leak)[0], owner="ReplicaSet/api")
    (other,) = earlier_evictions(_until(slow_leak, event.at), (kin, evictions_of(slow_leak)[1], event), event)
    assert other.event.pod == "default/cache"


def _until(records: tuple[JournalRecord, ...], at: str) -> tuple[JournalRecord, ...]:
    last = next(n for n, each in enumerate(records) if each.wall == at and _evicts(each))
    return records[: last + 1]


def test_only_evictions_of_other_owners_for_the_resource_count(slow_leak: tuple[JournalRecord, ...]) -> None:
    event, *_ = evictions_of(slow_leak)
    assert evicted_for(event, Resource.MEMORY)
    assert not evicted_for(event, Resource.INODES)
    owned = replace(event, owner="Job/a")
    assert not of_one_owner(event, event)
    assert of_one_owner(owned, owned)
    assert not of_one_owner(owned, replace(owned, pod="other/nightly"))
    of_limit = replace(event, evidence={"because": {"signal": "emptydir-limit"}})
    assert earlier_evictions(slow_leak, (of_limit,), of_limit) == ()
