"""An incident that is decided again: who grew, with another request, and whether the end was needed."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evictd.codec.records.journal import decode_entry
from evictd.commands.decided.incident_decided import (
    deleted_bytes,
    has_volume_in_memory,
    most_of_disk,
    read_incident,
    swapped_bytes,
    verdict_of,
)
from evictd.commands.decided.incident_past import UNKNOWN
from evictd.commands.played.world_journal import write_world_journal
from evictd.core.eviction.synchronize import synchronize
from evictd.core.model.config import Policy
from evictd.core.model.holdings import MeasuredLevel
from evictd.core.model.resources import IN_MEMORY, Volume, VolumeKind
from evictd.core.model.signal import Resource, Signal
from evictd.core.model.stats import DiskUsage
from evictd.core.units.duration import MINUTE, SECOND
from evictd.render.attribution import clock_text
from evictd.render.history.evictions import evictions_of
from evictd.render.history.history import EventKind
from evictd.render.incident.record.collect import incident_of
from evictd.render.incident.record.verdict import Need
from evictd.render.incident.remedy.request_remedy import request_avoidance
from evictd.world.behaviours import Grow, Usage
from evictd.world.loop import play
from evictd.world.model import ApiServer, Disk, DisruptionBudget, NodeSpec, Owner
from tests.daemon.world import GI, NOW, STATIC, WEB, uses
from tests.playbook import config, empty_dir, usage
from tests.render.recorded_incident import OLD, journal_lines, recorded
from tests.shortages import holders
from tests.world.worlds import hog, holder, world


def test_with_requests_of_the_whole_owner_none_of_its_pods_goes_in_the_place_of_another(tmp_path: Path) -> None:
    """Of two databases above their requests the second was said to go, as if the first alone could request more."""
    data = [empty_dir("data")]
    databases = [
        holder(f"db-{i}", 12 * GI, Usage.VOLUME, volumes=data, storage="10Gi", owner="StatefulSet/db") for i in range(2)
    ]
    loggers = [hog(rate=5 << 20, of=Usage.LOGS, name=f"log-{i}") for i in range(4)]
    node = NodeSpec(memory=8 * GI, nodefs=Disk(capacity=40 * GI, used=6 * GI))
    played = play(world(*databases, *loggers, node=node, duration=8 * MINUTE), config(hard={"nodefs.available": "10%"}))
    found = read_incident([write_world_journal(played, tmp_path, end=NOW)], "last")
    assert found.event.pod == "default/db-0"
    assert (found.with_request, found.with_owner_request) == ("default/db-1", "default/log-0")


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_a_request_is_one_of_all_pods_that_came_one_after_another(tmp_path: Path, count: int) -> None:
    """From the third pod on it was not said to cost the database: evictions paused after the others of that owner."""
    leak = hog(rate=30 << 20, name="etl", memory="512Mi", owner="ReplicaSet/etl")
    database = holder("db", 2300 << 20, memory="2Gi", priority=1000)
    rest = [holder(f"web-{i}", 400 << 20, memory="500Mi") for i in range(6)]
    back = Owner(name="ReplicaSet/etl", delay=5 * SECOND, tolerates=True)
    of = world(leak, database, *rest, memory=8 * GI, duration=count * 110 * SECOND, owners=(back,))
    played = play(of, config(hard={"memory.available": "500Mi"}))
    found = read_incident([write_world_journal(played, tmp_path, end=NOW)], "last")
    assert (found.of_owner, found.with_request) == (count, "default/db")


def test_a_request_counts_from_the_first_eviction_that_a_budget_refused(tmp_path: Path) -> None:
    """By the last of seven requests it was said to go all the same; at the first it held less than that, and web-0 goes."""
    grows = Grow(of=Usage.MEMORY, rate=3 << 20, bound=2450 << 20)
    leak = replace(holder("cache", 0, memory="1Gi"), behaviours=(grows,))
    rest = [holder(f"web-{i}", 830 << 20, memory="850Mi") for i in range(6)]
    budget = DisruptionBudget(pods=frozenset({"default/cache"}), allowed=0)
    of = world(leak, *rest, node=NodeSpec(memory=8 * GI, unusable_memory=64 << 20), duration=20 * MINUTE)
    of = replace(of, api_server=ApiServer(budgets=(budget,)))
    soft = config(soft={"memory.available": ("1Gi", "1m")}, hard={"memory.available": "300Mi"})
    found = read_incident([write_world_journal(play(of, soft), tmp_path, end=NOW)], "last")
    assert (found.event.pod, found.with_request) == ("default/cache", "default/web-0")
    first = next(each for each in found.before if each.kind is EventKind.REQUESTED)
    assert found.first_asked == first
    assert found.victim is not None
    (said,) = request_avoidance(found, found.victim, Resource.MEMORY).not_by
    assert said == (
        "a request of 2.4Gi of memory (it had 1Gi): default/web-0 would have gone in its place at "
        f"{clock_text(first.at)}, when evictd asked to evict this pod and it held 2.31Gi"
    )


def test_no_verdict_is_given_on_growth_since_the_pods_were_read(tmp_path: Path) -> None:
    """On a disk that was short at the start a layer grew unread, and the host was called the cause."""
    pods = (holder("web", 5 * GI, Usage.LAYER, storage="4Gi"), hog(rate=400 << 20, of=Usage.LAYER, name="writer"))
    node = NodeSpec(memory=8 * GI, nodefs=Disk(capacity=100 * GI, used=86 * GI))
    played = play(world(*pods, node=node, duration=MINUTE), config(hard={"nodefs.available": "10%"}))
    found = read_incident([write_world_journal(played, tmp_path, end=NOW)], "web")
    assert "since the pods were read" in found.event.filled
    assert (found.verdict, found.host_filled) == (None, False)


def test_the_usage_counts_swap_by_the_policy_of_evictd_alone() -> None:
    entry, found = decode_entry(journal_lines()[1]), incident_of(recorded(), evictions_of(recorded()), "last")
    stats = entry.observation.pod_stats
    measured = stats[OLD.uid].memory
    assert measured is not None
    memory = replace(measured, swap_bytes=GI)
    seen = replace(entry.observation, pod_stats={**stats, OLD.uid: replace(stats[OLD.uid], memory=memory)})
    entry = replace(entry, observation=seen)
    assert swapped_bytes(entry, found) == GI
    assert swapped_bytes(replace(entry, config=replace(entry.config, policy=Policy.KUBELET)), found) == 0
    assert swapped_bytes(entry, replace(found, signal=Signal.NODEFS_AVAILABLE)) == 0


def test_a_pod_that_grows_alone_was_needed_and_one_beside_it_not() -> None:
    entry = decode_entry(journal_lines()[1])
    grows = holders({OLD.uid: 2 * GI}, {OLD.uid: GI}, at=NOW)
    held = {OLD.uid: 6 * GI, WEB.uid: GI // 2, STATIC.uid: GI // 2}
    stats = {each.uid: uses(each, held[each.uid], entry.now) for each in entry.observation.pods}
    entry = replace(
        entry,
        state=replace(entry.state, holdings={Signal.MEMORY_AVAILABLE: grows}),
        observation=replace(entry.observation, pod_stats=stats),
    )
    state = synchronize(entry.state, entry.observation, entry.config, entry.now).state
    said = verdict_of(entry, state, Signal.MEMORY_AVAILABLE, "default/hog-old", past=UNKNOWN, again=frozenset())
    assert said is not None
    assert (said.need, said.fewest) == (Need.NEEDED, ("default/hog-old",))
    assert said.before == "the minute before"
    held_then = state.holdings[Signal.MEMORY_AVAILABLE]
    begun = replace(held_then, since=held_then.at - 12 * SECOND, arrived={})
    shorter = replace(state, holdings={**state.holdings, Signal.MEMORY_AVAILABLE: begun})
    young = verdict_of(entry, shorter, Signal.MEMORY_AVAILABLE, "default/hog-old", past=UNKNOWN, again=frozenset())
    assert young is not None
    assert young.before == "the 12 s before"
    other = verdict_of(entry, state, Signal.MEMORY_AVAILABLE, "default/web", past=UNKNOWN, again=frozenset())
    assert other is not None
    assert other.need is Need.ANOTHER_POD
    assert verdict_of(entry, state, Signal.NODEFS_AVAILABLE, "default/web", past=UNKNOWN, again=frozenset()) is None
    rest = MeasuredLevel(NOW, GI // 64, NOW, GI // 64, -6 * GI, NOW - MINUTE)
    ended = replace(state, holdings={**state.holdings, Signal.MEMORY_AVAILABLE: replace(held_then, elsewhere=rest)})
    after = verdict_of(entry, ended, Signal.MEMORY_AVAILABLE, "default/hog-old", past=UNKNOWN, again=frozenset())
    assert after is not None
    assert after.grower is not None
    assert after.grower.pod == "default/hog-old", "not what belongs to no pod, which was negative for a moment"


@pytest.mark.parametrize(
    ("used", "most"),
    [
        ({"rootfs": "1Gi", "logs": "60Gi"}, "container logs"),
        ({"rootfs": "60Gi", "volumes": {"data": "1Gi"}}, "writable layers"),
        ({"rootfs": "1Gi", "volumes": {"data": "60Gi"}}, "volumes"),
        ({"rootfs": "1Gi", "logs": "1Gi"}, ""),
    ],
)
def test_the_part_that_holds_most_of_a_pods_disk_use_is_named(used: dict[str, Any], most: str) -> None:
    """A report on a log of 68Gi did not speak of logs."""
    assert most_of_disk(usage(WEB, **used)) == most
    assert most_of_disk(None) == ""


def test_deleted_files_that_are_open_are_summed() -> None:
    stats = replace(
        usage(WEB, rootfs="1Gi"), deleted_layer=DiskUsage(used_bytes=2 * GI), deleted_local=DiskUsage(used_bytes=GI)
    )
    assert deleted_bytes(stats) == 3 * GI
    assert most_of_disk(stats) == "deleted files that are open"
    assert deleted_bytes(None) == 0


def test_an_empty_dir_in_memory_is_read_from_the_cycle() -> None:
    records = recorded()
    found = incident_of(records, evictions_of(records), "last")
    entry = decode_entry(journal_lines()[1])
    assert not has_volume_in_memory(entry, found)
    pods = (replace(OLD, volumes=(Volume(name="shm", kind=VolumeKind.EMPTY_DIR, medium=IN_MEMORY),)), WEB)
    entry = replace(entry, observation=replace(entry.observation, pods=pods))
    assert has_volume_in_memory(entry, found)
    disk = replace(found, signal=Signal.NODEFS_AVAILABLE)
    assert not has_volume_in_memory(entry, disk), "its size was to be limited for a full disk"


@pytest.mark.parametrize(
    ("rate", "need", "fewest"),
    [
        (20 << 10, Need.ANOTHER_POD, "default/leak"),
        (500 << 10, Need.ANOTHER_POD, "default/leak"),
        (2 << 20, Need.NEEDED, "default/cache"),
    ],
)
def test_growth_that_is_small_beside_that_of_another_pod_makes_no_end_needed(
    tmp_path: Path, rate: int, need: Need, fewest: str
) -> None:
    """A cache that took 20Ki a second beside a leak of 3Mi a second was said to be needed, and one that stood still was not."""
    cache = holder("cache", 1250 << 20, memory="800Mi")
    cache = replace(cache, behaviours=(*cache.behaviours, Grow(of=Usage.MEMORY, rate=rate)))
    leak = hog(rate=3 << 20, name="leak", memory="256Mi", priority=200)
    rest = [holder(f"web-{i}", 900 << 20, memory="1Gi") for i in range(4)]
    of = world(cache, leak, *rest, memory=8 * GI, duration=20 * MINUTE)
    played = play(of, config(hard={"memory.available": "500Mi"}), until_eviction_after=0)
    found = read_incident([write_world_journal(played, tmp_path, end=NOW)], "last")
    assert (found.event.pod, found.with_request) == ("default/cache", "default/leak")
    assert found.verdict is not None
    assert (found.verdict.need, found.verdict.fewest) == (need, (fewest,))
