"""Who holds what is short, by the resource of a signal; the owner whose pods filled it, and the pods that came before."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from evictd.codec.records.journal import JournalEntry, decode_entry
from evictd.commands.decided.incident_holdings import (
    filling_owner,
    grown_since_crossing,
    growth_outside,
    holdings_of,
    with_arrivals_before,
)
from evictd.commands.played.world_journal import journal_lines
from evictd.core.eviction.synchronize import synchronize
from evictd.core.model.holdings import MeasuredLevel, SupplyHoldings
from evictd.core.model.pod import Pod
from evictd.core.model.signal import Signal
from evictd.core.model.state import State
from evictd.core.units.duration import SECOND
from evictd.render.incident.record.arrivals import NewPods
from tests.render.played_worlds import incident_run


def test_a_signal_has_the_holdings_of_its_resource() -> None:
    """What is left for pods of memory is of the supply of the node's memory."""
    held = SupplyHoldings(at=0, used={"a": 1}, lowest={}, lowest_before={})
    state = State(holdings={Signal.MEMORY_AVAILABLE: held})
    assert holdings_of(state, Signal.ALLOCATABLE_MEMORY_AVAILABLE) is held
    assert holdings_of(state, Signal.PID_AVAILABLE) is None
    assert grown_since_crossing(state, Signal.MEMORY_AVAILABLE) == {}, "it was never short"


def test_the_rest_did_not_grow_from_less_than_nothing() -> None:
    """A pod that ended gave back more than was measured of it, and the rest "grew" by as much when that was read."""
    rest = MeasuredLevel(at=60, used=10, begun=30, lowest=10, lowest_before=-650, since=0)
    outside = growth_outside(SupplyHoldings(elsewhere=rest))
    assert outside is not None
    assert (outside.grown, outside.since) == (10, 0)
    for other in (None, rest._replace(used=-5), rest._replace(lowest_before=5)):
        assert growth_outside(SupplyHoldings(elsewhere=other)) == other, "the other is known no better"


def first_eviction(world: str) -> JournalEntry:
    """The cycle of the first eviction of a world."""
    entries = map(decode_entry, journal_lines(incident_run(world), end=1_800_000_000 * SECOND))
    return next(each for each in entries if any(found["kind"] == "EvictPod" for found in each.decisions))


@pytest.fixture(scope="module")
def entry() -> JournalEntry:
    """That of a world whose replicas grow together."""
    return first_eviction("44-limit-of-evictions")


def owner_of_filling(entry: JournalEntry, signal: Signal | None) -> str:
    """The owner by the state after the cycle."""
    state = synchronize(entry.state, entry.observation, entry.config, entry.now).state
    return filling_owner(entry.observation.pods, state, signal)


def test_it_is_the_owner_of_all_pods_that_grew(entry: JournalEntry) -> None:
    """`no one of them most of it` was all that was said of twenty replicas of one owner (world 44)."""
    assert owner_of_filling(entry, Signal.MEMORY_AVAILABLE) == "ReplicaSet/web"
    assert not owner_of_filling(entry, Signal.PID_AVAILABLE), "not short"
    assert not owner_of_filling(entry, None)


@pytest.mark.parametrize(
    "change",
    [
        lambda number, pod: replace(pod, owner="" if number % 2 else pod.owner),
        lambda number, pod: replace(pod, namespace="other" if number % 2 else pod.namespace),
        lambda number, pod: replace(pod, owner=""),
    ],
)
def test_pods_of_several_owners_have_none(entry: JournalEntry, change: Callable[[int, Pod], Pod]) -> None:
    pods = tuple(change(number, pod) for number, pod in enumerate(entry.observation.pods))
    changed = replace(entry, observation=replace(entry.observation, pods=pods))
    assert not owner_of_filling(changed, Signal.MEMORY_AVAILABLE)


def test_pods_that_came_are_counted_with_what_they_held() -> None:
    """An eviction was not needed, it said, while a pod came each five seconds (world 22)."""
    entry = first_eviction("22-minimum-reclaim")
    state = synchronize(entry.state, entry.observation, entry.config, entry.now).state
    found = with_arrivals_before(NewPods(after=1), entry.now, state, Signal.MEMORY_AVAILABLE)
    assert found == NewPods(before=7, over=35 * SECOND, held=350 << 20, after=1)
    assert with_arrivals_before(NewPods(), entry.now, state, None) == NewPods()
    assert with_arrivals_before(NewPods(), entry.now, None, Signal.MEMORY_AVAILABLE) == NewPods(), "a damaged record"
