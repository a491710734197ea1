"""The state machine of one eviction: its paths, and its laws over generated sequences of events."""

import re
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evictd.act.cluster import pod_eviction
from evictd.act.cluster.eviction_stages import (
    CONTAINERS,
    JOINT,
    OBJECT,
    REQUEST_OF,
    SETTLED,
    Containers,
    Event,
    Request,
    Stage,
)
from evictd.act.cluster.pod_eviction import ASK_PATIENCE, REMEMBERED, REPAIRS, PodEviction
from evictd.core.eviction.refusals.backoff import HARD_BYPASS
from evictd.core.model.decision import EvictionCause, EvictionReason, EvictPod, PodCondition
from evictd.core.model.observation import EvictionAnswerKind
from evictd.core.model.pod import Pod

TARGET = PodCondition(type="DisruptionTarget", status="True", reason="R", message="m")
METHODS = (Event.ASK, Event.DELETE, Event.WRITE)
ANNOUNCE, STOP, STOP_AGAIN = Request.ANNOUNCE, Request.STOP, Request.STOP_AGAIN


def decision(condition: PodCondition | None = TARGET, *, grace: int = 30) -> EvictPod:
    because = EvictionCause(reason=EvictionReason.PRESSURE)
    pod = Pod(name="a", namespace="default", uid="u")
    return EvictPod(pod=pod, grace_period_seconds=grace, message="m", because=because, condition=condition)


class Walk:
    """One eviction, fed with events; a clock that moves by one with each of them."""

    def __init__(
        self,
        *,
        hard: bool = False,
        kubelet: bool = True,
        condition: PodCondition | None = TARGET,
        announced: bool = False,
    ) -> None:
        self.now = 0
        self.eviction = PodEviction(decision(condition), 0, hard=hard, announced=announced)
        self.requests = list(self.eviction.begin(0))
        self._kubelet = kubelet

    def feed(self, *events: Event) -> "Walk":
        for event in events:
            self.now += 1
            if event in METHODS:
                made = self.eviction.choose(event, self.now, kubelet=self._kubelet)
            elif event is Event.SHORTENED:
                made = self.eviction.shorten(decision(self.eviction.decision.condition, grace=1), self.now)
            else:
                made = self.eviction.receive(event, self.now)
            self.requests += made
        return self

    @property
    def at(self) -> tuple[Stage, Containers]:
        return self.eviction.stage, self.eviction.containers


@pytest.mark.parametrize(
    ("hard", "kubelet", "events", "ends", "requests"),
    [
        (False, True, [Event.ASK, Event.ACCEPTED, Event.ENDED], (Stage.DONE, Containers.KEPT), [ANNOUNCE]),
        (False, True, [Event.ASK, Event.REFUSED], (Stage.REFUSED, Containers.KEPT), []),
        (False, True, [Event.ASK, Event.WITHDRAWN], (Stage.WITHDRAWN, Containers.KEPT), []),
        (False, True, [Event.DELETE, Event.WITHDRAWN], (Stage.WITHDRAWN, Containers.KEPT), []),
        (False, True, [Event.DELETE, Event.ACCEPTED, Event.WITHDRAWN], (Stage.DELETING, Containers.KEPT), [ANNOUNCE]),
        (True, True, [Event.WITHDRAWN], (Stage.CHOOSING, Containers.DUE), [ANNOUNCE]),
        (False, True, [Event.ASK, Event.NOT_FOUND, Event.ENDED], (Stage.DONE, Containers.KEPT), []),
        (
            False,
            False,
            [Event.ASK, Event.ACCEPTED, Event.CLEARED, Event.STOPPED],
            (Stage.DONE, Containers.STOPPED),
            [ANNOUNCE, STOP],
        ),
        (True, True, [Event.ASK], (Stage.ASKING, Containers.KEPT), [ANNOUNCE]),
        (True, True, [Event.ASK, Event.UNANSWERED], (Stage.MARKING, Containers.DUE), [ANNOUNCE]),
        (
            True,
            True,
            [Event.DELETE, Event.CLEARED, Event.ACCEPTED, Event.ACCEPTED, Event.STOPPED],
            (Stage.DONE, Containers.STOPPED),
            [ANNOUNCE, STOP],
        ),
        (
            True,
            True,
            [Event.DELETE, Event.CLEARED, Event.STOPPED, Event.FORBIDDEN, Event.FORBIDDEN],
            (Stage.WRITING, Containers.STOPPED),
            [ANNOUNCE, STOP],
        ),
        (
            False,
            False,
            [Event.WRITE, Event.CLEARED, Event.STOPPED, Event.ACCEPTED, Event.ENDED],
            (Stage.DONE, Containers.STOPPED),
            [ANNOUNCE, STOP],
        ),
        (
            False,
            True,
            [Event.ASK, Event.ACCEPTED, Event.SHORTENED, Event.CLEARED, Event.ACCEPTED],
            (Stage.LEAVING, Containers.STOPPING),
            [ANNOUNCE, STOP],
        ),
        (
            False,
            True,
            [Event.WRITE, Event.CLEARED, Event.STOPPED, Event.RESTARTED],
            (Stage.STOPPING, Containers.STOPPING),
            [ANNOUNCE, STOP, STOP_AGAIN],
        ),
    ],
    ids=[
        "asked, agreed", "asked, refused", "asked, withdrawn", "marking, withdrawn", "marked, withdrawn too late",
        "hard, not withdrawn", "asked, removed by another party", "asked, agreed, no kubelet",
        "hard, asked by name", "hard, no answer", "hard", "hard, everything forbidden but the status", "status",
        "soft, shortened", "status, started again before it was written",
    ],
)  # fmt: skip
def test_paths(
    hard: bool,
    kubelet: bool,
    events: list[Event],
    ends: tuple[Stage, Containers],
    requests: list[Request],
) -> None:
    """Where events lead, and what the owner is asked for on the way."""
    walk = Walk(hard=hard, kubelet=kubelet).feed(*events)
    assert walk.at == ends
    assert walk.requests == requests


def test_a_pod_without_a_condition_to_set_is_deleted_without_marking() -> None:
    """A local-storage eviction has none."""
    assert Walk(condition=None).feed(Event.DELETE).eviction.stage is Stage.DELETING
    assert Walk().feed(Event.DELETE).eviction.stage is Stage.MARKING


def test_a_written_status_is_repaired_twice_and_then_the_object_is_deleted() -> None:
    walk = Walk().feed(Event.WRITE, Event.CLEARED, Event.STOPPED)
    for _ in range(REPAIRS):
        walk.feed(Event.ACCEPTED, Event.REVIVED)
        assert walk.at == (Stage.STOPPING, Containers.STOPPING)
        walk.feed(Event.STOPPED)
    assert walk.eviction.repairs == REPAIRS
    walk.feed(Event.ACCEPTED, Event.RESISTED)
    assert walk.at == (Stage.MARKING, Containers.STOPPING)
    assert walk.requests == [ANNOUNCE, STOP, STOP_AGAIN, STOP_AGAIN, STOP_AGAIN]


def test_what_only_shortens_an_eviction_of_the_previous_run_is_not_announced_again() -> None:
    assert ANNOUNCE not in Walk(hard=True, announced=True).feed(Event.DELETE, Event.CLEARED).requests


def test_the_answer_is_agreement_as_soon_as_the_pod_goes_and_a_refusal_carries_the_servers_time() -> None:
    assert Walk().feed(Event.ASK).eviction.answer is None
    agreed = Walk().feed(Event.ASK, Event.ACCEPTED).eviction.answer
    assert agreed is not None
    assert (agreed.kind, agreed.at) == (EvictionAnswerKind.AGREED, 2)
    walk = Walk().feed(Event.ASK)
    walk.eviction.refuse(5, retry_after=7, detail="d")
    refused = walk.eviction.answer
    assert refused is not None
    assert (refused.kind, refused.at, refused.retry_after, refused.detail) == (EvictionAnswerKind.REFUSED, 5, 7, "d")


def test_a_refused_request_is_sent_again_later_and_a_next_one_at_once() -> None:
    eviction = Walk(hard=True).feed(Event.ASK).eviction
    assert eviction.patience == ASK_PATIENCE
    eviction.ask_later(10, 5)
    assert (eviction.request(14), eviction.request(15)) == (None, Request.EVICT)
    assert eviction.patience == ASK_PATIENCE + HARD_BYPASS
    eviction.receive(Event.BYPASS, 11)
    assert eviction.request(11) is Request.MARK


def test_it_is_remembered_for_a_while_and_for_as_long_as_its_containers_are_being_stopped() -> None:
    walk = Walk().feed(Event.WRITE, Event.CLEARED, Event.STOPPED, Event.FORBIDDEN)
    assert walk.eviction.stage is Stage.DONE
    settled = walk.now
    assert not walk.eviction.is_forgettable(settled + REMEMBERED)
    assert walk.eviction.is_forgettable(settled + REMEMBERED + 1)
    walk.feed(Event.RESTARTED)
    assert not walk.eviction.is_forgettable(settled + 2 * REMEMBERED)
    walk.feed(Event.STOPPED)
    assert not walk.eviction.is_forgettable(settled + REMEMBERED + 1)
    assert walk.eviction.is_forgettable(walk.now + REMEMBERED + 1)


def test_an_eviction_that_is_over_is_followed_by_a_new_one_and_one_under_way_is_not() -> None:
    assert Walk().feed(Event.ASK, Event.REFUSED).eviction.replaceable
    assert Walk().feed(Event.ASK, Event.ACCEPTED, Event.ENDED).eviction.replaceable
    forbidden = Walk().feed(Event.WRITE, Event.CLEARED, Event.STOPPED, Event.FORBIDDEN)
    assert forbidden.eviction.replaceable
    assert not forbidden.feed(Event.RESTARTED).eviction.replaceable
    assert not Walk().feed(Event.WRITE, Event.CLEARED, Event.STOPPED).eviction.replaceable


# --- laws --------------------------------------------------------------------------------------------------------------


def possible(walk: Walk) -> list[Event]:
    """List the events that the world can bring about now."""
    eviction = walk.eviction
    events = [Event.SHORTENED, *([Event.WITHDRAWN] if eviction.withdrawable else [])]
    match eviction.stage:
        case Stage.CHOOSING:
            events += METHODS
        case Stage.ASKING:
            # A budget holds up a hard eviction for a while, and never makes it stay.
            urgent = [Event.UNANSWERED] if eviction.hard else [Event.REFUSED]
            events += [Event.ACCEPTED, Event.NOT_FOUND, Event.BYPASS, Event.FORBIDDEN, *urgent]
        case Stage.MARKING | Stage.DELETING | Stage.WRITING:
            events += [Event.ACCEPTED, Event.NOT_FOUND, Event.FORBIDDEN]
        case Stage.LEAVING if eviction.containers is Containers.KEPT:
            events += [Event.ENDED]
        case Stage.VERIFYING:
            events += [Event.ENDED, Event.REVIVED if eviction.repairs < REPAIRS else Event.RESISTED]
    match eviction.containers:
        case Containers.DUE:
            events += [Event.CLEARED]
        case Containers.STOPPING:
            events += [Event.STOPPED]
        case Containers.STOPPED:
            events += [Event.RESTARTED]
    return events


def starts(walk: Walk, event: Event) -> bool:
    """Whether the event says that stopped containers run again."""
    return event in {Event.RESTARTED, Event.REVIVED, Event.RESISTED} and walk.eviction.containers is Containers.STOPPED


def grows(walk: Walk) -> tuple[Event, ...]:
    """Return events in the order in which a benign world brings them: each waits for nothing else."""
    return (*METHODS, Event.ACCEPTED, Event.CLEARED, Event.STOPPED, Event.ENDED)


def settle(walk: Walk) -> int:
    """Let a benign world go on; gives the number of steps until the stage is settled and nothing is being stopped."""
    for step in range(20):
        can = [event for event in grows(walk) if event in possible(walk)]
        if walk.eviction.settled and walk.eviction.containers not in {Containers.DUE, Containers.STOPPING}:
            return step
        walk.feed(can[0])
    raise AssertionError(f"stuck at {walk.at}")


@given(st.booleans(), st.booleans(), st.booleans(), st.data())
def test_no_sequence_of_events_leaves_a_pod_stuck_stopped_twice_or_announced_twice(
    hard: bool, kubelet: bool, marked: bool, data: st.DataObject
) -> None:
    walk = Walk(hard=hard, kubelet=kubelet, condition=TARGET if marked else None)
    runs = 1
    """How often the containers were started."""
    for _ in range(data.draw(st.integers(0, 25))):
        event = data.draw(st.sampled_from(possible(walk)))
        runs += starts(walk, event)
        shortens = event is Event.SHORTENED and walk.eviction.containers is Containers.STOPPING
        before = len(walk.requests)
        walk.feed(event)
        if shortens:
            assert walk.requests[before:] == [STOP]
            del walk.requests[before:]
        stops = [request for request in walk.requests if request in {STOP, STOP_AGAIN}]
        assert len(stops) <= runs
        assert walk.requests.count(ANNOUNCE) <= 1
        assert not stops or walk.eviction.containers in {Containers.STOPPING, Containers.STOPPED}
        if walk.eviction.stage is Stage.WRITING:
            assert walk.eviction.containers is Containers.STOPPED
        if walk.eviction.stage in {Stage.REFUSED, Stage.WITHDRAWN}:
            assert not stops
        if walk.eviction.stage is Stage.WITHDRAWN:
            assert ANNOUNCE not in walk.requests
    walk_ended = settle(walk)
    assert walk_ended < 20


@given(st.booleans(), st.booleans(), st.lists(st.sampled_from(Event), max_size=40))
def test_events_that_come_too_late_change_nothing_for_the_worse(hard: bool, kubelet: bool, events: list[Event]) -> None:
    """Any event at any time: it is announced at most once, and nothing is written while anything runs."""
    walk = Walk(hard=hard, kubelet=kubelet)
    for event in events:
        walk.feed(event)
        assert walk.requests.count(ANNOUNCE) <= 1
        assert walk.eviction.stage is not Stage.WRITING or walk.eviction.containers is Containers.STOPPED
        if walk.eviction.settled_at is None:
            assert not walk.eviction.settled


def test_announcements_precede_stops() -> None:
    """Of every path of up to five events, unless another party removed the pod."""

    def explore(path: tuple[Event, ...]) -> Iterable[Walk]:
        walk = Walk().feed(*path)
        yield walk
        if len(path) < 5:
            for event in possible(walk):
                yield from explore((*path, event))

    for walk in explore(()):
        if STOP in walk.requests and ANNOUNCE in walk.requests:
            assert walk.requests.index(ANNOUNCE) < walk.requests.index(STOP)


def test_every_row_of_the_tables_can_be_reached() -> None:
    """A row that no sequence of events uses would be a claim that nothing tests."""
    seen: set[object] = set()
    todo: list[tuple[bool, bool, tuple[Event, ...]]] = [(h, k, ()) for h in (True, False) for k in (True, False)]
    known: set[object] = set()
    while todo:
        hard, kubelet, path = todo.pop()
        walk = Walk(hard=hard, kubelet=kubelet).feed(*path)
        key = (hard, kubelet, walk.at, walk.eviction.hard, walk.eviction.repairs)
        if key in known:
            continue
        known.add(key)
        for event in possible(walk):
            seen |= {(walk.eviction.stage, event), (walk.eviction.containers, event)}
            todo.append((hard, kubelet, (*path, event)))
    assert set(OBJECT) - seen == set()
    assert set(CONTAINERS) - seen == set()


def test_no_stage_is_assigned_outside_the_table() -> None:
    """The only assignments are in the constructor and where a row is applied."""
    folder = Path(pod_eviction.__file__).parent
    for path in folder.glob("*.py"):
        found = re.findall(r"\._?(?:stage|containers) = ", path.read_text())
        assert len(found) == (4 if path.name == "pod_eviction.py" else 0), path.name


def test_no_settled_stage_has_a_request_and_joint_rows_end() -> None:
    assert not SETTLED & REQUEST_OF.keys()
    for (_, containers), stage in JOINT.items():
        assert (stage, containers) not in JOINT
