"""Where a threshold that acts earlier would have evicted another pod."""

from dataclasses import replace

from evictd.advice.overtaken import other_first, still_met
from evictd.core.units.duration import SECOND
from tests.advice.test_episode import one
from tests.advice.test_proposal import MI, reading


def test_a_threshold_that_acts_while_the_pod_used_less_evicts_another_one() -> None:
    """Soft 320Mi was proposed for a leak, and evicted a pod that did not grow in its place."""
    leak = replace(
        one(reading(0, 100, evict="a", rate=2 * MI), reading(1, 900, gone="a")),
        fell=0,
        overtaken=(101 * MI, "default/web"),
    )
    assert other_first([leak], 200 * MI) is None
    assert other_first([leak], 202 * MI) is leak
    assert other_first([replace(leak, fell=MI)], 202 * MI) is None
    assert other_first([leak], 260 * MI, 30 * SECOND) is None
    assert other_first([leak], 320 * MI, 30 * SECOND) is leak
    assert other_first([replace(leak, rate=0)], 320 * MI, 30 * SECOND) is None
    assert other_first([replace(leak, overtaken=(0, ""))], 320 * MI) is None


def test_a_threshold_above_what_an_eviction_left_evicts_one_more_pod() -> None:
    """240Mi were proposed for a node on which 212Mi were available after its first eviction."""
    full = one(reading(0, 480, evict="a", rate=1), reading(1, 700, gone="a"))
    assert still_met([full], 700 * MI) is None
    assert still_met([full], 701 * MI) is full
    assert still_met([replace(full, recovered=400 * MI)], 701 * MI) is None, "the recorded threshold was met still too"
    assert still_met([replace(full, recovered=None)], 701 * MI) is None
