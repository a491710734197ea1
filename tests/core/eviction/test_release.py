"""When what an ended pod held is free, and how long it is waited for."""

from dataclasses import replace

import pytest

from evictd.core.eviction.accounts.release import (
    POD_CLEANUP_TIMEOUT,
    RELEASE_TIMEOUT,
    is_awaited,
    release_timeout,
    released_by,
    supply_released_at,
    with_volumes,
)
from evictd.core.model.observation import Observation, RemovedPod
from evictd.core.model.signal import STALLS, Signal
from evictd.core.model.state import Victim
from evictd.core.units.duration import SECOND

NODEFS, MEMORY = Signal.NODEFS_AVAILABLE, Signal.MEMORY_AVAILABLE
GONE = Victim(uid="a", cause=NODEFS, gone_at=SECOND)
WITH_VOLUMES = Observation(node=None, removed_pods={"a": RemovedPod(first_seen=SECOND, has_volumes=True)})


def test_volumes_that_are_seen_after_the_end_are_noted_within_the_kubelets_own_bound() -> None:
    assert with_volumes(GONE, WITH_VOLUMES, 5 * SECOND).volumes_at == 5 * SECOND
    late = POD_CLEANUP_TIMEOUT - RELEASE_TIMEOUT + SECOND
    assert with_volumes(GONE, WITH_VOLUMES, late) is GONE
    assert released_by(replace(GONE, volumes_at=late), NODEFS, SECOND) == POD_CLEANUP_TIMEOUT + SECOND


@pytest.mark.parametrize(
    ("victim", "observation"),
    [
        (replace(GONE, gone_at=None), WITH_VOLUMES),
        (replace(GONE, uid="b"), WITH_VOLUMES),
        (GONE, Observation(node=None, removed_pods={"a": RemovedPod(first_seen=SECOND, runs=True)})),
    ],
    ids=["not ended", "another pod", "no volumes"],
)
def test_nothing_is_noted_else(victim: Victim, observation: Observation) -> None:
    assert with_volumes(victim, observation, 5 * SECOND) is victim


def test_volumes_on_a_disk_hold_no_memory() -> None:
    kept = replace(GONE, volumes_at=5 * SECOND)
    assert released_by(kept, NODEFS, SECOND) == 5 * SECOND + RELEASE_TIMEOUT
    assert released_by(kept, MEMORY, SECOND) == SECOND
    in_memory = replace(kept, has_volumes_in_memory=True)
    assert released_by(in_memory, MEMORY, SECOND) == SECOND + RELEASE_TIMEOUT


def test_a_supply_that_runs_out_is_waited_for_on_disks_alone_and_not_for_long() -> None:
    soon, late = SECOND + RELEASE_TIMEOUT - 1, SECOND + RELEASE_TIMEOUT
    assert [is_awaited(GONE, NODEFS, now, pressing=True) for now in (soon, late)] == [True, False]
    assert [is_awaited(GONE, MEMORY, now, pressing=pressing) for now, pressing in ((soon, True), (late, False))] == [
        False,
        True,
    ]
    assert is_awaited(replace(GONE, gone_at=None), MEMORY, late, pressing=True)


def test_processes_end_before_volumes_are_removed() -> None:
    stopped = replace(GONE, gone_at=None, stopped_at=0)
    assert (supply_released_at(stopped, MEMORY), supply_released_at(stopped, NODEFS)) == (0, None)
    assert supply_released_at(replace(stopped, has_volumes_in_memory=True), MEMORY) is None
    stall = next(iter(STALLS))
    assert release_timeout(GONE, stall) == 2 * STALLS[stall].average * SECOND
