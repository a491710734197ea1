"""Who holds a supply, how much of it grew, and what counts of a pod that was not measured."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from evictd.core.eviction.accounts.holdings import WINDOW, follow_holdings, growth_elsewhere, growth_of_pods, level
from evictd.core.eviction.reclaim import Layout
from evictd.core.model.attribution import Crossing
from evictd.core.model.holdings import MeasuredLevel, SupplyHoldings
from evictd.core.model.observation import Observation, RemovedPod, signal_observations
from evictd.core.model.pod import Pod, PodSource
from evictd.core.model.signal import Signal
from evictd.core.model.state import State, Victim
from evictd.core.model.stats import MemoryStats, PodStats
from evictd.core.model.threshold import Threshold
from evictd.core.units.duration import SECOND
from tests.playbook import node, pod, threshold, usage

A, B = pod("a"), pod("b")
MEMORY = threshold("memory.available", "100")


def follow(state: State, observation: Observation, watched: Threshold, now: int) -> State:
    seen = {} if observation.node is None else signal_observations(observation.node)
    found = follow_holdings(state, observation, seen, [watched], layout=Layout.SINGLE, now=now)
    return replace(state, holdings=found)


def read(
    state: State, now: int, *stats: PodStats, pods: tuple[Pod, ...] = (A, B), left: int = 500, cgroup: int | None = None
) -> State:
    """One reading of a node with a memory of 1000."""
    numbers = node(memory=f"{left} of 1000")
    if cgroup is not None:
        object.__setattr__(numbers, "pods_memory", MemoryStats(working_set_bytes=cgroup))
    observation = Observation(node=numbers, pods=pods, pod_stats={each.uid: each for each in stats})
    return follow(state, observation, MEMORY, now * SECOND)


def holdings(state: State) -> SupplyHoldings:
    return state.holdings[Signal.MEMORY_AVAILABLE]


def test_what_no_pod_holds_is_elsewhere() -> None:
    state = read(State(), 0, usage(A, memory="100"), usage(B, memory="50"))
    assert holdings(state).used == {"a": 100, "b": 50}
    assert holdings(state).elsewhere == MeasuredLevel(0, 350, 0, 350, 350, 0)


def test_the_rest_of_the_pods_cgroup_is_not_that_of_a_pod_that_runs_nothing() -> None:
    """A removed pod leaves its page cache there, and the pod whose image is pulled would go for it."""
    pulling = replace(B, phase="Pending")
    found = holdings(read(State(), 0, usage(A, memory="100"), pods=(A, pulling), cgroup=400))
    assert (found.used, found.unmeasured) == ({"a": 100}, None)
    assert found.elsewhere == MeasuredLevel(0, 400, 0, 400, 400, 0)
    starting = holdings(read(State(), 0, usage(A, memory="100"), usage(pulling), pods=(A, pulling), cgroup=400))
    assert starting.used == {"a": 100, "b": 300}
    two = holdings(read(State(), 0, usage(A, memory="100"), pods=(A, pulling, pod("c")), cgroup=400))
    assert two.used == {"a": 100, "c": 300}


def test_growth_is_told_apart() -> None:
    """A pod that arrives does not grow."""
    state = read(State(), 0, usage(A, memory="100"), pods=(A,))
    state = read(state, 10, usage(A, memory="150"), usage(B, memory="200"), left=210)
    assert growth_of_pods(holdings(state)) == 50
    assert growth_elsewhere(holdings(state)) == 40


def test_a_pod_counts_with_its_last_measurement_for_a_minute() -> None:
    state = read(State(), 0, usage(A, memory="100"), usage(B, memory="50"))
    assert set(holdings(read(state, 59, usage(A, memory="100"))).used) == {"a", "b"}
    assert set(holdings(read(state, 60, usage(A, memory="100"))).used) == {"a"}


def test_the_only_pod_that_was_not_measured_is_measured_by_the_cgroup_of_all() -> None:
    state = read(State(), 0, usage(A, memory="100"), cgroup=400)
    assert holdings(state).used["b"] == 300
    c = pod("c")
    state = read(State(), 0, usage(A, memory="100"), pods=(A, B, c), cgroup=400)
    assert set(holdings(state).used) == {"a"}
    assert holdings(state).unmeasured == MeasuredLevel(0, 300, 0, 300, 300, 0)
    assert holdings(state).elsewhere == MeasuredLevel(0, 100, 0, 100, 100, 0)


def test_the_only_pod_that_was_not_measured_is_read_from_the_cgroup_in_each_cycle() -> None:
    """It counted for a minute with what the rest of the cgroup was at first, and all that it took seemed to be no pod's."""
    state = read(State(), 0, usage(A, memory="100"), left=500, cgroup=400)
    state = read(state, 10, usage(A, memory="100"), left=400, cgroup=500)
    assert holdings(state).used["b"] == 400
    assert (growth_of_pods(holdings(state)), growth_elsewhere(holdings(state))) == (100, 0)
    unread = read(state, 20, usage(A, memory="100"), left=300)
    assert holdings(unread).used["b"] == 400
    assert holdings(unread).last_measured == {"b": 10 * SECOND}
    assert holdings(read(unread, 30, usage(A, memory="100"), left=300, cgroup=600)).used["b"] == 500


def test_what_another_pod_may_hold_is_not_that_of_the_one_read_from_the_cgroup() -> None:
    """What a pod took that was measured before, one that ends or one that still runs is not known to be the other's."""
    state = read(State(), 0, usage(A, memory="100"), left=500, cgroup=400)
    assert holdings(read(state, 10, left=400, cgroup=500)).used["b"] == 300
    ends = replace(state, in_flight=(Victim(uid="c", until=90 * SECOND),))
    assert holdings(read(ends, 10, usage(A, memory="100"), left=400, cgroup=500)).used["b"] == 300
    new = (A, B, pod("c"))
    assert holdings(read(state, 10, usage(A, memory="100"), pods=new, left=400, cgroup=500)).used["b"] == 300
    removed = Observation(
        node=node(memory="400 of 1000"),
        pods=(A, B),
        pod_stats={"a": usage(A, memory="100")},
        removed_pods={"c": RemovedPod(first_seen=0, runs=True)},
    )
    object.__setattr__(removed.node, "pods_memory", MemoryStats(working_set_bytes=500))
    assert holdings(follow(state, removed, MEMORY, 10 * SECOND)).used["b"] == 300


def test_growth_is_the_rise_above_the_lowest_of_the_last_minute() -> None:
    last: MeasuredLevel | None = None
    for at, used in enumerate([100, 150, 90, 200]):
        last = level(last, used, at * 10 * SECOND)
    assert last is not None
    assert last.grown == 110
    for at in range(4, 12):
        last = level(last, 200, at * 10 * SECOND)
    assert last.grown == 0, "what ended a minute ago is no growth"


def test_of_a_change_over_an_hour_a_minute_counts() -> None:
    last = level(level(None, 0, 0), 600, 60 * WINDOW)
    assert (last.grown, last.rate) == (10, 10 // 60)


def grown(state: State) -> dict[str, tuple[int, int]]:
    return {uid: (each.grown, each.rate) for uid, each in holdings(state).growing.items()}


def test_growth_of_a_pod_is_the_rise_above_its_lowest_of_the_last_minute() -> None:
    state = State()
    for at, used in enumerate(["100", "150", "90", "200"]):
        state = read(state, at * 10, usage(A, memory=used), usage(B, memory="50"))
    assert grown(state) == {"a": (110, 3)}
    for at in range(4, 12):
        state = read(state, at * 10, usage(A, memory="200"), usage(B, memory="50"))
    assert grown(state) == {}, "what ended a minute ago is no growth"


def test_growth_of_a_pod_over_an_hour_counts_with_its_mean_of_a_minute() -> None:
    state = read(State(), 0, usage(A, memory="0"), usage(B, memory="50"))
    state = read(state, 3600, usage(A, memory="600"), usage(B, memory="20"))
    assert grown(state) == {"a": (10, 0)}


def test_a_pod_that_arrived_grows_since_then() -> None:
    state = read(State(), 0, usage(A, memory="100"), pods=(A,))
    state = read(state, 20, usage(A, memory="100"), usage(B, memory="50"))
    state = read(state, 25, usage(A, memory="100"), usage(B, memory="100"))
    assert grown(state) == {"b": (50, 10)}
    for at in (30, 59):
        state = read(state, at, usage(A, memory="100"), usage(B, memory="100"))
    assert grown(state) == {"b": (50, 1)}, "it arrived 39 s ago"
    assert holdings(read(state, 60, usage(A, memory="100"), usage(B, memory="100"))).arrived == {}


def test_nothing_is_kept_of_a_pod_that_ended() -> None:
    state = read(State(), 0, usage(A, memory="100"), usage(B, memory="50"))
    found = holdings(
        read(read(state, 10, usage(A, memory="90"), usage(B, memory="60")), 20, usage(A, memory="90"), pods=(A,))
    )
    assert [set(each) for each in (found.used, found.lowest, found.lowest_before)] == [{"a"}] * 3
    assert found.arrived == {}


def on_disk(state: State, now: int, rootfs: str, logs: str | None = None) -> SupplyHoldings:
    used = usage(A, rootfs=rootfs, logs=logs)
    seen = Observation(node=node(nodefs="90 of 1000"), pods=(A,), pod_stats={"a": used})
    return follow(state, seen, threshold("nodefs.available", "100"), now * SECOND).holdings[Signal.NODEFS_AVAILABLE]


def test_sums_of_other_parts_are_no_growth() -> None:
    """Of fewer parts that are no more the last sum of all counts for a minute."""
    first = State(holdings={Signal.NODEFS_AVAILABLE: on_disk(State(), 0, "10", "5")})
    assert on_disk(first, 10, "17", "5").growing["a"].grown == 7
    more = on_disk(first, 10, "17")
    assert (more.used, more.growing, more.arrived) == ({"a": 17}, {}, {"a": 10 * SECOND})
    less = on_disk(first, 10, "15")
    assert (less.used, less.last_measured, less.arrived) == ({"a": 15}, {"a": 0}, {})


def test_a_supply_that_is_not_read_keeps_its_holdings_for_a_minute() -> None:
    state = read(State(), 0, usage(A, memory="100"))
    unread = Observation(node=node(), pods=(A,))
    for now, kept in ((59, True), (60, False)):
        later = follow(state, unread, MEMORY, now * SECOND)
        assert (Signal.MEMORY_AVAILABLE in later.holdings) is kept


@pytest.mark.parametrize(("left", "followed"), [(360, True), (350, True), (361, False)])
def test_a_disk_is_followed_from_a_quarter_above_its_threshold_on(left: int, followed: bool) -> None:
    """Far from it nothing is decided, and to measure every pod's disk costs as much as a decision."""
    numbers = node(nodefs=f"{left} of 1000")
    observation = Observation(node=numbers, pods=(A,), pod_stats={"a": usage(A, rootfs="30")})
    state = follow(State(), observation, threshold("nodefs.available", "110"), 0)
    assert (Signal.NODEFS_AVAILABLE in state.holdings) is followed


def test_growth_of_pods_that_are_never_evicted_is_known() -> None:
    static = pod("static", source=PodSource.STATIC)
    state = read(State(), 0, usage(A, memory="100"), usage(static, memory="100"), pods=(A, static))
    state = read(state, 10, usage(A, memory="150"), usage(static, memory="170"), pods=(A, static))
    assert (holdings(state).grown_critical, growth_of_pods(holdings(state))) == (70, 120)


def test_a_pod_that_has_just_ended_does_not_make_the_rest_seem_to_grow() -> None:
    """Its processes are gone before it is: it counts with its last measurement, and the pods' cgroup says that this is gone."""
    state = read(State(), 0, usage(A, memory="100"), usage(B, memory="300"), left=500, cgroup=400)
    state = read(state, 1, usage(A, memory="100"), left=800, cgroup=100)
    state = read(state, 2, usage(A, memory="100"), pods=(A,), left=800, cgroup=100)
    assert growth_elsewhere(holdings(state)) == 0


def test_a_pod_that_is_ending_counts_with_what_its_cgroup_still_holds() -> None:
    state = read(State(), 0, usage(A, memory="100"), usage(B, memory="300"), left=500, cgroup=400)
    state = read(state, 1, usage(A, memory="100"), left=700, cgroup=200)
    assert growth_elsewhere(holdings(state)) == 0


def test_a_victim_whose_volumes_are_emptied_does_not_make_the_rest_seem_to_grow() -> None:
    """Its last walk still shows the bytes, and the disk has them back already."""
    state, disk = replace(State(), in_flight=(Victim(uid="a"),)), threshold("nodefs.available", "100")
    both = {"a": "250", "b": "50"}
    for now, left, layers in ((0, 90, both), (1, 340, both), (2, 340, {"b": "50"}), (3, 320, {"b": "50"})):
        state = follow(state, filled_disk(left, **layers), disk, now * SECOND)
        assert state.holdings[Signal.NODEFS_AVAILABLE].elsewhere is not None
    assert growth_elsewhere(state.holdings[Signal.NODEFS_AVAILABLE]) == 20


def test_a_victim_whose_memory_is_freed_during_a_reading_does_not_make_the_rest_seem_to_grow() -> None:
    """The node was read after the end of its processes, and its cgroup before."""
    state = replace(State(), in_flight=(Victim(uid="a"),))
    state = read(state, 0, usage(A, memory="300"), usage(B, memory="50"), left=100)
    state = read(state, 1, usage(A, memory="300"), usage(B, memory="50"), left=400)
    state = read(state, 2, usage(B, memory="50"), pods=(B,), left=400)
    assert growth_elsewhere(holdings(state)) == 0


def test_what_others_take_while_a_victim_gives_back_does_not_make_the_rest_seem_to_grow() -> None:
    """What came back hid behind what another pod took, so the victim seemed to owe it still, and two neighbours went for it.

    The victim's 250 are back at once, and of the other pod's 200 the layer's next reading knows.
    """
    owed, before = {Signal.NODEFS_AVAILABLE: 250}, {Signal.NODEFS_AVAILABLE: 90}
    ended = Victim(
        uid="a", cause=Signal.NODEFS_AVAILABLE, until=60 * SECOND, owed=owed, available_before=before, gone_at=SECOND
    )
    disk, state = threshold("nodefs.available", "100"), State()
    state = follow(state, filled_disk(90, a="250", b="50"), disk, 0)
    for now, left, used in ((2, 300, "50"), (8, 140, "250"), (9, 130, "250"), (70, 130, "260")):
        in_flight = (ended,) if now < 60 else ()
        state = follow(replace(state, in_flight=in_flight), filled_disk(left, b=used), disk, now * SECOND)
        assert growth_elsewhere(state.holdings[Signal.NODEFS_AVAILABLE]) <= 10


def filled_disk(left: int, **layers: str) -> Observation:
    """A node with a disk of 1000 and these pods' layers on it."""
    stats = {uid: usage(pod(uid), rootfs=layer) for uid, layer in layers.items()}
    return Observation(node=node(nodefs=f"{left} of 1000"), pods=tuple(map(pod, layers)), pod_stats=stats)


def filled_memory(left: int, **held: str) -> Observation:
    """A node with a memory of 1000 and what these pods hold of it."""
    stats = {uid: usage(pod(uid), memory=amount) for uid, amount in held.items()}
    return Observation(node=node(memory=f"{left} of 1000"), pods=tuple(map(pod, held)), pod_stats=stats)


@pytest.mark.parametrize(("signal", "seen"), [("nodefs.available", filled_disk), ("memory.available", filled_memory)])
def test_growth_stands_while_nothing_is_left_to_be_taken(signal: str, seen: Callable[..., Observation]) -> None:
    """A pod that took the last of a disk seemed to have ended a minute later, and quiet pods went in its place.

    So did one whose page cache took the last of memory: there the kernel kills nothing.
    """
    watched, supply = threshold(signal, "100"), Signal(signal)
    state = State(crossings={supply: Crossing(at=10 * SECOND)})
    for now, used in ((0, 800), (10, 850), (20, 900), *((at, 950) for at in range(30, 610, 30))):
        state = follow(state, seen(950 - used, a=str(used), b="50"), watched, now * SECOND)
    assert growth_of_pods(state.holdings[supply]) == 150
    for now in (630, 660, 690):  # ten minutes after the crossing the writer may have ended
        state = follow(state, seen(0, a="950", b="50"), watched, now * SECOND)
    assert growth_of_pods(state.holdings[supply]) == 0


def test_growth_ends_where_some_is_left_to_be_taken() -> None:
    disk, state = threshold("nodefs.available", "100"), State(crossings={Signal.NODEFS_AVAILABLE: Crossing(at=0)})
    for now, used in ((0, 100), (10, 600), (40, 600), (70, 600), (100, 600)):
        state = follow(state, filled_disk(50 if used == 600 else 500, a=str(used), b="50"), disk, now * SECOND)
    assert growth_of_pods(state.holdings[Signal.NODEFS_AVAILABLE]) == 0
