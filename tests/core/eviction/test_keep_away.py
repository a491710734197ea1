"""How long pods are kept away whose owner brings them back."""

from dataclasses import replace

import pytest

from evictd.core.eviction.assess import node_conditions_observed_since
from evictd.core.eviction.refusals.keep_away import (
    FIRST_PERIOD,
    LONGEST_PERIOD,
    follow_comebacks,
    kept_away,
    transition_period,
)
from evictd.core.eviction.synchronize import synchronize
from evictd.core.model.config import EvictionConfig, Policy
from evictd.core.model.finding import KeptAway
from evictd.core.model.observation import Observation
from evictd.core.model.signal import NodeCondition, Signal
from evictd.core.model.state import Comeback, State, Victim
from evictd.core.units.duration import HOUR, MINUTE
from tests.playbook import node, pod

MEMORY = NodeCondition.MEMORY_PRESSURE
CONFIG = EvictionConfig(keep_away=True, pressure_transition_period=5 * MINUTE)
OWNER = "default/ReplicaSet/hog"


class Story:
    """A node on which an owner's pod is evicted; times in minutes."""

    def __init__(self, config: EvictionConfig = CONFIG) -> None:
        self.state = State()
        self.config = config

    def cycle(self, minute: float, *uids: str, pressure: bool = False, evicted: str = "") -> "Story":
        """One cycle: these pods of the owner are here, the condition was reported or not, and an eviction has become certain."""
        before = replace(self.state, node_conditions=(MEMORY,) if pressure else ())
        after = before
        if evicted:
            victim = Victim(
                uid=evicted,
                full_name="default/hog",
                owner=OWNER,
                siblings=frozenset(uids),
                since=0,
                until=0,
                grace_period_seconds=1,
                cause=Signal.MEMORY_AVAILABLE,
            )
            before = replace(before, in_flight=(victim,))
            after = replace(before, in_flight=(replace(victim, counted=True),))
        pods = tuple(replace(pod(uid), uid=uid, owner="ReplicaSet/hog") for uid in uids)
        now = int(minute * MINUTE)
        self.state = follow_comebacks(before, after, Observation(node=None, pods=pods), self.config, now)
        self.state = replace(self.state, in_flight=(), node_conditions_last_observed_at={MEMORY: now})
        return self

    def comeback(self, minute: float, uid: str, *here: str) -> "Story":
        """A pod that comes when the condition has ended, and is evicted a minute later, when it is reported again."""
        self.cycle(minute, uid, *here)
        return self.cycle(minute + 1, uid, *here, pressure=True, evicted=uid)

    @property
    def period(self) -> int:
        return transition_period(self.state, self.config, MEMORY)


def thrice() -> Story:
    story = Story()
    for number in range(3):
        story.comeback(6 * number, f"hog-{number}")
    return story


def test_the_third_pod_that_comes_back_within_an_hour_keeps_the_condition_for_ten_minutes_then_twice_as_long() -> None:
    story = Story()
    periods, minute = [], 0.0
    for number in range(7):
        story.comeback(minute, f"hog-{number}")
        periods.append(story.period // MINUTE)
        minute += story.period // MINUTE + 2
    assert periods == [5, 5, 10, 20, 40, 60, 60]
    assert (FIRST_PERIOD, LONGEST_PERIOD) == (10 * MINUTE, HOUR)


def test_a_finding_names_the_owner_the_evictions_and_the_end() -> None:
    story = thrice()
    assert kept_away(replace(story.state, node_conditions=()), CONFIG, 0) == ()
    (finding,) = kept_away(replace(story.state, node_conditions=(MEMORY,)), CONFIG, 0)
    assert (finding.owner, finding.evictions, finding.period) == (OWNER, 3, 10 * MINUTE)
    assert finding.until == 13 * MINUTE + 10 * MINUTE


def test_three_in_more_than_an_hour_change_nothing() -> None:
    story = Story()
    for number in range(5):
        story.comeback(31 * number, f"hog-{number}")
    assert story.period == 5 * MINUTE


def test_an_hour_without_an_eviction_after_its_end_is_the_end_of_it() -> None:
    story = thrice()
    assert story.cycle(13 + 69).period == 10 * MINUTE
    assert story.cycle(13 + 71).period == 5 * MINUTE
    assert story.state.comebacks == ()


def test_a_pod_that_comes_in_spite_of_the_condition_is_not_kept_away_by_it() -> None:
    """A toleration, a nodeName: a longer taint would keep only others away."""
    story = thrice()
    story.cycle(14, "hog-3", pressure=True)
    assert story.period == 5 * MINUTE
    tolerating = Story()
    for number in range(5):
        tolerating.cycle(6 * number, f"hog-{number}", pressure=True)
        tolerating.cycle(6 * number + 1, f"hog-{number}", pressure=True, evicted=f"hog-{number}").cycle(6 * number + 5)
    assert tolerating.period == 5 * MINUTE


def test_a_second_pod_that_was_here_all_the_time_is_no_comeback() -> None:
    story = Story()
    pods = [f"hog-{number}" for number in range(4)]
    for number, uid in enumerate(pods):
        story.cycle(6 * number, *pods[number:]).cycle(6 * number + 1, *pods[number:], pressure=True, evicted=uid)
    assert story.period == 5 * MINUTE


def test_two_of_one_time_count_once() -> None:
    story = Story()
    for number in range(2):
        story.cycle(6 * number, f"a-{number}", f"b-{number}")
        for each in ("a", "b"):
            story.cycle(6 * number + 1, f"a-{number}", f"b-{number}", pressure=True, evicted=f"{each}-{number}")
    assert story.period == 5 * MINUTE


@pytest.mark.parametrize(
    "config",
    [
        replace(CONFIG, keep_away=False),
        replace(CONFIG, policy=Policy.KUBELET),
        replace(CONFIG, pressure_transition_period=0),
    ],
    ids=["no taints", "policy Kubelet", "no conditions"],
)
def test_it_is_off(config: EvictionConfig) -> None:
    state = thrice().state
    assert transition_period(state, config, MEMORY) == config.pressure_transition_period
    assert kept_away(replace(state, node_conditions=(MEMORY,)), config, 0) == ()
    assert follow_comebacks(state, state, Observation(node=None), config, 0).comebacks == ()


def test_a_bare_pod_has_no_owner_that_brings_it_back() -> None:
    story = Story()
    victim = Victim(
        uid="bare",
        full_name="default/bare",
        since=0,
        until=0,
        grace_period_seconds=1,
        cause=Signal.MEMORY_AVAILABLE,
    )
    before = replace(story.state, in_flight=(victim,))
    after = replace(before, in_flight=(replace(victim, counted=True),))
    assert follow_comebacks(before, after, Observation(node=None), CONFIG, 0).comebacks == ()


def test_the_condition_stays_for_as_long_and_the_step_says_why() -> None:
    """Through the whole of a step: met once, then calm."""
    comeback = Comeback(owner=OWNER, condition=MEMORY, evicted_at=(0,), evictions=3, period=20 * MINUTE)
    state = replace(
        State(), comebacks=(comeback,), node_conditions=(MEMORY,), node_conditions_last_observed_at={MEMORY: 0}
    )
    calm = Observation(node=node(memory="4Gi of 8Gi", nodefs="90Gi of 100Gi"))
    for minute, reported in ((5, True), (19, True), (20, False)):
        step = synchronize(state, calm, CONFIG, minute * MINUTE)
        assert (MEMORY in step.state.node_conditions) is reported
        assert [each.owner for each in step.findings if isinstance(each, KeptAway)] == [OWNER] * reported
    assert node_conditions_observed_since({MEMORY: 0}, lambda _: 5 * MINUTE, 5 * MINUTE) == ()  # without it


def test_what_is_followed_is_bounded() -> None:
    story = Story()
    story.cycle(0, "hog", pressure=True, evicted="hog")
    story.cycle(6, *(f"pod-{number}" for number in range(600)))
    assert story.state.comebacks == ()
