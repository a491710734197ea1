"""The document behind `evictd status`."""

import json
from dataclasses import replace
from typing import Any

import pytest

from evictd.core.eviction.keep_away import kept_away
from evictd.core.model.pod import PodSource
from evictd.core.model.signal import NodeCondition, Signal
from evictd.core.model.state import Comeback
from evictd.core.model.stats import ContainerStats, DiskUsage
from evictd.core.units.duration import MINUTE, SECOND
from evictd.daemon.telemetry.findings_log import changes, topics
from evictd.render.status.timing import conditions
from evictd.world.behaviours import Grow, Hold, Usage
from evictd.world.loop import play
from evictd.world.model import HostUse, WorldPod
from tests.daemon.status import status_of
from tests.daemon.world import GI, NOW, snapshot
from tests.playbook import config, pod
from tests.render.snapshots import incident_snapshot, snapshot_at
from tests.world.worlds import MI, hog, world


def test_it_is_plain_json() -> None:
    document = status_of(snapshot(GI // 2), NOW)
    assert json.loads(json.dumps(document)) == document


def test_signals_come_with_their_thresholds_and_how_they_stand() -> None:
    memory = status_of(snapshot(GI + 1), NOW)["signals"][0]
    assert (memory["signal"], memory["available"], memory["capacity"]) == ("memory.available", GI + 1, 8 * GI)
    soft, hard = memory["thresholds"]
    assert (soft["kind"], soft["met"], soft["graceLeftSeconds"], soft["limit"]) == ("soft", True, 90.0, 2 * GI)
    assert (hard["kind"], hard["met"], hard["graceLeftSeconds"]) == ("hard", False, None)


def test_a_signal_that_cannot_be_read_is_listed_as_such() -> None:
    signals = {entry["signal"]: entry for entry in status_of(snapshot(4 * GI), NOW)["signals"]}
    assert signals["pid.available"]["observed"] is False
    assert "imagefs.available" not in signals


def test_the_next_pod_is_the_first_that_is_not_protected() -> None:
    signals = {entry["signal"]: entry for entry in status_of(snapshot(4 * GI), NOW)["signals"]}
    assert signals["memory.available"]["next"] == {
        "pod": "default/hog",
        "why": "requests none and uses 6Gi, while default/web exceeds its request by only 4Gi",
        "priority": 0, "usage": 6 * GI, "request": 0, "gracePeriodSeconds": 1,
        "budgetMayRefuse": True, "refusedSecondsAgo": None,
    }  # fmt: skip


def test_a_pod_that_was_not_walked_is_not_measured() -> None:
    """The daemon walks no pod of a calm disk; the layer alone, which the runtime reports, read as "uses 0"."""
    seen = snapshot(4 * GI)
    layer = ContainerStats("main", None, DiskUsage(0, 0), None)
    stats = {uid: replace(stats, containers=(layer,)) for uid, stats in seen.observation.pod_stats.items()}
    document = status_of(replace(seen, observation=replace(seen.observation, pod_stats=stats)), NOW)
    disk = next(entry for entry in document["signals"] if entry["signal"] == "nodefs.available")
    assert disk["next"] is None or disk["next"]["usage"] is None


def test_what_grew_on_a_disk_belongs_to_no_pod_only_where_every_pod_was_read_since() -> None:
    """It was never said before a threshold was met, so the advice was to end pods that did not grow."""
    seen = incident_snapshot("02-host-path-writer", 200)

    def elsewhere(**changed: Any) -> int | None:
        stats = {uid: replace(each, **changed) for uid, each in seen.observation.pod_stats.items()}
        changes = replace(seen, observation=replace(seen.observation, pod_stats=stats))
        disk = next(e for e in status_of(changes, seen.at)["signals"] if e["signal"] == "nodefs.available")
        found: int | None = disk["growing"]["elsewhere"]
        return found

    assert elsewhere() == 200 * (200 << 20)
    assert elsewhere(disk_time=151 * SECOND) is not None
    assert elsewhere(disk_time=149 * SECOND) is None, "what a pod took since seems to belong to no pod"
    assert elsewhere(layers_time=None) is elsewhere(disk_at_least=True) is None


def test_the_reason_why_no_pod_is_next_is_shown() -> None:
    disk = next(e for e in status_of(snapshot(4 * GI), NOW)["signals"] if e["signal"] == "nodefs.available")
    assert (disk["next"], disk["stopReason"]) == (None, "NoPodMeasured")
    assert disk["stop"] == "no evictable pod is measured for this signal, so none is chosen"


def test_a_pod_that_is_being_evicted_is_not_next() -> None:
    document = status_of(snapshot(GI // 2), NOW)
    assert [(row["pod"], row["held"], row["missing"]) for row in document["leaving"]] == [
        ("default/hog", 6 * GI, GI // 2)
    ]
    memory = next(entry for entry in document["signals"] if entry["signal"] == "memory.available")
    assert memory["next"]["pod"] == "default/web"
    assert document["phase"]["name"] == "CleaningUp"


def test_conditions_say_how_long_they_will_stay() -> None:
    conditions = {entry["type"]: entry for entry in status_of(snapshot(GI // 2), NOW + SECOND)["conditions"]}
    memory, pids = conditions["MemoryPressure"], conditions["PIDPressure"]
    assert (memory["type"], memory["status"], memory["staysSeconds"]) == ("MemoryPressure", "True", 299.0)
    assert (pids["status"], pids["staysSeconds"], pids["since"], pids["until"]) == ("False", None, None, None)


def test_the_last_decisions_are_shown() -> None:
    document = status_of(snapshot(4 * GI), NOW)
    (decision,) = document["decisions"]
    assert (decision["at"], decision["kind"], decision["text"], decision["why"]) == (
        "2023-11-14T22:13:20Z", "EvictPod", "evict default/hog", ""
    )  # fmt: skip


def test_a_condition_that_stays_longer_than_configured_says_why() -> None:
    comeback = Comeback(
        owner="default/ReplicaSet/hog", condition=NodeCondition.MEMORY_PRESSURE, evicted_at=(NOW,), evictions=4,
        period=20 * MINUTE,
    )  # fmt: skip
    seen = snapshot(GI // 2)
    config, state = replace(seen.config, keep_away=True), replace(seen.state, comebacks=(comeback,))
    seen = replace(seen, config=config, state=state, findings=(*seen.findings, *kept_away(state, config, NOW)))
    memory, disk, _ = status_of(seen, NOW)["conditions"]
    assert (memory["staysSeconds"], disk["why"]) == (1200.0, "")
    assert memory["why"] == (
        "MemoryPressure and its taint stay 20m0s after the shortage, because pods of default/ReplicaSet/hog come back when "
        "they end: 4 were evicted"
    )
    assert memory["why"] in list(conditions(status_of(seen, NOW)))
    assert any("come back when they end" in line.event for line in changes({}, topics(seen.findings, (), {})))


def test_a_pod_that_holds_again_what_it_held_before_a_kill_did_not_grow() -> None:
    """The advice was to limit a static pod that took its 600Mi again, above its request, while a host service leaked."""
    static = WorldPod(
        pod=pod("api", memory="512Mi", source=PodSource.STATIC), behaviours=(Hold(of=Usage.MEMORY, amount=600 * MI),)
    )
    agent = HostUse(name="agent", behaviours=(Grow(of=Usage.MEMORY, rate=2 * MI),), oom_score_adj=-900)
    of = world(static, host=(agent,), memory=2 * GI, duration=20 * MINUTE)
    near = snapshot_at(play(of, config(hard={"memory.available": "500Mi"})), 1050)
    (entry,) = [each for each in status_of(near, near.at)["signals"] if each["signal"] == "memory.available"]
    assert near.state.holdings[Signal.MEMORY_AVAILABLE].growing["api"].grown == 600 * MI, (
        "it was killed, and runs again"
    )
    assert (entry["growing"]["pods"], entry["growing"]["elsewhere"]) == ([], 20 * MI)


@pytest.mark.parametrize(("used", "grown", "said"), [(65, 700, 65), (900, 800, 800), (-10, 790, 790)])
def test_what_belongs_to_no_pod_did_not_grow_by_more_than_it_holds(used: int, grown: int, said: int) -> None:
    """A pod freed bytes that the disk showed before its usage was read again: the advice was to free space outside pods."""
    of = world(hog(rate=2 * MI, memory="1Mi"), memory=GI, duration=3 * MINUTE)
    near = snapshot_at(play(of, config(hard={"memory.available": "500Mi"})), 30)
    held = near.state.holdings[Signal.MEMORY_AVAILABLE]
    assert held.elsewhere is not None
    lowest = (used - grown) * MI
    rest = held.elsewhere._replace(used=used * MI, lowest=lowest, lowest_before=lowest)
    holdings = {Signal.MEMORY_AVAILABLE: replace(held, elsewhere=rest)}
    seen = replace(near, state=replace(near.state, holdings=holdings), trends=replace(near.trends, usage={}))
    memory = next(each for each in status_of(seen, seen.at)["signals"] if each["signal"] == "memory.available")
    assert memory["growing"]["elsewhere"] == said * MI


@pytest.mark.parametrize("seconds", [300, 400, 500])
def test_a_pod_that_grows_no_more_is_not_the_one_that_fills_memory(seconds: int) -> None:
    """The advice was to end a pod that had stopped to grow minutes ago, while another one filled memory."""
    stopped = WorldPod(
        pod=pod("stopped", memory="100Mi", priority=100),
        behaviours=(Grow(of=Usage.MEMORY, rate=10 * MI, bound=800 * MI),),
    )
    of = world(stopped, hog(rate=2 * MI, memory="1Mi"), memory=3000 * MI, duration=10 * MINUTE)
    near = snapshot_at(play(of, config(hard={"memory.available": "500Mi"})), seconds)
    (entry,) = [each for each in status_of(near, near.at)["signals"] if each["signal"] == "memory.available"]
    assert entry["growing"]["pods"][0]["pod"] == "default/hog"
