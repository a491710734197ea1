"""The ledger's entries: victims and what they owe, collections and their outcomes."""

from dataclasses import replace

import pytest

from evictd.core.eviction.accounts.collecting import ended_reclaims, follow_collections, is_lost
from evictd.core.eviction.accounts.ledger import (
    amounts_owed,
    concerns,
    follow_victims,
    shortened,
    supplies,
    supply_of,
    victim_until,
)
from evictd.core.eviction.accounts.release import RELEASE_TIMEOUT
from evictd.core.eviction.reclaim import Layout
from evictd.core.model.observation import Observation, Outcomes, Reclaim, ReclaimOutcome
from evictd.core.model.signal import Filesystem, Signal
from evictd.core.model.state import Collection, Reclaiming, State, Victim
from evictd.core.model.threshold import stall_threshold
from evictd.core.units.duration import SECOND
from tests.playbook import Playbook, as_kubelet, config, node, pod, threshold, usage

NODEFS, MEMORY = Signal.NODEFS_AVAILABLE, Signal.MEMORY_AVAILABLE
LEAVING = Victim(uid="a", cause=NODEFS, until=9 * SECOND, owed={NODEFS: 50}, available_before={NODEFS: 100})
GONE = replace(LEAVING, gone_at=0)


def still_owed(victim: Victim, supply: Signal, available: int | None, now: int) -> int | None:
    """The amount of this supply that one victim still owes."""
    return amounts_owed((victim,), supply, available, now)[victim.uid]


def followed(
    victim: Victim,
    now: int,
    *,
    nodefs: int | None = 100,
    cleaned_up: tuple[str, ...] = (),
    stopped: tuple[str, ...] = (),
) -> list[Victim]:
    """One victim, one reading later; its pod is active."""
    outcomes = Outcomes(cleaned_up=frozenset(cleaned_up), stopped=frozenset(stopped))
    observation = Observation(node=node(), pods=(pod("a"),), outcomes=outcomes)
    available = {} if nodefs is None else {NODEFS: nodefs}
    return list(follow_victims((victim,), observation, available, supplies(Layout.SINGLE), now))


def test_a_pod_that_was_gone_and_is_a_victim_again_has_each_of_its_amounts() -> None:
    """What had come back was kept by uid: the cycle failed with a KeyError, and so did every later one."""
    first = Victim(
        uid="a", cause=NODEFS, until=9 * SECOND, owed={NODEFS: 50}, available_before={NODEFS: 100}, gone_at=0
    )
    again = Victim(uid="a", cause=MEMORY, until=9 * SECOND, owed={MEMORY: 10}, available_before={MEMORY: 7}, gone_at=0)
    other = Victim(
        uid="b", cause=NODEFS, until=9 * SECOND, owed={NODEFS: 20}, available_before={NODEFS: 100}, gone_at=0
    )
    observation = Observation(node=node(), pods=(pod("a"), pod("b")))
    for victims in ((first, again, other), (again, first, other)):
        found = follow_victims(victims, observation, {NODEFS: 110, MEMORY: 7}, supplies(Layout.SINGLE), SECOND)
        assert {(each.uid, tuple(each.owed)) for each in found} <= {
            ("a", (NODEFS,)),
            ("a", (MEMORY,)),
            ("b", (NODEFS,)),
        }
        assert "b" in {each.uid for each in found}


# --- supplies ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("signal", "layout", "supply"),
    [
        ("allocatableMemory.available", Layout.SINGLE, "memory.available"),
        ("pid.available", Layout.SPLIT, "pid.available"),
        ("imagefs.available", Layout.SINGLE, "nodefs.available"),
        ("containerfs.inodesFree", Layout.SINGLE, "nodefs.inodesFree"),
        ("containerfs.available", Layout.DEDICATED, "imagefs.available"),
        ("imagefs.inodesFree", Layout.DEDICATED, "imagefs.inodesFree"),
        ("containerfs.available", Layout.SPLIT, "nodefs.available"),
    ],
)
def test_signals_of_one_supply(signal: str, layout: Layout, supply: str) -> None:
    """With one disk imagefs is nodefs: what is owed to one is owed to the other (docs/faults.md, 19)."""
    assert supply_of(Signal(signal), layout) is Signal(supply)


def test_a_node_with_one_disk_has_five_supplies() -> None:
    """Memory, swap, PIDs, bytes and inodes."""
    assert len(supplies(Layout.SINGLE)) == 5
    assert len(supplies(Layout.DEDICATED)) == len(supplies(Layout.SPLIT)) == 7


# --- victims ----------------------------------------------------------------------------------------------------------


def test_a_victim_has_its_kill_and_its_clean_up() -> None:
    """max(10 s, one and a half times the grace) and 30 s more."""
    assert victim_until(1, 0) == 40 * SECOND
    assert victim_until(60, 0) == 120 * SECOND
    assert victim_until(-5, 0) == 40 * SECOND


def test_a_victim_remembers_what_it_should_give_back_of_every_supply() -> None:
    """Not only of the one that it was chosen for; what was not measured is not there."""
    a = pod("a")
    uses = [usage(a, memory="1Gi", logs="3Mi")]
    book = Playbook(config(hard={"memory.available": "1Gi"}), pods=[a], usage=uses)
    book.at("0s", memory="500Mi of 4Gi").conditions("MemoryPressure").evicts("a")
    [victim] = book.state.in_flight
    assert victim.cause is MEMORY
    assert victim.owed == {MEMORY: 2**30, NODEFS: 3 * 2**20, Signal.NODEFS_INODES_FREE: 0}
    assert victim.available_before == {MEMORY: 500 * 2**20}


def test_a_victim_that_was_not_measured_in_this_reading_owes_what_it_was_measured_to_use_before() -> None:
    """It counted as a victim that held nothing, so any pod was a larger one for the law Effect."""
    a, b = pod("a"), pod("b")
    uses = [usage(a, memory="2Gi"), usage(b, memory="10Mi")]
    book = Playbook(config(hard={"memory.available": "1Gi"}), pods=[a, b], usage=uses)
    book.at("0s", memory="2Gi of 8Gi").conditions().does_nothing()
    del book.usage["a"]
    book.at("10s", memory="500Mi of 8Gi").conditions("MemoryPressure").evicts("a")
    [victim] = book.state.in_flight
    assert victim.owed == {MEMORY: 2 << 30}


def test_what_a_victim_owes_of_a_stall_is_not_known() -> None:
    """The memory by which it was ranked is no share of the time: with it no pod that leaves anyway was shortened."""
    stall = stall_threshold(Signal.PODS_MEMORY_FULL_10, 2000, duration=0, hard=True)
    memory = replace(config(hard={}), thresholds=(stall,))
    book = Playbook(memory, pods=[pod("a")], usage=[usage(pod("a"), memory="2Gi", stall=50)])
    book.at("0s", memory="3Gi of 8Gi", stall=50).conditions("MemoryPressure").evicts("a")
    [victim] = book.state.in_flight
    assert stall.signal not in victim.owed


def test_the_zero_that_the_kubelet_ranks_a_pod_without_a_number_by_is_not_owed() -> None:
    """After a reload with policy Standard another pod would go beside it."""
    book = Playbook(as_kubelet(config(hard={"memory.available": "1Gi"})), pods=[pod("a")], usage=[usage(pod("a"))])
    book.at("0s", memory="500Mi of 8Gi").conditions("MemoryPressure").evicts("a")
    [victim] = book.state.in_flight
    assert MEMORY not in victim.owed


def test_gone_is_noted_once_and_bytes_are_waited_for() -> None:
    """Until they are there, or the bound is reached."""
    whole = replace(LEAVING, owed=dict.fromkeys(supplies(Layout.SINGLE), 0) | {NODEFS: 50})
    assert followed(whole, 5) == [whole]
    [gone] = followed(whole, 7, cleaned_up=("a",))
    assert gone.gone_at == 7
    gone = replace(whole, gone_at=0)
    assert followed(gone, RELEASE_TIMEOUT - 1, nodefs=149) == [gone]
    assert followed(gone, 1, nodefs=150) == []
    assert followed(gone, RELEASE_TIMEOUT, nodefs=149) == []


def test_memory_is_back_with_the_last_process_however_long_a_volume_takes_to_remove() -> None:
    """A volume of a million entries held up the next memory eviction for a minute."""
    (stopped,) = followed(replace(LEAVING, owed={NODEFS: 50, MEMORY: 70}), 2, stopped=("a",))
    assert (stopped.stopped_at, stopped.gone_at) == (2, None)
    assert still_owed(stopped, MEMORY, None, 2) == 0
    assert still_owed(stopped, NODEFS, 100, 2) == 50
    in_memory = replace(stopped, has_volumes_in_memory=True)
    assert still_owed(in_memory, MEMORY, None, 2) == 70
    (still,) = followed(stopped, 3, stopped=("a",))
    assert still.stopped_at == 2


def test_an_unread_number_is_no_sign_that_the_bytes_are_back() -> None:
    """docs/faults.md, 24: one unread number doomed the next pod."""
    assert followed(GONE, 1, nodefs=None) == [GONE]
    assert still_owed(GONE, NODEFS, None, 1) == 50


def test_an_amount_that_is_not_known_is_not_zero() -> None:
    """Of a disk it is waited for within the bound; memory is back with the last process."""
    unknown = replace(GONE, owed={})
    assert still_owed(unknown, NODEFS, 100, 1) is None
    assert still_owed(unknown, MEMORY, 100, 1) == 0
    assert still_owed(unknown, NODEFS, 100, RELEASE_TIMEOUT) == 0
    assert still_owed(replace(unknown, gone_at=None), MEMORY, 100, 1) is None


@pytest.mark.parametrize(("available", "owed"), [(100, 50), (120, 30), (150, 0), (200, 0), (10, 50)])
def test_what_came_back_is_owed_no_more(available: int, owed: int) -> None:
    """A writer that takes space meanwhile does not make it more."""
    assert still_owed(GONE, NODEFS, available, 1) == owed
    assert still_owed(LEAVING, NODEFS, available, 1) == 50, "not gone: nothing of it has come back"


@pytest.mark.parametrize(("available", "owed"), [(100, 100), (150, 50), (200, 0)])
def test_what_came_back_after_two_victims_that_end_together_counts_once(available: int, owed: int) -> None:
    """Both owe 50; the bytes of one were counted as the other's, and a third pod went."""
    found = amounts_owed((GONE, replace(GONE, uid="b")), NODEFS, available, SECOND)
    assert sum(each or 0 for each in found.values()) == owed


def test_what_the_first_of_two_gave_back_is_not_counted_for_the_other_once_the_first_is_settled() -> None:
    """Both owe 50. The first leaves the ledger when its bytes are back; the other owes its own until they are back too."""
    both, nothing = (GONE, replace(GONE, uid="b")), Observation(node=node())
    left = follow_victims(both, nothing, {NODEFS: 150}, (NODEFS,), SECOND)
    assert [each.uid for each in left] == ["b"]
    assert [still_owed(left[0], NODEFS, available, 2 * SECOND) for available in (150, 180, 200)] == [50, 20, 0]
    assert follow_victims(left, nothing, {NODEFS: 150}, (NODEFS,), 2 * SECOND) == left
    unread = follow_victims(both, nothing, {}, (NODEFS,), SECOND)
    assert unread == both, "nothing was read, so nothing is settled"


def test_what_a_victim_has_given_back_is_not_owed_again_when_another_pod_takes_it() -> None:
    """Another pod has taken three inodes meanwhile, so the victim still owes inodes when the disk fills again."""
    inodes = Signal.NODEFS_INODES_FREE
    gone = replace(GONE, owed={NODEFS: 50, inodes: 10}, available_before={NODEFS: 100, inodes: 100})
    nothing = Observation(node=node())
    victims = follow_victims((gone,), nothing, {NODEFS: 160, inodes: 107}, (NODEFS, inodes), SECOND)
    assert still_owed(victims[0], inodes, 107, SECOND) == 3
    victims = follow_victims(victims, nothing, {NODEFS: 90, inodes: 100}, (NODEFS, inodes), 2 * SECOND)
    assert still_owed(victims[0], NODEFS, 90, 2 * SECOND) == 0
    assert not concerns(victims[0], NODEFS)
    assert still_owed(victims[0], inodes, 100, 2 * SECOND) == 10


def test_a_victim_past_its_time_owes_nothing_and_stays_in_the_ledger_while_it_is_there() -> None:
    """It must not be chosen again, and nothing is waited for."""
    stuck = Victim(uid="a", cause=NODEFS, until=9)
    assert followed(stuck, 10) == [stuck]
    assert (stuck.is_overdue(9), stuck.is_leaving(9), stuck.is_leaving(8)) == (True, False, True)
    assert still_owed(stuck, NODEFS, None, 10) == 0
    assert followed(replace(stuck, uid="another"), 10) == []


def test_shortening_begins_a_new_grace_period() -> None:
    """Only of one that has more than a hard threshold would give, and is not gone."""
    long = Victim(uid="a", grace_period_seconds=60, until=1)
    assert [v.can_shorten(1) for v in (long, replace(long, grace_period_seconds=1), replace(long, gone_at=0))] == [
        True,
        False,
        False,
    ]
    short = shortened(long, 1, 5)
    assert (short.since, short.grace_period_seconds, short.until) == (5, 1, 5 + 40 * SECOND)


# --- collections ------------------------------------------------------------------------------------------------------

BEGUN = Collection(begun=0, until=60, available_before=100)
ENDED = replace(BEGUN, ended_at=5, freed=10)


def outcome(freed: int, device: Filesystem | None = None) -> ReclaimOutcome:
    """Layers were removed."""
    return ReclaimOutcome(action=Reclaim.CONTAINERS, freed_bytes=freed, device=device)


def test_a_collection_ends_by_its_own_outcome() -> None:
    """Not by another device's; one without a device ends all (docs/faults.md, 21 and 22)."""
    both = {Filesystem.NODEFS: BEGUN, Filesystem.IMAGEFS: BEGUN}

    def ended(*outcomes: ReclaimOutcome) -> list[Filesystem]:
        found = follow_collections(both, Outcomes(reclaimed=outcomes), Layout.DEDICATED, 5)
        return [device for device, each in found.items() if each.ended_at == 5]

    assert follow_collections(both, Outcomes(), Layout.DEDICATED, 5) == both
    assert ended(outcome(1, Filesystem.IMAGEFS)) == [Filesystem.IMAGEFS]
    assert ended() == ended(outcome(1)) == list(both)
    again = follow_collections({Filesystem.NODEFS: ENDED}, Outcomes(reclaimed=()), Layout.DEDICATED, 9)
    assert again == {Filesystem.NODEFS: ENDED}, "an outcome that is still shown ends nothing twice"


def test_only_bytes_of_its_own_device_count() -> None:
    """Layers lie on imagefs in the dedicated layout, so nothing of them is awaited on nodefs."""
    freed = {
        layout: follow_collections({Filesystem.NODEFS: BEGUN}, Outcomes(reclaimed=(outcome(7),)), layout, 5)
        for layout in Layout
    }
    assert {layout: each[Filesystem.NODEFS].freed for layout, each in freed.items()} == {
        Layout.SINGLE: 7,
        Layout.DEDICATED: 0,
        Layout.SPLIT: 7,
    }


def test_what_collectors_removed_is_noted() -> None:
    removed = ReclaimOutcome(action=Reclaim.CONTAINERS, removed=1)
    ended = follow_collections({Filesystem.NODEFS: BEGUN}, Outcomes(reclaimed=(removed, removed)), Layout.SINGLE, 5)
    assert ended[Filesystem.NODEFS].removed == 2


def test_a_collection_that_no_collector_knows_of_is_lost() -> None:
    """After a restart; where it is not known what is at work, none is lost."""
    assert BEGUN.is_under_way(59)
    assert not BEGUN.is_under_way(60)
    assert not ENDED.is_under_way(6)
    assert is_lost(Filesystem.NODEFS, BEGUN, Outcomes(collecting=frozenset()), BEGUN.begun + 1)
    assert not is_lost(Filesystem.NODEFS, BEGUN, Outcomes(collecting=frozenset({Filesystem.NODEFS})), BEGUN.begun + 1)
    assert not is_lost(Filesystem.NODEFS, BEGUN, Outcomes(), BEGUN.begun + 1)
    assert not is_lost(Filesystem.NODEFS, BEGUN, Outcomes(collecting=frozenset()), BEGUN.begun)  # decided in this cycle


def test_outcomes_are_counted_once() -> None:
    """In the step in which the collection ends, under either policy."""
    mine, other = outcome(1, Filesystem.NODEFS), outcome(2, Filesystem.IMAGEFS)
    outcomes = Outcomes(reclaimed=(mine, other))
    under_way, over = State(collections={Filesystem.NODEFS: BEGUN}), State(collections={Filesystem.NODEFS: ENDED})
    assert ended_reclaims(under_way, over, outcomes) == (mine,)
    assert ended_reclaims(over, over, outcomes) == ()
    one = threshold("nodefs.available", "1Gi")
    kubelet = State(phase=Reclaiming(threshold=one, due=(one,), before=Observation(node=None)))
    assert ended_reclaims(kubelet, State(), outcomes) == (mine, other)
    assert ended_reclaims(kubelet, kubelet, outcomes) == ()
