"""A fresh state, and phases that can be told apart."""

from evictd.core.model.observation import Observation
from evictd.core.model.signal import Filesystem
from evictd.core.model.state import CleaningUp, Collection, PhaseName, Reclaiming, State, Victim, Watching
from tests.playbook import threshold


def test_every_phase_has_its_name() -> None:
    """For metrics and state files."""
    one = threshold("memory.available", "1Gi")
    reclaiming = Reclaiming(threshold=one, due=(one,), before=Observation(node=None))
    names = [phase.name for phase in (Watching(), reclaiming, CleaningUp(until=1))]
    assert names == list(PhaseName)


def test_the_activity_of_the_ledger() -> None:
    """Collections first, then victims that are leaving; what is gone and still owes something is no activity."""
    leaving, gone = Victim(uid="a"), Victim(uid="b", gone_at=1)
    at_work = {Filesystem.NODEFS: Collection(begun=0, until=1)}
    assert State(in_flight=(leaving,), collections=at_work).activity is PhaseName.RECLAIMING
    assert State(in_flight=(leaving, gone)).activity is PhaseName.CLEANING_UP
    assert State(in_flight=(gone,)).activity is PhaseName.WATCHING
    assert State(phase=CleaningUp(until=1)).activity is PhaseName.CLEANING_UP


def test_a_victim_with_the_grace_of_a_hard_threshold_or_less_is_hard() -> None:
    """Its end needs no consent of the API server."""
    assert [Victim(uid="a", grace_period_seconds=grace).is_hard for grace in (0, 1, 2)] == [True, True, False]
