"""On which cycles the pods must be read, and what a reading without them leaves as it was."""

from dataclasses import replace
from typing import Any

import pytest

from evictd.core.eviction.accounts.holdings import HALF
from evictd.core.eviction.calm import pods_needed
from evictd.core.eviction.synchronize import synchronize
from evictd.core.model.attribution import Crossing
from evictd.core.model.config import EvictionConfig
from evictd.core.model.observation import Filesystems, Observation
from evictd.core.model.signal import Filesystem, NodeCondition, Signal
from evictd.core.model.state import Collection, State, Victim
from evictd.core.units.duration import SECOND
from tests.playbook import as_kubelet, config, node, pod, usage

A = pod("a")
CALM = config(hard={"memory.available": "500Mi", "nodefs.available": "5Gi"})
FAR: dict[str, Any] = {"memory": "1001Mi of 8Gi", "nodefs": "60Gi of 100Gi", "nodefs_inodes": "90 of 100"}
READ = 100 * SECOND
AT_REST = State(filesystems=Filesystems())


def reading(**numbers: Any) -> Observation:
    """The node alone, with a pod as it was read before."""
    one = node(**FAR | numbers)
    one = replace(one, image_fs=one.fs, container_fs=one.fs)
    return Observation(node=one, pods=(A,), pod_stats={"a": usage(A, memory="2Gi")}, pods_read=False)


def needed(
    observation: Observation | None = None,
    state: State = AT_REST,
    settings: EvictionConfig = CALM,
    read_at: int | None = READ,
    now: int = READ + 20 * SECOND,
) -> bool:
    return pods_needed(state, reading() if observation is None else observation, settings, read_at=read_at, now=now)


def test_far_from_every_threshold_pods_are_read_every_half_of_the_window_of_growth() -> None:
    assert not needed()
    assert not needed(now=READ + HALF - 1)
    assert needed(now=READ + HALF)
    assert needed(read_at=None)


@pytest.mark.parametrize(
    ("what", "near"),
    [
        ({"memory": "999Mi of 8Gi"}, True),
        ({"memory": "1000Mi of 8Gi"}, False),
        ({"nodefs": "14Gi of 100Gi"}, True),
        ({"nodefs": "16Gi of 100Gi"}, False),
        ({"nodefs": "9Gi of 20Gi"}, True),
    ],
    ids=["twice memory", "more of memory", "a tenth of the disk", "more of the disk", "twice a small disk"],
)
def test_near_is_twice_the_amount_of_a_threshold_or_within_a_tenth_of_a_disk(what: dict[str, str], near: bool) -> None:
    assert needed(reading(**what)) is near


@pytest.mark.parametrize(("rate", "near"), [(1 << 20, True), (800 << 10, False), (-(1 << 30), False)])
def test_near_is_also_what_is_crossed_within_ten_minutes_at_the_present_rate(rate: int, near: bool) -> None:
    """501 MiB are left above the threshold."""
    found = reading()
    assert found.node is not None
    assert found.node.memory is not None
    filling = replace(found.node, memory=replace(found.node.memory, fill_rate=rate))
    assert needed(replace(found, node=filling)) is near


@pytest.mark.parametrize(
    "state",
    [
        replace(AT_REST, in_flight=(Victim(uid="a", until=0),)),
        replace(AT_REST, leaving=(Victim(uid="a", until=0),)),
        replace(AT_REST, collections={Filesystem.NODEFS: Collection(begun=0, until=0)}),
        replace(AT_REST, crossings={Signal.MEMORY_AVAILABLE: Crossing(at=0)}),
        replace(AT_REST, node_conditions=(NodeCondition.MEMORY_PRESSURE,)),
        State(),
        State(filesystems=Filesystems(dedicated_image_fs=True)),
    ],
    ids=["in flight", "leaving", "collected", "short", "condition", "no layout yet", "another layout"],
)
def test_pods_are_read_while_anything_is_under_way(state: State) -> None:
    assert needed(state=state)


def test_pods_are_read_where_they_may_exceed_a_limit_of_their_own() -> None:
    limited = pod("a", storage_limit="1Gi")
    assert needed(replace(reading(), pods=(limited,)))
    assert not needed(
        replace(reading(), pods=(limited,)), settings=replace(CALM, local_storage_capacity_isolation=False)
    )


def test_pods_are_read_in_each_cycle_under_policy_kubelet_and_with_a_threshold_on_stalls() -> None:
    assert needed(settings=as_kubelet(CALM))
    assert needed(settings=config(hard={"memory.available": "500Mi", "pods.memory.full.avg10": "30%"}))


def test_a_signal_that_could_not_be_read_is_not_far_from_its_threshold() -> None:
    swap = config(hard={"memory.available": "500Mi", "swap.available": "10%"})
    assert needed(settings=swap)
    assert not needed(replace(reading(), absent=frozenset({Signal.SWAP_AVAILABLE})), settings=swap)
    assert needed(replace(reading(), node=None))


def test_a_reading_without_pods_keeps_what_they_were_seen_to_hold_and_how_it_grew() -> None:
    """Else what the node took since the pods were read would count as growth that belongs to no pod."""
    full = replace(reading(memory="4Gi of 8Gi"), pods_read=True)
    before = synchronize(State(), full, CALM, READ).state
    after = synchronize(before, reading(memory="3Gi of 8Gi"), CALM, READ + 10 * SECOND)
    assert before.holdings
    assert after.state.holdings == before.holdings
    assert after.state.last_seen != before.last_seen
