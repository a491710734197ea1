"""The laws about outcomes of policy Standard, over generated worlds that are played to their end.

Each world has six to ten pods that hold what they hold, and one cause: the host, a pod that may not go, or a leak. `make laws`
plays ten thousand of them.
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import takewhile

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from evictd.core.eviction.laws.effect import LARGER_THAN_LAST
from evictd.core.model.decision import EvictPod, WithdrawEviction
from evictd.core.model.finding import ThresholdFinding
from evictd.core.model.pod import PodSource
from evictd.core.model.signal import Signal
from evictd.core.model.state import Victim
from evictd.core.units.duration import MINUTE, SECOND
from evictd.world.account import account_of
from evictd.world.behaviours import Behaviour, Grow, Hold, Stops, Unreadable, Usage
from evictd.world.kernel import OomKill
from evictd.world.loop import Run, play
from evictd.world.model import ApiServer, DisruptionBudget, HostUse, NodeSpec, Outage, World, WorldPod
from tests.playbook import config, pod

pytestmark = pytest.mark.slow
FEW = settings(derandomize=settings().max_examples < 1000)
"""The same few worlds every time in `make test-slow`; other ones each time in `make laws`."""

MI = 1 << 20
RESERVE = 500
SETTINGS = config(hard={"memory.available": f"{RESERVE}Mi"})
EVICTION_TIME = 40
"""Seconds that law Blame counts growth for each candidate (`shortage.EVICTION_TIME`)."""
RELIEVED_WITHIN = 30 * SECOND
CYCLE = 10
"""Seconds between two readings of a calm node."""
LARGEST = 300
"""MiB that a quiet pod holds at most."""
rates = st.integers(5, 60)
"""MiB per second."""


@st.composite
def quiet_pods(draw: st.DrawFn, over: int = 0) -> tuple[WorldPod, ...]:
    """Return pods that hold 50 to 300 MiB and request more, or up to `over` MiB less."""
    sizes = draw(st.lists(st.integers(50, LARGEST), min_size=6, max_size=10))
    margins = draw(st.lists(st.integers(-50, over), min_size=len(sizes), max_size=len(sizes)))
    priorities = draw(st.lists(st.sampled_from((0, 0, 1000)), min_size=len(sizes), max_size=len(sizes)))
    return tuple(
        WorldPod(
            pod=pod(f"quiet-{number}", memory=f"{max(size - margin, 16)}Mi", priority=priority),
            behaviours=(Hold(of=Usage.MEMORY, amount=size * MI),),
        )
        for number, (size, margin, priority) in enumerate(zip(sizes, margins, priorities, strict=True))
    )


def held(pods: tuple[WorldPod, ...]) -> int:
    """Sum up what quiet pods hold, in bytes."""
    return sum(each.amount for one in pods for each in one.behaviours if isinstance(each, Hold))


def exceeds_request(one: WorldPod) -> bool:
    """Whether a quiet pod holds more memory than it requests."""
    return held((one,)) > one.pod.containers[0].requests["memory"].value()


def node_with(pods: tuple[WorldPod, ...], room: int) -> NodeSpec:
    """Return a node with so much room, in MiB, before its threshold is met."""
    return NodeSpec(memory=held(pods) + (RESERVE + room) * MI)


def evictions(run: Run) -> Iterator[tuple[int, EvictPod]]:
    """Yield the time and the decision of each eviction; a shortened grace is none."""
    for cycle in run.cycles:
        for decision in cycle.step.decisions:
            if isinstance(decision, EvictPod) and not decision.shortens:
                yield cycle.at, decision


def first_met(run: Run) -> int | None:
    """Return when a threshold was met first."""
    met = (
        cycle.at
        for cycle in run.cycles
        if any(isinstance(each, ThresholdFinding) and each.met for each in cycle.step.findings)
    )
    return next(met, None)


def of_sizes(*sizes: int) -> tuple[WorldPod, ...]:
    """Return pods that hold these MiB and request them; the first has a higher priority."""
    return tuple(
        WorldPod(
            pod=pod(f"quiet-{number}", memory=f"{size}Mi", priority=0 if number else 1000),
            behaviours=(Hold(of=Usage.MEMORY, amount=size * MI),),
        )
        for number, size in enumerate(sizes)
    )


@FEW
@example(of_sizes(100, 50, 50, 50, 50, 50), 5, 100, None)
@given(quiet_pods(), rates, st.integers(100, 1000), st.sampled_from((None, -999)))
def test_while_only_the_host_grows_few_pods_go(
    pods: tuple[WorldPod, ...], rate: int, room: int, adjusted: int | None
) -> None:
    """Law Effect: at most two in the first ten minutes, and one more in each ten minutes after.

    It holds until the kernel kills for want of memory: what it kills begins anew, and what grows must be seen again. A pod that
    holds twice what each of the last two victims held is another attempt, and is not counted.
    """
    growth = HostUse(name="host", behaviours=(Grow(of=Usage.MEMORY, rate=rate * MI),), oom_score_adj=adjusted)
    world = World(name="host", node=node_with(pods, room), pods=pods, host=(growth,), duration=15 * MINUTE)
    run = play(world, SETTINGS)
    begin = first_met(run)
    assert begin is not None
    kills = (each.at for each in run.happened if isinstance(each.event, OomKill))
    until = next(kills, run.cycles[-1].at + 1)
    count, held = 0, list[int]()
    for victim in takewhile(lambda each: each.chosen_at < until, victims(run)):
        held.append(victim.owed[Signal.MEMORY_AVAILABLE])
        count += held[-1] < LARGER_THAN_LAST * max(held[-3:-1], default=held[-1])
        assert count <= 2 + (victim.chosen_at - begin) // (10 * MINUTE)


@FEW
@given(quiet_pods(), rates, st.integers(100, 1000), st.booleans())
def test_no_pod_within_its_request_goes_in_the_place_of_a_culprit_that_may_not_go(
    pods: tuple[WorldPod, ...], rate: int, room: int, guarded: bool
) -> None:
    """Law Blame, for a culprit that grows in the time of one eviction by more than each other pod holds on average.

    Where it grows more slowly the others can relieve the node for a while, and they go. Its growth must have been seen for a
    minute: before that it counts as slower than it is.
    """
    rate += held(pods) // len(pods) // MI // EVICTION_TIME
    room += 70 * rate
    source = PodSource.API if guarded else PodSource.STATIC
    culprit = WorldPod(
        pod=pod("culprit", memory="64Mi", source=source), behaviours=(Grow(of=Usage.MEMORY, rate=rate * MI),)
    )
    budgets = (DisruptionBudget(pods=frozenset(("default/culprit",))),) if guarded else ()
    world = World(
        name="culprit",
        node=node_with(pods, room),
        pods=(culprit, *pods),
        api_server=ApiServer(budgets=budgets),
        duration=5 * MINUTE,
    )
    assert {eviction.pod.name for _, eviction in evictions(play(world, SETTINGS))} <= {"culprit"}


@st.composite
def leaks(draw: st.DrawFn, over: int = 40) -> World:
    """Return a world with a leak that exceeds its request beside pods of which some may exceed theirs a little."""
    pods = draw(quiet_pods(over=over))
    rate, room = draw(rates), draw(st.integers(200, 2000))
    behaviours: tuple[Behaviour, ...] = (Grow(of=Usage.MEMORY, rate=rate * MI),)
    if draw(st.booleans()):
        behaviours += (Stops(after=None),)
    leak = WorldPod(pod=pod("leak", memory="64Mi", priority=draw(st.sampled_from((0, 1000)))), behaviours=behaviours)
    # Each pod over its request may go before a leak of higher priority, and then lasts for what it held.
    others = held(tuple(each for each in pods if exceeds_request(each))) // MI
    duration = ((room + others) // rate + 60) * SECOND
    return World(name="leak", node=node_with(pods, room), pods=(leak, *pods), duration=duration)


def victims(run: Run) -> Iterator[Victim]:
    """Yield the victims in the order in which they were chosen, each as it was then."""
    for cycle in run.cycles:
        chosen = {each.pod.uid for each in cycle.step.decisions if isinstance(each, EvictPod) and not each.shortens}
        yield from (victim for victim in cycle.step.state.in_flight if victim.uid in chosen)


@FEW
@given(leaks())
def test_no_small_pod_goes_before_the_leak(world: World) -> None:
    """Law Need: whatever goes before the leak holds at least half of what is missing."""
    for victim in victims(play(world, SETTINGS)):
        if victim.full_name == "default/leak":
            return
        assert victim.cause is not None
        assert victim.owed[victim.cause] * 2 >= victim.missing


@FEW
@given(leaks())
def test_a_leak_that_may_go_is_gone_and_the_node_relieved(world: World) -> None:
    """Law Progress: half a minute below the threshold in all, also where the leak goes only after another pod."""
    run = play(world, SETTINGS)
    account = account_of(run)
    assert account.short_for
    assert account.relieved_at is not None
    assert max(account.short_for.values()) <= RELIEVED_WITHIN
    assert "default/leak" in account.culprit_gone_at


@FEW
@given(leaks(over=0), st.integers(0, 60), st.integers(5, 50))
def test_a_leak_that_cannot_be_read_for_less_than_a_minute_costs_no_other_pod(
    world: World, later: int, seconds: int
) -> None:
    """Law Memory of readings, for a leak that was larger than each other pod when it was read last."""
    (growth,) = (each for each in world.pods[0].behaviours if isinstance(each, Grow))
    start = CYCLE + LARGEST * MI // growth.rate + later
    unread = Unreadable(start=start * SECOND, duration=seconds * SECOND)
    leak = replace(world.pods[0], behaviours=(*world.pods[0].behaviours, unread))
    run = play(replace(world, pods=(leak, *world.pods[1:])), SETTINGS)
    assert {eviction.pod.name for _, eviction in evictions(run)} == {"leak"}


@FEW
@given(quiet_pods(over=100), st.integers(10, 90), st.integers(1, 9))
def test_a_threshold_that_was_never_clear_lets_three_pods_go_in_ten_minutes(
    pods: tuple[WorldPod, ...], part: int, more: int
) -> None:
    """Law Prudence, while more than a twentieth of the supply is left."""
    memory = 8 << 30
    available = memory // 20 + memory * part // 200
    limit = available + held(pods) * more // 10
    system = HostUse(name="system", behaviours=(Hold(of=Usage.MEMORY, amount=memory - available - held(pods)),))
    world = World(name="never clear", node=NodeSpec(memory=memory), pods=pods, host=(system,), duration=9 * MINUTE)
    run = play(world, config(hard={"memory.available": str(limit)}))
    assert len(list(evictions(run))) <= 3


@FEW
@given(leaks(), st.sampled_from((0, 500)), st.integers(20, 100))
def test_while_an_answer_is_late_no_other_pod_is_asked_for(world: World, status: int, seconds: int) -> None:
    """Law Consent: one proposal at a time for a supply."""
    late = Outage(start=0, duration=seconds * SECOND, status=status)
    run = play(
        replace(world, api_server=ApiServer(outages=(late,))), config(soft={"memory.available": (f"{RESERVE}Mi", "5s")})
    )
    asked = set[str]()
    for cycle in run.cycles:
        if cycle.at >= late.duration:
            break
        for decision in cycle.step.decisions:
            if isinstance(decision, WithdrawEviction):
                asked.discard(decision.pod.uid)
            elif isinstance(decision, EvictPod):
                asked.add(decision.pod.uid)
        assert len(asked) <= 1
