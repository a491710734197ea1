"""Which taints are added and removed, and when it is tried again: every other entry stays, whatever it is."""

from hypothesis import given
from hypothesis import strategies as st

from evictd.act.cluster.taints import (
    AFTER_REFUSAL,
    FIRST_PAUSE,
    LONGEST_PAUSE,
    OWN_KEYS,
    TaintRetry,
    changed,
    is_own,
    pair_of,
)
from evictd.config.settings import TaintEffect

KEYS = st.sampled_from([*sorted(OWN_KEYS), "dedicated", "evictd.io/other", "node.kubernetes.io/unschedulable"])
EFFECTS = st.sampled_from(["NoSchedule", "PreferNoSchedule", "NoExecute"])
TAINTS = st.lists(
    st.fixed_dictionaries(
        {"key": KEYS, "effect": EFFECTS}, optional={"value": st.just("v"), "timeAdded": st.just("t")}
    ),
    unique_by=lambda taint: (taint["key"], taint["effect"]),
)
WANTED = st.builds(
    lambda keys, effect: frozenset((key, effect.value) for key in keys),
    st.sets(st.sampled_from(sorted(OWN_KEYS))),
    st.sampled_from(TaintEffect),
)


@given(TAINTS, WANTED)
def test_only_own_taints_change(there: list[dict[str, str]], wanted: frozenset[tuple[str, str]]) -> None:
    """Foreign entries keep their fields and order; own ones are exactly the wanted ones, each once."""
    after = changed(there, wanted)
    result = there if after is None else list(after)
    assert [t for t in result if not is_own(t)] == [t for t in there if not is_own(t)]
    assert sorted(pair_of(t) for t in result if is_own(t)) == sorted(wanted)
    assert (after is None) is ({pair_of(t) for t in there if is_own(t)} == wanted)
    assert changed(result, wanted) is None


def test_the_same_key_with_another_effect_is_foreign() -> None:
    """NoExecute drives pods away; evictd neither writes nor removes it."""
    assert not any(is_own({"key": key, "effect": "NoExecute"}) for key in OWN_KEYS)


def test_another_effect_replaces_the_one_before() -> None:
    """After a change of `cluster.taintEffect` the node does not have both."""
    key = min(OWN_KEYS)
    there = [{"key": "dedicated", "effect": "NoSchedule"}, {"key": key, "effect": "NoSchedule"}]
    after = changed(there, {(key, TaintEffect.PREFER_NO_SCHEDULE.value)})
    assert after == (there[0], {"key": key, "effect": "PreferNoSchedule"})


def test_the_pause_grows_and_ends_with_a_success() -> None:
    """Doubling from the first to the longest; a refusal is longer."""
    retry, now, pauses = TaintRetry(), 0, []
    for _ in range(6):
        retry.conflicted(now)
        pauses.append(retry.not_before - now)
        now = retry.not_before
    assert pauses[0] == FIRST_PAUSE
    assert pauses[1] == 2 * FIRST_PAUSE
    assert pauses[-1] == LONGEST_PAUSE
    assert retry.stale
    retry.was_refused(now)
    assert retry.refused
    assert retry.not_before == now + AFTER_REFUSAL
    retry.written()
    assert retry == TaintRetry()
