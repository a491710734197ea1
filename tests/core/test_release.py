"""Victims in flight and bytes still due."""

from evictd.core.duration import SECOND
from evictd.core.observation import Observation, Outcomes, Reclaim, ReclaimOutcome, signal_observations
from evictd.core.release import (
    RELEASE_TIMEOUT,
    collected,
    follow,
    in_flight,
    release_of_reclaim,
    release_of_victim,
    shortened,
    still_due,
    victim_until,
)
from evictd.core.signal import Signal
from evictd.core.state import Release
from tests.playbook import Playbook, config, node, pod, threshold, usage

DISK = threshold("nodefs.available", "1Gi")
MEMORY = threshold("memory.available", "1Gi")
GONE = Release(uid="a", signal=Signal.NODEFS_AVAILABLE, until=99 * SECOND, available_before=100, expected=50, gone_at=0)


def reading(nodefs: str = "100 of 1000", cleaned_up: frozenset[str] = frozenset()) -> Observation:
    """A node with one active pod."""
    return Observation(node=node(nodefs=nodefs), pods=(pod("a"),), outcomes=Outcomes(cleaned_up=cleaned_up))


def followed(release: Release, observation: Observation, now: int) -> tuple[Release, ...]:
    """One release, one reading later."""
    assert observation.node is not None
    return follow((release,), observation, signal_observations(observation.node), now)


def test_a_victim_has_its_kill_and_its_clean_up() -> None:
    """max(10 s, one and a half times the grace) and 30 s more (spec 4.7, 8.1)."""
    assert victim_until(1, 0) == 40 * SECOND
    assert victim_until(60, 0) == 120 * SECOND
    assert victim_until(-5, 0) == 40 * SECOND


def test_a_victim_remembers_what_it_should_give_back() -> None:
    """From its usage and from what was available."""
    book = Playbook(config(hard={"memory.available": "1Gi"}), pods=[pod("a")], usage=[usage(pod("a"), memory="1Gi")])
    book.at("0s", memory="500Mi of 4Gi").conditions("MemoryPressure").evicts("a")
    [release] = book.state.releases
    assert (release.uid, release.expected, release.available_before) == ("a", 2**30, 500 * 2**20)
    assert release_of_victim(book.eviction(), {}, None, 0).available_before is None


def test_gone_is_noted_once_and_bytes_are_waited_for() -> None:
    """Until they are there, or the bound is reached."""
    flying = Release(uid="a", signal=Signal.NODEFS_AVAILABLE, until=9 * SECOND, available_before=100, expected=50)
    assert followed(flying, reading(), 5) == (flying,)
    [gone] = followed(flying, reading(cleaned_up=frozenset({"a"})), 7)
    assert gone.gone_at == 7
    assert followed(GONE, reading("149 of 1000"), RELEASE_TIMEOUT - 1) == (GONE,)
    assert followed(GONE, reading("150 of 1000"), 1) == ()
    assert followed(GONE, reading("149 of 1000"), RELEASE_TIMEOUT) == ()


def test_memory_is_back_with_the_last_process() -> None:
    """Nothing to wait for."""
    memory = Release(uid="a", signal=Signal.MEMORY_AVAILABLE, until=9, available_before=1, expected=5, gone_at=0)
    assert followed(memory, reading(), 1) == ()


def test_a_victim_past_its_time_is_kept_while_it_is_there_but_holds_nobody_up() -> None:
    """It must not be chosen again."""
    stuck = Release(uid="a", signal=Signal.NODEFS_AVAILABLE, until=9)
    assert followed(stuck, reading(), 10) == (stuck,)
    assert in_flight((stuck,), 10) == ()
    assert in_flight((stuck,), 8) == (stuck,)
    left = Release(uid="someone else", signal=Signal.NODEFS_AVAILABLE, until=9)
    assert followed(left, reading(), 10) == ()


def test_only_the_same_filesystem_is_waited_for() -> None:
    """Bytes due on nodefs are no reason to spare memory."""
    assert still_due((GONE,), DISK) == (GONE,)
    assert still_due((GONE,), MEMORY) == ()
    assert still_due((GONE,), threshold("imagefs.available", "1Gi")) == ()


def test_collections_are_releases_too() -> None:
    """By what they say they freed; inodes are not counted by any collector."""
    outcomes = (ReclaimOutcome(action=Reclaim.IMAGES, freed_bytes=7), ReclaimOutcome(action=Reclaim.CONTAINERS))
    release = release_of_reclaim(DISK, None, outcomes, 5)
    assert (release.expected, release.gone_at, release.collected) == (7, 5, True)
    assert release_of_reclaim(threshold("nodefs.inodesFree", "5"), None, outcomes, 5).expected is None
    assert [r.collected for r in collected((GONE, Release(uid="b")))] == [True, False]


def test_shortening_leaves_the_short_ones_alone() -> None:
    """And those that are gone."""
    long, short = Release(uid="a", grace_period_seconds=60, until=1), Release(uid="b", grace_period_seconds=1, until=1)
    changed = shortened((long, short, GONE), 5)
    assert changed[0].grace_period_seconds == 1
    assert changed[0].until == 5 + 40 * SECOND
    assert changed[1:] == (short, GONE)
