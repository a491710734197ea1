"""The laws of policy Standard in every reachable state of small worlds (docs/laws.md), by an exhaustive walk.

Two pods and two thresholds; in each cycle some victims die, their bytes show or not, collectors end or not, and a fault happens
or not. `make laws` walks every world of `DEEP` to a depth of `DEPTH` cycles and prints the number of states; as tests, some
smaller ones are walked. Cycles of one and of five seconds see the waits for owed bytes, which eleven seconds step over.
"""

from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import pytest

from evictd.codec.state import decode_state, encode_state
from evictd.core.eviction.accounts.absence import LONGEST_COUNTED
from evictd.core.eviction.accounts.ledger import supply_of
from evictd.core.eviction.accounts.release import RELEASE_TIMEOUT
from evictd.core.eviction.reclaim import layout_of
from evictd.core.model.observation import Filesystems
from evictd.core.model.signal import Signal
from evictd.core.units.duration import SECOND
from tests.laws.small_world import (
    AVAILABLE,
    FAIR,
    FAULTS,
    LIMIT,
    USES,
    Passage,
    Place,
    World,
    passage,
    passages,
)
from tests.playbook import DEDICATED, SINGLE, SPLIT, config

DEPTH = 12
DEPTHS = {"absences": 7}
"""Where each cycle may bring times of its own there are far more states."""
BOUND = 20
"""Cycles of eleven seconds in which all goes well: a reclaim, a victim's time and the waits after it, for two pods."""
STEPS = {"11s": 11 * SECOND, "5s": 5 * SECOND, "1s": SECOND}
CONFIGS = {
    "hard": config(hard={"memory.available": str(LIMIT), "nodefs.available": str(LIMIT)}),
    "soft memory": config(
        soft={"memory.available": (str(LIMIT), "11s")},
        hard={"nodefs.available": str(LIMIT)},
        max_pod_grace_period_seconds=60,
    ),
    "soft disk": config(
        soft={"nodefs.available": (str(LIMIT), "11s")},
        hard={"memory.available": str(LIMIT)},
        max_pod_grace_period_seconds=60,
    ),
}
LAYOUTS = {"single": SINGLE, "dedicated": DEDICATED, "split": SPLIT}
WORLDS = {
    name: World(name, CONFIGS[thresholds], LAYOUTS[layout], STEPS[step], fault)
    for thresholds in CONFIGS
    for layout in LAYOUTS
    for step in STEPS
    for fault in FAULTS
    for name in [f"{thresholds}, {layout}, {step}, {fault}"]
}

DEEP = [
    name
    for name, world in WORLDS.items()
    if world.fault != "all faults" or (world.elapsed == STEPS["11s"] and (name.startswith("hard") or "single" in name))
]
"""What `make laws` walks: one kind of fault in each world, and all faults at will in five of them."""


def check(one: Passage, layout: Filesystems) -> None:
    """What must hold of one cycle."""
    lay, before, state = layout_of(layout), one.before.state, one.step.state
    for eviction in one.chosen:
        name = eviction.pod.name
        cause = eviction.because.threshold
        assert cause is not None
        supply = supply_of(cause.signal, lay)
        # Ignorance: a pod that was not measured is not evicted. No pod is evicted twice.
        assert name in one.observation.pod_stats
        assert name not in {v.uid for v in before.in_flight if v.gone_at is None} or one.observation.outcomes.answers
        assert name in {v.uid for v in state.in_flight}
        # Thrift: time that evictd has not seen is no reason for a second pod.
        counted = LONGEST_COUNTED if one.absent else 0
        waited_for = [
            v for v in before.in_flight if v.gone_at is None and v.until > counted and v.uid in one.after.alive
        ]
        withdrawn = {answer.uid for answer in one.observation.outcomes.answers}
        assert not any(v.cause is supply and v.uid not in withdrawn for v in waited_for), one
        # Fairness: both exceed their request, and the hog more, so the other goes first only where a finding says why.
        if name == "other" and "hog" in one.after.alive:
            skipped = {f.pod.name for f in one.step.findings if hasattr(f, "pod") and f.pod is not None}
            assert "hog" in skipped, one
        # Thrift: none goes for a supply while a victim for it is leaving, or while its bytes are due within their bound.
        others = [v for v in state.in_flight if v.uid != name and v.cause is supply]
        assert not any(v.is_leaving(0) for v in others), one
        late = {v.uid for v in state.in_flight if v.gone_at is not None and -v.gone_at < RELEASE_TIMEOUT}
        due = sum(USES[uid] for uid in late & one.after.unshown)
        gone = frozenset(USES) - one.after.alive - one.after.unshown
        missing = LIMIT - AVAILABLE - sum(USES[uid] for uid in gone)
        assert supply is Signal.MEMORY_AVAILABLE or not due or due < missing, one
    # Thrift: one collection for each time that a device is short, one more for each victim that is gone.
    assert not one.collected & frozenset(one.rounds), one


def relieves(place: Place, world: World, known: set[object]) -> None:
    """Progress: when all goes well from here on, the hog goes within the bound; places on the way are known to do so too."""
    way: list[object] = []
    for _ in range(BOUND):
        if "hog" not in place.alive or place.key in known:
            known.update(way)
            return
        way.append(place.key)
        place = passage(place, FAIR, world, STEPS["11s"]).after
    raise AssertionError(f"the hog stays: {place}")


def walk(name: str, depth: int) -> str:
    """Go to every place of a world that can be reached in so many cycles, and check each cycle on the way."""
    world = WORLDS[name]
    frontier, seen, relieved, cycles = [Place()], {Place().key}, set[object](), 0
    for _ in range(depth):
        following: list[Place] = []
        for place in frontier:
            # Continuity: a restart between any two cycles loses nothing.
            assert (
                world.fault not in {"restarts", "all faults"} or decode_state(encode_state(place.state)) == place.state
            ), place
            for one in passages(place, world):
                cycles += 1
                check(one, world.layout)
                key = one.after.key
                if key not in seen:
                    seen.add(key)
                    following.append(one.after)
                    relieves(one.after, world, relieved)
        frontier = following
    assert len(seen) > 10
    return f"{name}: depth {depth}, {len(seen)} states, {cycles} transitions"


@pytest.mark.slow
@pytest.mark.parametrize("fault", [fault for fault in FAULTS if fault != "all faults"])
@pytest.mark.parametrize(
    "world", ["hard, single, 11s", "hard, dedicated, 11s", "soft memory, single, 11s", "hard, split, 1s"]
)
def test_the_laws_hold_in_every_state_of_a_small_world(world: str, fault: str) -> None:
    print(walk(f"{world}, {fault}", DEPTHS.get(fault, DEPTH)))


def main() -> None:
    """Walk every world, as many at a time as there are processors."""
    states = transitions = 0
    with ProcessPoolExecutor(mp_context=get_context("fork")) as pool:
        for line in pool.map(walk, DEEP, [DEPTHS.get(WORLDS[name].fault, DEPTH) for name in DEEP]):
            print(line, flush=True)
            *_, count, _, cycles, _ = line.split()
            states, transitions = states + int(count), transitions + int(cycles)
    depth = f"depth {DEPTH} (absences {DEPTHS['absences']})"
    print(f"{len(DEEP)} worlds: {depth}, {states} states, {transitions} transitions; every law holds in each")


if __name__ == "__main__":
    main()
