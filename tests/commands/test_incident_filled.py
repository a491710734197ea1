"""The owner whose pods filled what was short."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from evictd.codec.journal import JournalEntry, decode_entry
from evictd.commands.incident_filled import filling_owner
from evictd.commands.world_journal import journal_lines
from evictd.core.eviction.synchronize import synchronize
from evictd.core.model.pod import Pod
from evictd.core.model.signal import Signal
from evictd.core.units.duration import SECOND
from tests.render.played_worlds import incident_run


@pytest.fixture(scope="module")
def entry() -> JournalEntry:
    """The cycle of the first eviction of a world whose replicas grow together."""
    entries = map(decode_entry, journal_lines(incident_run("44-limit-of-evictions"), end=1_800_000_000 * SECOND))
    return next(each for each in entries if any(found["kind"] == "EvictPod" for found in each.decisions))


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
