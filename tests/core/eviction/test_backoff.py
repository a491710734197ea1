"""Which pods are skipped for a while, after a budget's refusal or because their owner recreates them."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evictd.core.eviction.refusals.backoff import (
    HARD_BYPASS,
    LAST_OWNER_BACKOFF,
    RECREATED_WITHIN,
    note_eviction,
    note_refusal,
    refusals,
    refused_since,
    settle_answers,
    skipped_pods,
)
from evictd.core.model.config import EvictionConfig, Policy
from evictd.core.model.finding import NoActionReason, PodSkipped, SkipReason
from evictd.core.model.observation import EvictionAnswer, EvictionAnswerKind, Observation, Outcomes
from evictd.core.model.pod import Pod
from evictd.core.model.state import Backoff, CleaningUp, State, Victim, Watching
from evictd.core.units.duration import MINUTE, SECOND
from tests.playbook import Playbook, config, pod, usage

OWNER = "default/DaemonSet/hog"
STANDARD = EvictionConfig()
HOLD = 60 * SECOND


def refused(backoff: Backoff, uid: str, at: int, retry_after: int | None = None, hold: int = HOLD) -> Backoff:
    """A budget refuses a pod's eviction."""
    return note_refusal(backoff, refusal(uid, at, retry_after), hold=hold)


def refusal(uid: str, at: int, retry_after: int | None = None) -> EvictionAnswer:
    """The API server's answer 429."""
    return EvictionAnswer(uid=uid, kind=EvictionAnswerKind.REFUSED, at=at, retry_after=retry_after, detail="a budget")


def evicted(backoff: Backoff, at: int, uid: str = "", here: tuple[str, ...] = ()) -> Backoff:
    """A pod of the owner is evicted while these are here."""
    return note_eviction(backoff, OWNER, uid, frozenset(here), at)


def skips(backoff: Backoff, at: int, *pods: Pod, hard: bool = False) -> set[str]:
    """The uids of the pods that are skipped."""
    return set(skipped_pods(backoff, pods, STANDARD, at, hard=hard))


def owned(uid: str) -> Pod:
    """A pod of the owner."""
    return pod(uid, owner="DaemonSet/hog")


# --- owners -----------------------------------------------------------------------------------------------------------


def test_an_owner_that_recreates_its_pod_here_is_skipped_longer_and_longer() -> None:
    """10, 20, 40 s ... up to five minutes; the first eviction costs nothing."""
    backoff, now, waits = Backoff(), 0, []
    for number in range(8):
        backoff = evicted(backoff, now, f"hog-{number}")
        wait = backoff.owners[OWNER].until - now
        waits.append(wait // SECOND)
        now += wait + 5 * SECOND
    assert waits == [0, 10, 20, 40, 80, 160, 300, 300]
    [skip] = skipped_pods(backoff, [owned("new")], STANDARD, now - 10 * SECOND, hard=False).values()
    assert (skip.reason, skip.until) == (SkipReason.OWNER, now - 5 * SECOND)


def test_siblings_of_a_victim_are_no_recreations() -> None:
    """Eight leaking replicas go one after another; only one that came after an eviction is skipped (docs/faults.md, 7)."""
    here = [f"leaky-{n}" for n in range(8)]
    backoff, now = Backoff(), 0
    for n in range(8):
        uid = here[0]
        assert skips(backoff, now, owned(uid)) == set(), uid
        backoff = evicted(backoff, now, uid, tuple(here))
        here = [*here[1:], f"again-{n}"]
        now += 5 * SECOND
    backoff = evicted(backoff, now, "again-0", tuple(here))
    assert skips(backoff, now + 9 * SECOND, owned("again-again-0"), owned("again-1")) == {"again-again-0"}


def test_a_pod_evicted_a_minute_after_its_owners_back_off_is_no_recreation() -> None:
    backoff = evicted(evicted(Backoff(), 0, "a"), 1, "b")
    until = backoff.owners[OWNER].until
    for now, level in ((until + RECREATED_WITHIN - 1, 2), (until + RECREATED_WITHIN, 0)):
        assert evicted(backoff, now, "c").owners[OWNER].level == level


def test_a_quiet_owner_is_forgotten_and_others_are_not_concerned() -> None:
    """One eviction an hour is no loop."""
    backoff = evicted(evicted(Backoff(), 0, "a"), 1, "b")
    assert skips(backoff, 2, pod("u", owner="ReplicaSet/other"), pod("bare")) == set()
    later = evicted(backoff, 60 * MINUTE, "c")
    assert skips(later, 60 * MINUTE, owned("u")) == set()
    assert set(note_eviction(later, "", "bare", frozenset(), 120 * MINUTE).owners) == set()


def test_the_kubelet_knows_no_back_off_of_owners() -> None:
    """Its code has none; budgets concern both policies, since the API server refuses both."""
    backoff = refused(evicted(evicted(Backoff(), 0, "a"), 1, "b"), "budgeted", 2)
    kubelet = replace(STANDARD, policy=Policy.KUBELET)
    assert set(skipped_pods(backoff, [owned("u"), pod("budgeted")], kubelet, 2, hard=True)) == {"budgeted"}


# --- budgets ----------------------------------------------------------------------------------------------------------


def test_a_budget_protects_until_its_time_and_its_first_refusal_counts() -> None:
    """The bounded wait begins with the first refusal, not with the last."""
    backoff = refused(refused(Backoff(), "u", 0, 10 * SECOND, hold=0), "u", 20 * SECOND, hold=0)
    assert skips(backoff, 25 * SECOND, pod("u")) == {"u"}
    assert skips(backoff, 30 * SECOND, pod("u")) == set()
    assert (refused_since(backoff, "u"), refused_since(backoff, "other")) == (0, None)


def test_a_refusal_is_forgotten_five_minutes_after_its_hold() -> None:
    """So that a pod that was refused an hour ago is not passed over for its first refusal at once."""
    backoff = refused(Backoff(), "u", 0, hold=0)
    just_before = refused(backoff, "other", LAST_OWNER_BACKOFF - 1, hold=0)
    assert refused_since(just_before, "u") == 0
    assert refused_since(refused(backoff, "other", LAST_OWNER_BACKOFF, hold=0), "u") is None


@pytest.mark.parametrize("policy", list(Policy))
def test_a_refusal_of_an_earlier_shortage_does_not_shorten_the_wait_for_the_budget(policy: Policy) -> None:
    """The pod was refused in the morning and is chosen again in the evening: its budget is asked for the whole time again."""
    a = pod("a")
    settings = config(soft={"memory.available": ("6Gi", "1s")}, policy=policy)
    book = Playbook(settings, pods=[a], usage=[usage(a, memory="7Gi")])
    book.at("0s", memory="1Gi of 8Gi").conditions("MemoryPressure").does_nothing()
    book.at("1s", memory="1Gi of 8Gi").evicts("a")
    book.gone = frozenset()
    book.at("10s", memory="7Gi of 8Gi", answers=[refusal("a", 2 * SECOND, SECOND)]).does_nothing()
    assert set(book.state.backoff.budgets) == {"a"}
    book.at("7m", memory="7Gi of 8Gi").conditions().does_nothing()
    assert book.state.backoff.budgets == {}
    book.at("12h", memory="1Gi of 8Gi").conditions("MemoryPressure").does_nothing()
    book.at("12h1s", memory="1Gi of 8Gi").evicts("a")
    assert book.eviction().refused_since is None


def test_a_pod_that_a_budget_protects_comes_after_all_others_however_soon_it_may_be_asked_about_again() -> None:
    """Retry-After of a second does not put it first again; the hold ends with the first refusal's time, not the last's."""
    a, b = pod("a"), pod("b")
    backoff = refused(Backoff(), "a", 0, SECOND)
    assert skips(backoff, 10 * SECOND, a, b) == {"a"}
    again = refused(backoff, "a", 30 * SECOND, SECOND)
    assert skips(again, 59 * SECOND, a, b) == {"a"}
    assert skips(again, 60 * SECOND, a, b) == set()


def test_where_there_is_no_other_the_one_refused_longest_ago_has_its_turn() -> None:
    """And not before its server said so."""
    a, b = pod("a"), pod("b")
    backoff = refused(refused(Backoff(), "a", 0, SECOND), "b", SECOND, SECOND)
    assert skips(backoff, 5 * SECOND, a, b) == {"b"}
    assert skips(refused(backoff, "a", 5 * SECOND, SECOND), 7 * SECOND, a, b) == {"a"}
    patient = refused(Backoff(), "a", 0, 30 * SECOND)
    assert skips(patient, 29 * SECOND, a) == {"a"}


def test_a_hard_threshold_knows_no_turns() -> None:
    """Only the moments that the server asked for, ten seconds at the most."""
    backoff = refused(Backoff(), "a", 0, 5 * SECOND)
    assert skips(backoff, 4 * SECOND, pod("a"), pod("b"), hard=True) == {"a"}
    assert skips(backoff, 5 * SECOND, pod("a"), pod("b"), hard=True) == set()


def test_a_wait_longer_than_the_memory_of_owners_is_kept() -> None:
    """An administrator's half an hour is not begun anew by what is forgotten meanwhile."""
    backoff, hold = Backoff(), 30 * MINUTE
    for minute in (0, 11, 22, 30):
        backoff = refused(backoff, "a", minute * MINUTE, SECOND, hold=hold)
    assert refused_since(backoff, "a") == 0
    assert set(refused(backoff, "b", 120 * MINUTE, hold=hold).budgets) == {"b"}


@given(
    st.lists(st.tuples(st.integers(0, 600), st.sampled_from(["evicted", "refused"])), max_size=30),
    st.integers(0, 900),
)
def test_no_pod_escapes_a_hard_threshold_for_more_than_moments(story: list[tuple[int, str]], later: int) -> None:
    """Whatever went before: ten seconds after the last eviction and refusal the pod may be chosen."""
    backoff, now = Backoff(), 0
    for number, (step, what) in enumerate(story):
        now += step * SECOND
        backoff = (
            evicted(backoff, now, f"hog-{number}") if what == "evicted" else refused(backoff, "u", now, 300 * SECOND)
        )
    now += HARD_BYPASS + later * SECOND
    assert skips(backoff, now, owned("u"), hard=True) == set()
    assert all(owner.until - owner.evicted_at <= LAST_OWNER_BACKOFF for owner in backoff.owners.values())


# --- answers ----------------------------------------------------------------------------------------------------------


def observed(*answers: EvictionAnswer, cleaned_up: tuple[str, ...] = (), pods: tuple[Pod, ...] = ()) -> Observation:
    """What the API server answered, and which victims are gone."""
    return Observation(
        node=None, pods=pods, outcomes=Outcomes(answers=answers, cleaned_up=frozenset(cleaned_up), reclaimed=None)
    )


def test_a_victim_that_stays_is_taken_out_of_the_ledger() -> None:
    """A refusal is remembered; what was never asked for leaves nothing; the others stay."""
    state = State(phase=CleaningUp(until=9), in_flight=(Victim(uid="a"), Victim(uid="b"), Victim(uid="c")))
    not_asked = EvictionAnswer(uid="b", kind=EvictionAnswerKind.NOT_ASKED)
    settled = settle_answers(state, observed(refusal("a", 5), not_asked), STANDARD, 6)
    assert [victim.uid for victim in settled.in_flight] == ["c"]
    assert set(settled.backoff.budgets) == {"a"}
    assert isinstance(settled.phase, CleaningUp)
    alone = settle_answers(replace(state, in_flight=state.in_flight[:1]), observed(refusal("a", 5)), STANDARD, 6)
    assert isinstance(alone.phase, Watching)


def test_an_answer_of_an_earlier_decision_does_not_count() -> None:
    """The pod was refused, and was chosen again since."""
    state = State(in_flight=(Victim(uid="a", since=7),))
    assert settle_answers(state, observed(refusal("a", 6)), STANDARD, 8) == state
    assert settle_answers(state, observed(refusal("a", 7)), STANDARD, 8).in_flight == ()


def test_an_eviction_is_counted_once_it_is_sure() -> None:
    """When the API server agreed, or the pod is gone; once."""
    hog = owned("hog")
    state = State(in_flight=(Victim(uid="hog", owner=OWNER, siblings=frozenset({"hog"})),))
    agreed = EvictionAnswer(uid="hog", kind=EvictionAnswerKind.AGREED)
    assert settle_answers(state, observed(pods=(hog,)), STANDARD, 1).backoff == Backoff()
    for seen in (observed(agreed, pods=(hog,)), observed(cleaned_up=("hog",))):
        counted = settle_answers(state, seen, STANDARD, 1)
        assert counted.backoff.owners[OWNER].siblings == {"hog"}
        assert counted.in_flight[0].counted
        assert settle_answers(counted, seen, STANDARD, 2) == counted


def test_a_soft_threshold_goes_on_with_the_next_in_rank_until_no_other_is_left() -> None:
    """A budget with a Retry-After of one second protects the hog: the others have their turn first, then it is asked again."""
    all_pods = [pod(name) for name in ("hog", "next", "last")]
    amounts = zip(all_pods, ("3Gi", "2Gi", "1Gi"), strict=True)
    settings = config(soft={"memory.available": ("6Gi", "1s")})
    book = Playbook(settings, pods=all_pods, usage=[usage(each, memory=much) for each, much in amounts])
    short = "1Gi of 8Gi"
    book.at("0s", memory=short).conditions("MemoryPressure").does_nothing()
    book.at("1s", memory=short).evicts("hog")
    book.gone -= {"hog"}
    answer = refusal("hog", 2 * SECOND, SECOND)
    book.at("10s", memory=short, answers=[answer]).evicts("next")
    assert [(f.pod.name, f.reason) for f in book.findings(PodSkipped)] == [("hog", SkipReason.BUDGET)]
    book.at("20s", memory="3Gi of 8Gi", answers=[answer]).evicts("last")
    book.at("30s", memory="4Gi of 8Gi", answers=[answer]).evicts("hog")
    assert book.eviction().refused_since == 2 * SECOND


def test_where_every_pod_is_held_back_a_finding_says_so() -> None:
    """A hard threshold waits for the moment that the server named."""
    hog = pod("hog")
    book = Playbook(config(hard={"memory.available": "2Gi"}), pods=[hog], usage=[usage(hog, memory="3Gi")])
    book.at("0s", memory="1Gi of 8Gi").conditions("MemoryPressure").evicts("hog")
    book.gone = frozenset()
    book.at("1s", memory="1Gi of 8Gi", answers=[refusal("hog", SECOND, 5 * SECOND)]).does_nothing()
    book.stays_silent(NoActionReason.HELD_BACK)
    book.at("6s", memory="1Gi of 8Gi", answers=[refusal("hog", SECOND, 5 * SECOND)]).evicts("hog")


def test_a_refusal_is_listed_for_the_victim_whose_eviction_it_answers() -> None:
    """Not one of an earlier decision, of another kind, or of a pod that is gone."""
    ago = 10 * SECOND
    victims = {uid: Victim(uid=uid, since=ago) for uid in ("refused", "before", "agreed", "silent")}
    victims["gone"] = Victim(uid="gone", since=ago, gone_at=ago)
    answers = [refusal(uid, ago) for uid in ("refused", "gone", "stranger")] + [refusal("before", ago - 1)]
    answers.append(EvictionAnswer(uid="agreed", kind=EvictionAnswerKind.AGREED, at=ago))
    seen = Observation(node=None, outcomes=Outcomes(answers=tuple(answers)))
    assert refusals(State(in_flight=tuple(victims.values())), seen) == ((victims["refused"], answers[0]),)
