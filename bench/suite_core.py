"""Measures the time of a decision: from decoded values under pressure to the `EvictPod`, findings included."""

from collections.abc import Callable
from dataclasses import replace

from bench.harness import Result, measure
from bench.nodes import GIB, config, observation
from evictd.core.eviction.synchronize import synchronize
from evictd.core.model.decision import EvictPod
from evictd.core.model.observation import Observation, Outcomes
from evictd.core.model.state import State, Step

SIZES = (110, 500, 2_000)


def run() -> list[Result]:
    """Memory takes one call of the core, disk two, because reclaim comes first."""
    results = []
    for name, decide in (("memory", _memory), ("disk", _disk)):
        results += [measure(f"decide/{name}/{size}", decide(size), runs=50) for size in SIZES]
    return results


def _memory(size: int) -> Callable[[], Step]:
    settings, seen = config(), observation(size, memory_available=GIB // 2)

    def decide() -> Step:
        return _evicts(synchronize(State(), seen, settings, 0))

    decide()
    return decide


def _disk(size: int) -> Callable[[], Step]:
    settings, seen = config(), observation(size, disk_available=9 * GIB)
    after = _later(replace(seen, outcomes=Outcomes(reclaimed=())))

    def decide() -> Step:
        first = synchronize(State(), seen, settings, 0)
        return _evicts(synchronize(first.state, after, settings, 1))

    decide()
    return decide


def _later(seen: Observation) -> Observation:
    """A second reading of the same node, with its pods measured since the first."""
    if seen.node is None or seen.node.fs is None:
        raise AssertionError("the bench's node has a filesystem")
    fs = replace(seen.node.fs, time=2)
    stats = {uid: replace(each, disk_time=2, layers_time=2) for uid, each in seen.pod_stats.items()}
    return replace(seen, node=replace(seen.node, fs=fs, image_fs=fs, container_fs=fs), pod_stats=stats)


def _evicts(step: Step) -> Step:
    if not any(isinstance(decision, EvictPod) for decision in step.decisions):
        raise AssertionError("nothing was evicted: this measures something else")
    return step
