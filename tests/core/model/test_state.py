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
