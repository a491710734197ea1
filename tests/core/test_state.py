"""A fresh state, and phases that can be told apart."""

from evictd.core.observation import Observation
from evictd.core.state import CleaningUp, PhaseName, Reclaiming, State, Watching
from tests.playbook import threshold


def test_a_fresh_state_watches_and_knows_nothing() -> None:
    """As after the first start."""
    state = State()
    assert state.phase == Watching()
    assert state.filesystems is None
    assert not state.reported


def test_every_phase_has_its_name() -> None:
    """For metrics and state files."""
    one = threshold("memory.available", "1Gi")
    reclaiming = Reclaiming(threshold=one, due=(one,), before=Observation(node=None), until=1)
    names = [phase.name for phase in (Watching(), reclaiming, CleaningUp(until=1))]
    assert names == list(PhaseName)
