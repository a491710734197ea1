"""Plays what is said of the page cache of pods, which the kernel can drop: the formula, and a soft threshold."""

from dataclasses import replace

import pytest

from evictd.commands.inputs.source import own_config
from evictd.core.model.config import EvictionConfig, MemoryFormula, Policy
from evictd.core.model.decision import EvictPod
from evictd.core.model.signal import Signal
from evictd.core.model.threshold import Origin
from evictd.core.units.duration import SECOND
from evictd.core.units.quantity import of_bytes
from evictd.world.loop import play
from evictd.world.model import World
from tools.incidents import incident_files, play_incident

GI = 1 << 30


def first_eviction(world: World, config: EvictionConfig) -> EvictPod:
    last = play(world, config, until_eviction_after=0).cycles[-1]
    return next(each for each in last.step.decisions if isinstance(each, EvictPod))


@pytest.fixture(params=["18-active-page-cache", "19-page-cache-of-many"])
def story(request: pytest.FixtureRequest) -> tuple[World, EvictionConfig]:
    """A world and its configuration."""
    (path,) = (each for each in incident_files() if each.stem == request.param)
    file = play_incident(path, (Policy.STANDARD,)).file
    return file.world, own_config(file)


def test_the_formula_avoids_an_eviction_only_without_the_threshold_of_all_pods(
    story: tuple[World, EvictionConfig],
) -> None:
    """What `allocatable_met` says of the journal is what happens under the other formula."""
    world, config = story
    config = replace(config, memory_formula=MemoryFormula.MEM_AVAILABLE)
    eviction = first_eviction(world, config)
    assert eviction.because.signal_label == Signal.ALLOCATABLE_MEMORY_AVAILABLE.value
    both = replace(config, thresholds=tuple(each for each in config.thresholds if each.origin is not Origin.DERIVED))
    assert not any(isinstance(each, EvictPod) for cycle in play(world, both).cycles for each in cycle.step.decisions)


def test_no_pod_goes_for_a_soft_threshold_that_page_cache_holds_met(story: tuple[World, EvictionConfig]) -> None:
    """The report said that the pod would have gone then."""
    world, config = story
    threshold = next(each for each in config.thresholds if each.signal is Signal.MEMORY_AVAILABLE)
    soft = replace(threshold, value=replace(threshold.value, quantity=of_bytes(GI)), grace_period=SECOND)
    eviction = first_eviction(world, replace(config, thresholds=(*config.thresholds, soft)))
    assert eviction.because.threshold is not None
    assert eviction.because.threshold.hard
