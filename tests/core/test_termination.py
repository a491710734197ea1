"""Which way a pod goes, what a budget's refusal means, and who is left alone."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evictd.core.decision import Because, EvictionReason, EvictPod
from evictd.core.duration import MINUTE, SECOND
from evictd.core.pod import Pod
from evictd.core.quantity import parse_quantity
from evictd.core.signal import Signal
from evictd.core.state import CleaningUp, Release, State, Watching
from evictd.core.termination import (
    HARD_BYPASS,
    HARD_OWNER_BACKOFF,
    LAST_OWNER_BACKOFF,
    AfterRefusal,
    Leniency,
    Way,
    after_refusal,
    choose_way,
    is_hard,
    without,
)
from evictd.core.threshold import Threshold, ThresholdValue
from tests.playbook import Playbook, config, pod, usage

OWNER = "default/DaemonSet/hog"


def eviction(grace: int | None) -> EvictPod:
    """Of a threshold with this grace, or of a pod beyond its own limit."""
    threshold = None
    if grace is not None:
        value = ThresholdValue(quantity=parse_quantity("1Gi"))
        threshold = Threshold(signal=Signal.MEMORY_AVAILABLE, value=value, grace_period=grace)
    because = Because(reason=EvictionReason.PRESSURE if threshold else EvictionReason.POD_LIMIT, threshold=threshold)
    return EvictPod(pod=pod("a"), grace_period_seconds=1, message="m", because=because)


@pytest.mark.parametrize(("grace", "hard"), [(0, True), (30 * SECOND, False), (None, True)])
def test_what_is_urgent(grace: int | None, hard: bool) -> None:
    """A hard threshold, and a pod beyond its own limit, as the kubelet treats both: at once."""
    assert is_hard(eviction(grace)) is hard


@pytest.mark.parametrize(
    ("asked", "hard", "kubelet", "way"),
    [
        (None, False, True, Way.EVICTION_API),
        (None, True, True, Way.DELETE),
        (None, False, False, Way.STATUS),
        (None, True, False, Way.STATUS),
        *((way, hard, kubelet, way) for way in Way for hard in (False, True) for kubelet in (False, True)),
    ],
)
def test_the_way(asked: Way | None, hard: bool, kubelet: bool, way: Way) -> None:
    """Auto by urgency and by whether a kubelet is there; what was asked for by name is done."""
    assert choose_way(asked, hard=hard, kubelet=kubelet) is way


@pytest.mark.parametrize(
    ("asked", "hard", "waited", "then"),
    [
        (None, False, 0, AfterRefusal.NEXT_CANDIDATE),
        (None, False, 59 * SECOND, AfterRefusal.NEXT_CANDIDATE),
        (None, False, 60 * SECOND, AfterRefusal.BYPASS),
        (Way.EVICTION_API, False, 3600 * SECOND, AfterRefusal.NEXT_CANDIDATE),
        (Way.EVICTION_API, True, 0, AfterRefusal.ASK_AGAIN),
        (Way.EVICTION_API, True, HARD_BYPASS, AfterRefusal.BYPASS),
    ],
)
def test_a_refusal(asked: Way | None, hard: bool, waited: int, then: AfterRefusal) -> None:
    """Soft: another pod, and past the budget only under Auto; hard: a bounded wait."""
    assert after_refusal(asked, hard=hard, waited=waited, eviction_timeout=60 * SECOND) is then


def test_an_owner_that_recreates_its_pod_here_is_left_alone_longer_and_longer() -> None:
    """10, 20, 40 s ... up to five minutes; the first eviction costs nothing."""
    leniency, now, waits = Leniency(), 0, []
    for _ in range(8):
        leniency = leniency.evicted(OWNER, now)
        wait = leniency.owners[OWNER].until - now
        waits.append(wait // SECOND)
        now += wait + 5 * SECOND
    assert waits == [0, 10, 20, 40, 80, 160, 300, 300]
    assert leniency.spares("new-uid", OWNER, now - 10 * SECOND, hard=False)


def test_a_quiet_owner_is_forgotten_and_others_are_not_concerned() -> None:
    """One eviction an hour is no loop."""
    leniency = Leniency().evicted(OWNER, 0).evicted(OWNER, 1)
    assert not leniency.spares("u", "default/ReplicaSet/other", 2, hard=False)
    later = leniency.evicted(OWNER, 60 * MINUTE)
    assert not later.spares("u", OWNER, 60 * MINUTE, hard=False)
    assert set(later.evicted("", 120 * MINUTE).owners) == set()


def test_pods_without_an_owner_never_wait_for_one() -> None:
    """Bare pods are nobody's recreation."""
    leniency = Leniency().evicted("", 0).evicted("", 1)
    assert not leniency.spares("u", "", 2, hard=False)


def test_a_budget_protects_until_its_time_and_its_first_refusal_counts() -> None:
    """The bounded wait begins with the first refusal, not with the last."""
    leniency = Leniency().refused("u", 0, 10 * SECOND, hold=0).refused("u", 20 * SECOND, None, hold=0)
    assert leniency.spares("u", "", 25 * SECOND, hard=False)
    assert not leniency.spares("u", "", 30 * SECOND, hard=False)
    assert leniency.waited("u", 30 * SECOND) == 30 * SECOND
    assert leniency.waited("other", 30 * SECOND) == 0


def pods(*names: str) -> tuple[Pod, ...]:
    """Bare pods; their names are their uids."""
    return tuple(pod(name) for name in names)


def test_whom_a_budget_protects_comes_after_all_others_however_soon_it_may_be_asked_again() -> None:
    """Retry-After of a second does not put it first again; the hold ends with the first refusal's time, not the last's."""
    leniency = Leniency().refused("a", 0, SECOND, hold=60 * SECOND)
    assert leniency.spared(pods("a", "b"), 10 * SECOND, hard=False) == {"a"}
    again = leniency.refused("a", 30 * SECOND, SECOND, hold=60 * SECOND)
    assert again.spared(pods("a", "b"), 59 * SECOND, hard=False) == {"a"}
    assert again.spared(pods("a", "b"), 60 * SECOND, hard=False) == frozenset()


def test_where_there_is_nobody_else_the_one_refused_longest_ago_has_its_turn() -> None:
    """Also when the only others are never chosen; and not before its server said so."""
    leniency = Leniency().refused("a", 0, SECOND, hold=60 * SECOND).refused("b", SECOND, SECOND, hold=60 * SECOND)
    assert leniency.spared(pods("a", "b"), 5 * SECOND, hard=False) == {"b"}
    assert leniency.spared(pods("a", "b", "own"), 5 * SECOND, hard=False, never={"own"}) == {"b"}
    turn = leniency.refused("a", 5 * SECOND, SECOND, hold=60 * SECOND)
    assert turn.spared(pods("a", "b"), 7 * SECOND, hard=False) == {"a"}
    patient = Leniency().refused("a", 0, 30 * SECOND, hold=60 * SECOND)
    assert patient.spared(pods("a"), 29 * SECOND, hard=False) == {"a"}


def test_a_hard_threshold_knows_no_turns() -> None:
    """Only the moments that the server asked for, ten seconds at the most."""
    leniency = Leniency().refused("a", 0, 5 * SECOND, hold=60 * SECOND)
    assert leniency.spared(pods("a", "b"), 4 * SECOND, hard=True) == {"a"}
    assert leniency.spared(pods("a", "b"), 5 * SECOND, hard=True) == frozenset()


def test_a_wait_longer_than_the_memory_of_owners_is_kept() -> None:
    """An administrator's half an hour is not begun anew by what is forgotten meanwhile."""
    leniency, hold = Leniency(), 30 * MINUTE
    for minute in (0, 11, 22, 30):
        leniency = leniency.refused("a", minute * MINUTE, SECOND, hold=hold)
    assert leniency.waited("a", 30 * MINUTE) == hold
    assert set(leniency.refused("b", 120 * MINUTE, None, hold=hold).budgets) == {"b"}


def test_a_soft_threshold_goes_on_with_the_next_in_rank_until_nobody_else_is_left() -> None:
    """A budget with a Retry-After of one second protects the hog: the others have their turn first, then it is asked again."""
    all_pods = [pod(name) for name in ("hog", "next", "last")]
    amounts = zip(all_pods, ("3Gi", "2Gi", "1Gi"), strict=True)
    settings = config(soft={"memory.available": ("2Gi", "0s")})
    book = Playbook(settings, pods=all_pods, usage=[usage(each, memory=much) for each, much in amounts])
    book.at("0s", memory="1Gi of 8Gi").conditions("MemoryPressure").evicts("hog")
    leniency, stays = Leniency().refused("hog", 0, SECOND, hold=60 * SECOND), frozenset({"hog"})
    for seconds, victim in ((10, "next"), (20, "last"), (30, "hog")):
        book.gone -= stays
        book.state = without(book.state, stays)
        here = [each for each in all_pods if each.uid not in book.gone]
        book.config = replace(settings, protected_pods=leniency.spared(here, seconds * SECOND, hard=False))
        book.at(f"{seconds}s", memory="1Gi of 8Gi").evicts(victim)


@given(
    st.lists(st.tuples(st.integers(0, 600), st.sampled_from(["evicted", "refused"])), max_size=30),
    st.integers(0, 900),
)
def test_nobody_escapes_a_hard_threshold_for_more_than_moments(story: list[tuple[int, str]], later: int) -> None:
    """Whatever went before: ten seconds after the last eviction and refusal the pod may be chosen."""
    leniency, now = Leniency(), 0
    for step, what in story:
        now += step * SECOND
        leniency = (
            leniency.evicted(OWNER, now)
            if what == "evicted"
            else leniency.refused("u", now, 300 * SECOND, hold=60 * SECOND)
        )
    now += max(HARD_BYPASS, HARD_OWNER_BACKOFF) + later * SECOND
    assert not leniency.spares("u", OWNER, now, hard=True)
    assert all(owner.until - owner.evicted_at <= LAST_OWNER_BACKOFF for owner in leniency.owners.values())


def test_a_state_without_a_pod_that_stays() -> None:
    """Nothing of it is waited for; other victims still are."""
    releases = tuple(Release(uid=uid, full_name=uid, signal=None, until=9) for uid in ("a", "b"))
    state = State(phase=CleaningUp(until=9), releases=releases)
    assert without(state, frozenset({"x"})) is state
    one = without(state, frozenset({"a"}))
    assert [release.uid for release in one.releases] == ["b"]
    assert isinstance(one.phase, CleaningUp)
    assert isinstance(without(state, frozenset({"a", "b"})).phase, Watching)
