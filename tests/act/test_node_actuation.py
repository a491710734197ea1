"""What both live actuators share: leftovers that are retried, victims that are resumed."""

from dataclasses import replace

import pytest

from evictd.act.node_actuation import grace_left, victims_of
from evictd.clients.cri.values import SandboxState
from evictd.core.eviction.accounts.absence import LONGEST_COUNTED, make_up_for_absence
from evictd.core.eviction.accounts.ledger import victim_until
from evictd.core.model.state import State, Victim
from evictd.core.units.duration import HOUR, SECOND
from tests.act.test_standalone import READING, VIEW, Parts, node_of
from tests.daemon.world import CONFIG, HOG, NOW


@pytest.mark.parametrize(("grace", "elapsed", "left"), [(10, 4, 6), (10, 11, 0), (60, 1, 59), (1, 0, 1)])
def test_the_grace_left_counts_from_its_beginning(grace: int, elapsed: int, left: int) -> None:
    victim = Victim(uid="u", grace_period_seconds=grace, since=NOW, until=victim_until(grace, NOW))
    assert grace_left(victim, NOW + elapsed * SECOND) == left


def test_an_absence_does_not_use_up_the_grace() -> None:
    """A pod with five minutes of grace that was never asked to stop got a second of it after an hour."""
    victim = Victim(uid="u", grace_period_seconds=300, since=NOW, until=victim_until(300, NOW))
    state, later = State(in_flight=(victim,), last_cycle_at=NOW + SECOND), NOW + HOUR
    (moved,) = make_up_for_absence(state, CONFIG, later).in_flight
    assert grace_left(moved, later) == 300 - 1 - LONGEST_COUNTED // SECOND


def test_the_victims_of_a_state() -> None:
    assert victims_of(State(in_flight=(Victim(uid="a"), Victim(uid="b", gone_at=1)))) == {"a", "b"}


def test_leftovers_are_retried_but_not_those_of_a_pod_that_runs() -> None:
    parts = Parts()
    node = node_of(parts)
    stopped = replace(VIEW.sandboxes[0], id="s2", uid="stopped", state=SandboxState.NOT_READY)
    node.advance(State(), replace(READING, view=None))
    assert parts.retried == [], "what runs is not known"
    not_ready = replace(VIEW.sandboxes[0], state=SandboxState.NOT_READY)
    for view in (VIEW, replace(VIEW, containers=()), replace(VIEW, sandboxes=(not_ready,))):
        node.advance(State(), replace(READING, view=replace(view, sandboxes=(*view.sandboxes, stopped))))
    assert parts.retried == [(NOW, frozenset({HOG.uid}))] * 3
