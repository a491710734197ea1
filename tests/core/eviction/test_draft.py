"""A step that breaks a rule does not leave the core."""

from dataclasses import replace

import pytest

from evictd.core.eviction.draft import Draft, check_invariants, notice_of
from evictd.core.model.decision import (
    Decision,
    EvictionCause,
    EvictionReason,
    EvictPod,
    RecordEvent,
    ReportConditions,
    Wait,
)
from evictd.core.model.finding import NoAction, NoActionReason
from evictd.core.model.pod import Pod, PodSource
from evictd.core.model.state import State, Step
from evictd.core.units.quantity import of_bytes
from tests.playbook import Playbook, config, pod, threshold, usage

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


MEMORY = threshold("memory.available", "13Gi")


def test_each_reason_has_its_numbers() -> None:
    in_vain = NoAction(
        why=NoActionReason.EVICTIONS_DO_NOT_HELP,
        threshold=MEMORY,
        needed=of_bytes(1 << 30),
        reachable=of_bytes(30 << 20),
        detail="that is too little",
    )
    event = notice_of(in_vain, None)
    assert event is not None
    assert (event.type, event.reason) == ("Warning", "EvictionsDoNotHelp")
    assert (
        "1Gi is missing and the last two evictions gave back 30Mi; that is too little, so evictions pause"
        in event.message
    )
    culprit = NoAction(
        why=NoActionReason.PROTECTED_CULPRIT, threshold=MEMORY, needed=of_bytes(6 << 30), missing=of_bytes(1 << 20),
        reachable=of_bytes(1 << 30), detail="grew more than all of them and is a static pod",
    )  # fmt: skip
    event = notice_of(culprit, None)
    assert event is not None
    assert (
        "1Mi is missing now, 6Gi if growth goes on while other pods end (40 s or more each). The pods that may be "
        "evicted hold 1Gi; " in event.message
    )
    event = notice_of(replace(culprit, reachable=of_bytes(7 << 30)), None)
    assert event is not None
    assert event.message.endswith("is a static pod, and no pod within its request goes in its place yet")
    event = notice_of(replace(culprit, missing=of_bytes(1)), None)
    assert event is not None
    assert "is missing now" not in event.message, "1 stands for nothing at all"
    event = notice_of(replace(culprit, missing=culprit.needed), None)
    assert event is not None
    assert "6Gi is needed. The pods" in event.message
    never = notice_of(NoAction(why=NoActionReason.THRESHOLD_NEVER_CLEAR, threshold=MEMORY), None)
    assert never is not None
    assert "the threshold 13Gi was met ever since" in never.message


def test_a_limit_that_is_reached_says_which() -> None:
    limit = NoAction(
        why=NoActionReason.EVICTION_LIMIT_REACHED, threshold=MEMORY, needed=of_bytes(1 << 30), detail="3 pods in 10m0s"
    )
    event = notice_of(limit, None)
    assert event is not None
    assert event.message.endswith("1Gi is missing and evictionLimit allows no more than 3 pods in 10m0s")


def test_waiting_for_a_victim_is_no_event() -> None:
    assert notice_of(NoAction(why=NoActionReason.WAITING_FOR_VICTIM, threshold=MEMORY), None) is None


def test_it_is_recorded_once_while_the_node_is_short_and_says_who_grew() -> None:
    static = pod("static", source=PodSource.STATIC)
    book = Playbook(config(hard={"memory.available": "500Mi"}), pods=[static], usage=[usage(static, memory="1Gi")])
    events: list[RecordEvent] = []
    for second, (memory, left) in enumerate((("1Gi", "4Gi"), ("5Gi", "100Mi"), ("5Gi", "90Mi"), ("5Gi", "80Mi"))):
        book.usage = {"static": usage(static, memory=memory)}
        book.at(f"{second}s", memory=f"{left} of 8Gi")
        events += [each for each in book.step.decisions if isinstance(each, RecordEvent)]
        book.left = []
    assert [each.reason for each in events] == ["EvictionThresholdMet", "ProtectedCulprit"]
    assert "pods took 4Gi (protected ones 4Gi)" in events[1].message
