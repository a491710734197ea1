"""Checks the states of the thresholds in cycles that test none."""

from evictd.core.model.config import Policy
from evictd.core.model.finding import ThresholdFinding
from evictd.world.behaviours import Stops
from evictd.world.loop import play
from evictd.world.tested import cycles_with_thresholds
from tests.playbook import config
from tests.world.worlds import GI, HARD, MI, hog, quiet, world


def test_a_cycle_that_waits_for_the_end_of_a_pod_is_compared_with_what_it_read() -> None:
    slow = hog(Stops(after=None), rate=100 * MI, grace=60)
    soft = config(soft={"memory.available": ("2Gi", "5s")}, policy=Policy.KUBELET, max_pod_grace_period_seconds=60)
    cycles = list(cycles_with_thresholds(play(world(slow, memory=8 * GI), soft)))
    untested = [
        tested
        for cycle, tested in cycles
        if not any(isinstance(each, ThresholdFinding) for each in cycle.step.findings)
    ]
    assert {each.met for tested in untested for each in tested} == {True, False}, "the kernel kills meanwhile"


def test_other_cycles_keep_what_they_tested() -> None:
    for cycle, tested in cycles_with_thresholds(play(world(hog(), *quiet(3)), config(hard=HARD))):
        assert tested == tuple(each for each in cycle.step.findings if isinstance(each, ThresholdFinding))
