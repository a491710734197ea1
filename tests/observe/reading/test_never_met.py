"""The daemon says what `evictd check` says of a threshold that is never met."""

from dataclasses import replace

from evictd.config.never_met import MARGIN
from evictd.core.model.observation import Observation
from evictd.core.model.stats import NodeGauges
from evictd.errors import SourceKind
from evictd.observe.reading.observer import thresholds_never_met
from tests.daemon.world import CONFIG, GI, observe


def node(unallocatable: int | None) -> Observation:
    seen = observe(4 * GI)
    assert seen.node is not None
    return replace(seen, node=replace(seen.node, gauges=NodeGauges(unallocatable_bytes=unallocatable)))


def test_a_threshold_that_cannot_be_met_here_is_a_problem() -> None:
    (problem,) = thresholds_never_met(CONFIG.thresholds, node(GI + 1))
    assert problem.source == SourceKind.MEMORY_THRESHOLD.value
    assert problem.detail.startswith("1Gi cannot be met: 1025Mi count as available")
    assert problem.detail.endswith("set it to 1130Mi, or memory.formula: Auto")


def test_where_all_can_be_met_or_nothing_is_known_there_is_none() -> None:
    assert thresholds_never_met(CONFIG.thresholds, node(GI - MARGIN - 1)) == ()
    assert thresholds_never_met(CONFIG.thresholds, node(None)) == ()
    assert thresholds_never_met(CONFIG.thresholds, observe(4 * GI)) == ()
    assert thresholds_never_met(CONFIG.thresholds, replace(observe(4 * GI), node=None)) == ()
