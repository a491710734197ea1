"""Compares what `evictd incident` says of an eviction with what happened in the played world."""

from collections.abc import Iterator
from functools import cache

import pytest

from evictd.core.units.quantity import parse_quantity
from evictd.render.incident.cause.growers import grower_rate
from evictd.render.incident.relief.relief import relief_lines
from evictd.render.incident.remedy.now import now_text
from tests.truth.many import seeds
from tests.truth.played import Played, played
from tests.truth.random_worlds import larger_world, world_document


@cache
def _world(seed: int) -> Played:
    return played(world_document(seed))


def test_a_request_counts_where_the_kubelets_policy_evicts_on_the_reading_before_a_reclaim() -> None:
    """It would have gone all the same, it was said, because no other pod could go; the next one went 0.7 s later."""
    first, second = (found for _, found in _world(2006).incidents)
    assert (first.event.pod, first.with_request) == ("default/batch-0", second.event.pod)


@pytest.mark.parametrize("seed", [2006, 2010])
def test_what_came_back_of_a_disk_is_that_of_the_pod_that_held_it(seed: int) -> None:
    """`The eviction relieved the node` was said of a pod that held nothing, and of one of 18.3Gi that nothing came back."""
    first, second = (found for _, found in _world(seed).incidents)
    assert first.relieved
    assert first.came_back == (0 if first.victim is None else first.victim.usage)
    assert (second.came_back, second.relieved) == (0, False)
    assert "nothing of what came back was its own" in list(relief_lines(second))


def test_a_node_whose_memory_is_full_at_the_end_is_not_said_to_be_relieved() -> None:
    """The report of a pod that had filled the PIDs said so, while the kernel killed."""
    found = next(each for _, each in played(larger_world(2037)).incidents if each.event.pod == "default/batch-0")
    assert found.also_short.startswith("the kernel killed processes of default/cache-0, ")
    assert "relieved" not in now_text(found)
    assert "nothing grew" not in now_text(found)


def _rates(seed: int) -> Iterator[tuple[str, float]]:
    """Yield of each incident the pod that made most of the growth, and its rate as said, as a part of that of the world file."""
    world = _world(seed)
    pods = {each["name"]: each["behaviours"][1:] for each in world.document["pods"]}
    for _, found in world.incidents:
        name = "" if found.grower is None else found.grower.pod.removeprefix("default/")
        for made in pods.get("-".join(name.split("-")[:2]), ()):
            grows = next(iter(made.values()))
            if found.grower is not None and {"burst", "grow", "leakAndRelease"} & made.keys():
                rate = parse_quantity(grows.get("rate", "1Gi")).value()
                yield f"{seed}: {found.event.pod}", grower_rate(found, found.grower) / rate


def _wrong(seeds: range | tuple[int, ...]) -> tuple[int, dict[str, float]]:
    """Return how many rates are said, and those that are wrong by half."""
    rates = dict(each for seed in seeds for each in _rates(seed))
    return len(rates), {each: part for each, part in rates.items() if not 2 / 3 < part < 3 / 2}


def test_a_pod_grew_by_the_rate_of_its_growth_not_by_the_mean_of_a_calm_minute() -> None:
    """`It grew by 52Mi a second` was said beside `1Gi/s are taken`, and the same of 32 of 157 growers of many worlds."""
    number, wrong = _wrong((2000, 2079, 2107, 2120, 2132))
    assert number > 5
    assert not wrong


@pytest.mark.slow
def test_hardly_a_rate_is_wrong_in_many_worlds() -> None:
    number, wrong = _wrong(seeds(2000, 15))
    assert len(wrong) * 40 <= number, wrong
