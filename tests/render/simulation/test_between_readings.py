"""Which thresholds may have been met between two readings."""

from evictd.core.eviction.synchronize import synchronize
from evictd.core.model.config import EvictionConfig
from evictd.core.model.observation import Observation
from evictd.core.model.state import State
from evictd.core.units.duration import MINUTE, SECOND
from evictd.render.simulation.between_readings import between_texts
from evictd.simulation import SimulatedCycle, Turn
from tests.playbook import config, node

RECORDED = config(hard={"memory.available": "100Mi"})
HIGHER = config(hard={"memory.available": "500Mi"})


def cycles(by: EvictionConfig, *readings: tuple[int, str]) -> list[SimulatedCycle]:
    """Readings of what is left of 8Gi, each decided."""
    state, found = State(), list[SimulatedCycle]()
    for at, left in readings:
        seen = Observation(node=node(memory=f"{left} of 8Gi"))
        step = synchronize(state, seen, by, at)
        state = step.state
        found.append(SimulatedCycle(at=at, turns=(Turn(observation=seen, step=step),)))
    return found


def test_a_hard_threshold_that_is_higher_than_the_recorded_one_may_act_sooner() -> None:
    """`simulate` of a capture showed an eviction at 10Mi left with a threshold of 500Mi, and said nothing of the gap before."""
    told = between_texts(cycles(HIGHER, (0, "2Gi"), (6 * MINUTE, "10Mi"), (7 * MINUTE, "9Mi")), RECORDED)
    assert list(told) == [
        "memory.available<500Mi may act sooner, by up to 6m0s: it is met at 6m0s, and there is no reading after 0s and before."
    ]


def test_the_longest_of_several_gaps_is_written() -> None:
    readings = ((0, "2Gi"), (MINUTE, "90Mi"), (2 * MINUTE, "2Gi"), (5 * MINUTE, "90Mi"))
    (text,) = between_texts(cycles(HIGHER, *readings), RECORDED)
    assert ", by up to 3m0s: it is met at 5m0s, " in text
    assert text.endswith("; it is the longest of 2 such gaps.")


def test_a_recorded_threshold_and_readings_without_a_gap_say_nothing() -> None:
    fell = ((0, "2Gi"), (6 * MINUTE, "10Mi"))
    assert not list(between_texts(cycles(RECORDED, *fell), RECORDED))
    assert not list(between_texts(cycles(config(hard={"memory.available": "1%"}), *fell), RECORDED))
    assert not list(between_texts(cycles(HIGHER, (0, "2Gi"), (10 * SECOND, "10Mi")), RECORDED))
