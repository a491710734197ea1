"""A step that breaks a rule does not leave the core."""

from dataclasses import replace

import pytest

from evictd.core.eviction.draft import Draft, check_invariants
from evictd.core.model.decision import Decision, EvictionCause, EvictionReason, EvictPod, ReportConditions, Wait
from evictd.core.model.pod import Pod, PodSource
from evictd.core.model.state import State, Step
from tests.playbook import config, pod

WAIT = Wait(nanoseconds=1)


def eviction(one: Pod, reason: EvictionReason = EvictionReason.PRESSURE) -> EvictPod:
    """An eviction of that pod."""
    return EvictPod(pod=one, grace_period_seconds=1, message="", because=EvictionCause(reason=reason))


def step(*decisions: Decision) -> Step:
    """A step with these decisions."""
    return Step(state=State(), decisions=decisions, findings=())


@pytest.mark.parametrize(
    ("broken", "rule"),
    [
        (step(eviction(pod("a")), eviction(pod("b")), WAIT), "more than one pod"),
        (step(eviction(pod("a", source=PodSource.STATIC)), WAIT), "protected pod"),
        (step(), "exactly one Wait"),
        (step(WAIT, WAIT), "exactly one Wait"),
        (step(WAIT, eviction(pod("a"))), "exactly one Wait"),
        (step(eviction(pod("a")), ReportConditions(conditions=()), WAIT), "conditions are reported before"),
    ],
)
def test_a_broken_rule_is_a_programmers_error(broken: Step, rule: str) -> None:
    """It stops the daemon before it stops a pod."""
    with pytest.raises(AssertionError, match=rule):
        check_invariants(broken, config())


def test_limits_and_shortenings_are_not_counted_as_pressure() -> None:
    """Any number of pods may break their own limits at once."""
    limit = EvictionReason.POD_LIMIT
    shortened = replace(eviction(pod("d")), shortens=True)
    several = (eviction(pod("a"), limit), eviction(pod("b"), limit), shortened, eviction(pod("c")))
    check_invariants(step(*several, WAIT), config())
    with pytest.raises(AssertionError, match="pressure"):
        check_invariants(step(*several, eviction(pod("e")), WAIT), config())


def test_closing_adds_the_wait() -> None:
    """The monitoring period when calm."""
    settings = config(monitoring_period=7)
    assert Draft(config=settings, now=0).close(State()).decisions == (Wait(nanoseconds=7),)
