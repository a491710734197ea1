"""Which pod goes at a threshold, if what grows now grows on."""

from dataclasses import replace

import pytest

from evictd.core.model.decision import EvictPod
from evictd.core.model.pod import PodSource
from evictd.core.model.state import Victim
from evictd.core.model.stats import RlimitStats
from evictd.core.units.duration import MINUTE, SECOND
from evictd.daemon.telemetry.snapshot import Snapshot
from evictd.daemon.telemetry.statusz.goes_then import at_threshold, goes_if_growth_ended
from evictd.daemon.telemetry.statusz.status_page import snapshot_view
from evictd.render.status.headline import headline
from evictd.world.behaviours import Grow, Hold, Usage
from evictd.world.loop import Run, play
from evictd.world.model import Disk, NodeSpec, World, WorldPod
from tests.daemon.status import status_of
from tests.playbook import config, pod
from tests.render.played_worlds import incident_run
from tests.render.shown_nodes import approaching, page
from tests.render.snapshots import incident_snapshot, snapshot_at
from tests.world.worlds import GI, MI, hog, holder, world


def _then(snapshot: Snapshot, signal: str = "memory.available") -> tuple[str, str]:
    """The pod that is next now, and the one that goes instead at the threshold."""
    (entry,) = [each for each in status_of(snapshot, snapshot.at)["signals"] if each["signal"] == signal]
    then = entry["nextIfItGrows"]
    return entry["next"]["pod"], "" if then is None else then["pod"]


@pytest.mark.parametrize(
    ("name", "seconds"),
    [
        ("16-long-grace-period", 10),
        ("17-daemon-sets-a-little-over", 10),
        ("25-budget-of-zero", 10),
        ("26-control-plain-leak", 30),
        ("39-resize-not-granted", 10),
    ],
)
def test_it_is_the_pod_that_goes(name: str, seconds: int) -> None:
    """`reaches its hard threshold in 18m14s`, and a pod was named that stays."""
    run = incident_run(name)
    now, then = _then(snapshot_at(run, seconds))
    went = [each.pod.full_name for cycle in run.cycles for each in cycle.step.decisions if isinstance(each, EvictPod)]
    assert then == went[0] != now


def _leak_beside_a_small_pod(rate: int) -> World:
    """A leak that ranks behind a pod of 300Mi, on a node that reaches its soft threshold of 600Mi."""
    leak = hog(Hold(of=Usage.MEMORY, amount=300 * MI), rate=rate, memory="1Mi")
    db = holder("db", 2000 * MI, memory="3000Mi")
    return world(holder("side", 300 * MI, memory="1Mi", priority=-10), leak, db, memory=3700 * MI, duration=12 * MINUTE)


@pytest.mark.parametrize(
    ("rate", "now", "goes"), [(MI, "default/side", "default/hog"), (2 * MI, "default/hog", "default/side")]
)
@pytest.mark.parametrize("before", [60, 30, 10])
def test_it_is_named_while_a_grace_period_runs(rate: int, now: str, goes: str, before: int) -> None:
    """The leak outgrows the pod that is enough now; or the hard threshold, of which less is missing, comes first."""
    run = play(
        _leak_beside_a_small_pod(rate),
        config(hard={"memory.available": "400Mi"}, soft={"memory.available": ("600Mi", "3m")}),
    )
    at, went = next(
        (cycle.at, each.pod.full_name)
        for cycle in run.cycles
        for each in cycle.step.decisions
        if isinstance(each, EvictPod)
    )
    assert went == goes
    assert _then(snapshot_at(run, at / SECOND - before)) == (now, goes)


def _leak_that_stops(grace: str) -> Run:
    """A large pod grew past its request and stopped below the soft threshold; a pod of low priority is enough by then."""
    leak = Grow(of=Usage.MEMORY, rate=60 * MI, bound=6300 * MI)
    grower = WorldPod(pod=pod("payments", memory="6Gi", priority=1000), behaviours=(leak,))
    pods = (grower, holder("logs", 700 * MI, memory="200Mi"), holder("db", 8000 * MI, memory="8Gi", priority=1000))
    limits = config(hard={"memory.available": "500Mi"}, soft={"memory.available": ("1500Mi", grace)})
    return play(world(*pods, memory=16 * GI, duration=5 * MINUTE), limits)


@pytest.mark.parametrize("grace", ["45s", "2m"])
def test_the_pod_that_goes_if_the_growth_has_ended_is_named_before_it_goes(grace: str) -> None:
    """`default/payments would be evicted first`, three seconds before default/logs went."""
    run = _leak_that_stops(grace)
    at, went = next(
        (cycle.at, each.pod.full_name)
        for cycle in run.cycles
        for each in cycle.step.decisions
        if isinstance(each, EvictPod)
    )
    assert went == "default/logs"
    stopped = [
        entry
        for near in (snapshot_at(run, seconds) for seconds in range(100, at // SECOND, 5))
        for entry in status_of(near, near.at)["signals"]
        if entry["signal"] == "memory.available" and entry["lately"] and entry["thresholds"][1]["met"]
    ]
    assert len(stopped) > 5
    for entry in stopped:
        assert "default/logs" in {each["pod"] for each in (entry["next"], entry["nextIfItStops"]) if each}
    assert {"pod": "default/logs"} in [entry["nextIfItStops"] for entry in stopped]


def test_of_growth_that_has_ended_nothing_is_said_where_the_same_pod_goes_or_a_fall_goes_on() -> None:
    stopped = snapshot_at(_leak_that_stops("45s"), 150)
    (seen,) = [each for each in status_of(stopped, stopped.at)["signals"] if each["signal"] == "memory.available"]
    view = snapshot_view(stopped)
    (answer,) = [each for each in view.answers if each.signal.value == "memory.available"]
    found = tuple(each for each in view.thresholds if each.threshold.signal is answer.signal)
    logs = {"pod": "default/logs"}
    assert goes_if_growth_ended(answer, found, seen, stopped) == logs
    assert goes_if_growth_ended(None, found, seen, stopped) is None
    assert goes_if_growth_ended(answer, found, {**seen, "lately": None}, stopped) is None
    due = tuple(replace(each, met=True, grace_left=0) for each in found)
    assert goes_if_growth_ended(answer, due, seen, stopped) is None
    far = tuple(replace(each, met=False) for each in found)
    assert goes_if_growth_ended(answer, far, seen, stopped) is None
    small = next(row for row in answer.rows if row.pod.full_name == "default/logs")
    assert goes_if_growth_ended(replace(answer, victim=small), found, seen, stopped) is None
    evicted = replace(stopped, state=replace(stopped.state, in_flight=(Victim(uid="ended"),)))
    assert goes_if_growth_ended(answer, found, seen, evicted) is None


@pytest.mark.parametrize(
    ("usage", "signal", "disk"),
    [
        (Usage.LAYER, "nodefs.available", Disk(capacity=3200 * MI)),
        (Usage.LAYER_INODES, "nodefs.inodesFree", Disk(capacity=100 * GI, inodes=3200 * MI)),
    ],
)
def test_a_pod_that_outgrows_the_first_one_of_a_disk_is_named(usage: Usage, signal: str, disk: Disk) -> None:
    """`Then evictd would evict default/side`, which had the most of now: the pod that grew went."""
    leak = hog(Hold(of=usage, amount=50 * MI), rate=MI, of=usage)
    pods = (leak, holder("side", 300 * MI, of=usage), holder("db", 2000 * MI, of=usage, priority=100))
    of = world(*pods, node=NodeSpec(memory=64 * GI, nodefs=disk), duration=10 * MINUTE)
    run = play(of, config(hard={signal: str(400 * MI)}))
    went = [each.pod.full_name for cycle in run.cycles for each in cycle.step.decisions if isinstance(each, EvictPod)]
    assert went[0] == "default/hog"
    assert _then(snapshot_at(run, 200), signal) == ("default/side", "default/hog")


@pytest.mark.parametrize("signal", ["nodefs.available", "imagefs.available"])
def test_it_is_named_for_each_signal_of_one_disk(signal: str) -> None:
    """With `imagefs.available` on the disk of nodefs, advice was to end a small pod, which did not help."""
    leak = hog(Hold(of=Usage.LAYER, amount=50 * MI), rate=MI, of=Usage.LAYER)
    pods = (leak, holder("side", 300 * MI, of=Usage.LAYER), holder("db", 2000 * MI, of=Usage.LAYER, priority=100))
    disk = NodeSpec(memory=64 * GI, nodefs=Disk(capacity=3200 * MI))
    run = play(world(*pods, node=disk, duration=MINUTE * 4), config(hard={signal: str(400 * MI)}))
    assert _then(snapshot_at(run, 200), signal) == ("default/side", "default/hog")


def test_none_is_named_where_the_first_pod_is_the_one_that_grows() -> None:
    assert _then(incident_snapshot("26-control-plain-leak", 300)) == ("default/controller", "")
    assert _then(incident_snapshot("46-control-recreated-fork-bomb", 10), "pid.available") == ("default/bomb", "")


def test_none_is_named_without_a_rate_and_where_a_threshold_is_met() -> None:
    leak = incident_snapshot("26-control-plain-leak", 30)
    view = snapshot_view(leak)
    answer = next(each for each in view.answers if each.signal.value == "memory.available")
    found = tuple(each for each in view.thresholds if each.threshold.signal is answer.signal)
    seen = next(each for each in status_of(leak, leak.at)["signals"] if each["signal"] == "memory.available")
    assert at_threshold(answer, found, seen, leak, leak.at) == {
        "nextIfItGrows": {
            "pod": "default/controller",
            "usage": 5_901_385_728,
            "request": 268_435_456,
            "grows": True,
        },
        "stopIfItGrows": "",
    }
    none = {"nextIfItGrows": None, "stopIfItGrows": ""}
    assert at_threshold(None, found, seen, leak, leak.at) == none
    assert at_threshold(answer, found, {**seen, "fillRate": None}, leak, leak.at) == none
    met = tuple(replace(each, met=True) for each in found)
    assert at_threshold(answer, met, seen, leak, leak.at) == none
    late = {**seen, "thresholds": [{**each, "secondsToThreshold": 3601.0} for each in seen["thresholds"]]}
    assert at_threshold(answer, found, late, leak, leak.at) == none


def _beside_a_static_pod() -> Run:
    """A static pod that holds the most grows by 14 MiB/s below a soft threshold; another pod exceeds its request."""
    grows = (Hold(of=Usage.MEMORY, amount=1500 * MI), Grow(of=Usage.MEMORY, rate=14 * MI))
    registry = WorldPod(pod=pod("registry", memory="200Mi", source=PodSource.STATIC), behaviours=grows)
    quiet = [holder(name, 550 * MI, memory="1Gi", priority=100) for name in ("web", "api")]
    pods = (registry, holder("worker", 300 * MI, memory="200Mi"), *quiet)
    limits = config(hard={"memory.available": "500Mi"}, soft={"memory.available": ("1Gi", "50s")})
    return play(world(*pods, memory=3840 * MI, duration=MINUTE), limits)


@pytest.mark.parametrize("seconds", [10, 20, 30])
def test_why_no_pod_goes_at_the_hard_threshold_is_said_before(seconds: int) -> None:
    """`batch/worker would be evicted first, with a grace period of 1s`, and at the hard threshold no pod went."""
    run = _beside_a_static_pod()
    assert not [each for cycle in run.cycles for each in cycle.step.decisions if isinstance(each, EvictPod)]
    snapshot = snapshot_at(run, seconds)
    status = status_of(snapshot, snapshot.at)
    (entry,) = status["signals"]
    why = "default/registry holds more than all pods that may be evicted and is a static pod"
    assert (entry["next"]["pod"], entry["stopIfItGrows"]) == ("default/worker", why)
    said = headline(status).text
    assert said.endswith(f" No pod would be evicted then: {why}; if the growth ends, default/worker would be.")
    assert "Why default/worker is first: " in page(snapshot), "the culprit is named before it too"


def test_processes_are_counted_as_well() -> None:
    """The pod with the most processes is first now; the one that grows has more at the threshold."""
    bomb = incident_snapshot("46-control-recreated-fork-bomb", 10)
    node = bomb.observation.node
    assert node is not None
    assert node.rlimit is not None
    uid = next(each.uid for each in bomb.observation.pods if each.name == "web-0")
    stats = bomb.observation.pod_stats
    many = replace(stats[uid], process_count=8_000)
    pods = tuple(replace(each, priority=0) for each in bomb.observation.pods)
    rlimit = RlimitStats(time=node.rlimit.time, max_pid=node.rlimit.max_pid, current=(node.rlimit.current or 0) + 8_000)
    seen = replace(bomb.observation, pods=pods, pod_stats={**stats, uid: many}, node=replace(node, rlimit=rlimit))
    held = bomb.state.holdings[next(each for each in bomb.state.holdings if each.value == "pid.available")]
    used = {**held.used, uid: 8_000}
    lowest, before = {**held.lowest, uid: 8_000}, {**held.lowest_before, uid: 8_000}
    holdings = {
        key: replace(each, used=used, lowest=lowest, lowest_before=before) if each is held else each
        for key, each in bomb.state.holdings.items()
    }
    assert _then(replace(bomb, observation=seen, state=replace(bomb.state, holdings=holdings)), "pid.available") == (
        "default/web-0",
        "default/bomb",
    )


def test_a_reading_without_holdings_names_none() -> None:
    near = approaching()
    bare = replace(near, state=replace(near.state, holdings={}))
    assert _then(bare)[1] == ""
