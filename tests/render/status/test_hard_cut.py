"""What is said of a grace period that a hard threshold will cut."""

from io import StringIO

import pytest
from rich.console import Console

from evictd.core.eviction.time_left import STOP_TIME
from evictd.core.model.config import Policy
from evictd.core.model.decision import EvictPod
from evictd.core.model.state import IMMEDIATE_EVICTION_GRACE_PERIOD_SECONDS
from evictd.core.units.duration import MINUTE, SECOND
from evictd.render.status.times.hard_cut import (
    _CUT_TO,
    _KUBELET,
    _STOP_TIME,
    cut_at_hard,
    cut_in,
    entry_of,
    next_cut_at_hard,
)
from evictd.render.status.view import status_view
from evictd.world.behaviours import Grow, Usage
from evictd.world.loop import play
from evictd.world.model import WorldPod
from tests.daemon.status import status_of
from tests.playbook import config, pod
from tests.render.snapshots import incident_snapshot, snapshot_at
from tests.world.worlds import MI, world


def test_the_plain_values_are_those_of_the_decisions() -> None:
    assert (Policy.KUBELET.value, IMMEDIATE_EVICTION_GRACE_PERIOD_SECONDS) == (_KUBELET, _CUT_TO)


def test_the_terminal_says_it_as_the_page_does() -> None:
    """The terminal had the grace period of 600 s alone, seconds before its end (world 16)."""
    snapshot = incident_snapshot("16-long-grace-period", 281)
    status = status_of(snapshot, snapshot.at)
    (row,) = status["leaving"]
    assert cut_at_hard(row, status) == "cut to 1s as soon as the hard threshold is met"
    assert cut_in(row, status).startswith(", in ")
    console = Console(width=120, file=StringIO())
    console.print(status_view(status, width=120))
    assert isinstance(console.file, StringIO)
    line = "being evicted: default/slow, grace period 600s (cut to 1s as soon as the hard threshold is met"
    assert line in console.file.getvalue()


def test_the_next_pod_has_its_grace_period_where_the_hard_threshold_comes_first() -> None:
    snapshot = incident_snapshot("16-long-grace-period", 245)
    status = status_of(snapshot, snapshot.at)
    (memory,) = (each for each in status["signals"] if each["signal"] == "memory.available")
    assert next_cut_at_hard(memory, status).startswith(", with a grace period of 600s, cut to 1s as soon as")


def test_where_the_hard_threshold_comes_first_only_its_grace_period_is_said() -> None:
    """It said `a grace period of 30s, cut to 1s` of a pod that the hard threshold evicts with 1 s from the start."""
    snapshot = incident_snapshot("16-long-grace-period", 245)
    status = status_of(snapshot, snapshot.at)
    (memory,) = (each for each in status["signals"] if each["signal"] == "memory.available")
    soft = next(each for each in memory["thresholds"] if each["kind"] == "soft")
    soft["graceLeftSeconds"] = 60.0
    assert next_cut_at_hard(memory, status) == ", with a grace period of 1s"
    memory["next"]["gracePeriodSeconds"] = 5
    assert next_cut_at_hard(memory, status) == ", with a grace period of 1s", "the hard threshold is 37 s away"
    limit = next(each["limit"] for each in memory["thresholds"] if each["kind"] == "hard")
    memory["lately"] = {"fillRate": (memory["available"] - limit) // 50, "overSeconds": 10}
    assert next_cut_at_hard(memory, status) == ", with a grace period of 1s"
    memory["lately"]["fillRate"] //= 2
    assert (
        next_cut_at_hard(memory, status)
        == ", with a grace period of 5s, cut to 1s as soon as the hard threshold is met"
    )
    memory["lately"] = None
    soft["graceLeftSeconds"] = 30.0
    assert next_cut_at_hard(memory, status) == "", "it ends before the hard threshold is met"
    soft.update(met=False, graceLeftSeconds=None, secondsToThreshold=10.0)
    assert next_cut_at_hard(memory, status) == ", with a grace period of 1s", "it acts in 40 s"


def test_a_signal_that_cannot_be_read_has_no_thresholds() -> None:
    assert (
        entry_of({"signal": "memory.available"}, {"signals": [{"signal": "memory.available", "observed": False}]})
        is None
    )


def test_where_the_rest_does_not_last_for_a_second_the_next_pod_has_no_grace_period() -> None:
    """A second was said of a fall of 200Mi a second to a hard threshold of 200Mi; the pod was killed without grace."""
    assert _STOP_TIME * SECOND == STOP_TIME
    snapshot = incident_snapshot("16-long-grace-period", 245)
    status = status_of(snapshot, snapshot.at)
    (memory,) = (each for each in status["signals"] if each["signal"] == "memory.available")
    next(each for each in memory["thresholds"] if each["kind"] == "soft")["graceLeftSeconds"] = 60.0
    (limit,) = [each["limit"] for each in memory["thresholds"] if each["kind"] == "hard"]
    for rate, grace in ((limit // 2, 1), (limit, 0)):
        memory["lastFall"] = {"overSeconds": 10.0, "fillRate": rate}
        assert next_cut_at_hard(memory, status) == f", with a grace period of {grace}s"


@pytest.mark.parametrize(("rate", "grace"), [(20, 1), (200, 0)])
def test_a_hard_threshold_alone_leaves_the_next_pod_the_grace_period_that_fits(rate: int, grace: int) -> None:
    """`/statusz` had a second for a pod that was killed without grace."""
    leak = WorldPod(pod=pod("leak"), behaviours=(Grow(of=Usage.MEMORY, rate=rate * MI),))
    run = play(world(leak, duration=5 * MINUTE), config(hard={"memory.available": "200Mi"}))
    at, cause = next((c.at, each) for c in run.cycles for each in c.step.decisions if isinstance(each, EvictPod))
    snapshot = snapshot_at(run, at / SECOND - 1)
    (memory,) = status_of(snapshot, snapshot.at)["signals"]
    assert memory["next"]["gracePeriodSeconds"] == cause.grace_period_seconds == grace


def test_a_cut_of_which_no_time_is_left_is_at_any_moment() -> None:
    """`In 0.0s` stood below `at any moment`."""
    snapshot = incident_snapshot("16-long-grace-period", 281)
    status = status_of(snapshot, snapshot.at)
    (row,) = status["leaving"]
    (memory,) = (each for each in status["signals"] if each["signal"] == "memory.available")
    for each in memory["thresholds"]:
        each["secondsToThreshold"] = 0.0
    assert cut_in(row, status) == ", at any moment at the present rate"


def test_no_time_is_said_to_a_cut_at_a_rate_that_has_ended() -> None:
    """`in 11s at the present rate` stood below a headline that said that memory hardly falls (world 25)."""
    snapshot = incident_snapshot("25-budget-of-zero", 289)
    status = status_of(snapshot, snapshot.at)
    (row,) = status["leaving"]
    assert (cut_at_hard(row, status), cut_in(row, status)) == ("cut to 1s as soon as the hard threshold is met", "")
