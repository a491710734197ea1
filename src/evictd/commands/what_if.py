"""What if: a pod that grows, and victims that give back what they used.

A scenario's summaries are what a node really showed, so in a plain `simulate` an eviction frees nothing. Here every later step is
changed as if the victim were gone: its working set and its local storage are available again. What a pod that its owner creates
instead would use is not known.
"""

from dataclasses import dataclass, replace

from evictd.codec.scenario import Scenario, ScenarioStep
from evictd.core.model.config import EvictionConfig
from evictd.core.model.decision import EvictPod
from evictd.core.model.stats import FsStats, MemoryStats, NodeStats, PodStats
from evictd.core.units.duration import SECOND, parse_duration
from evictd.core.units.quantity import parse_quantity
from evictd.errors import InputError, InvalidValueError
from evictd.simulation import SimulatedCycle, simulate

_STEP = 10 * SECOND
_MOST_STEPS = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """A pod whose working set grows by so many bytes, evenly over a time in nanoseconds."""

    pod: str
    amount: int
    over: int


def parse_growth(text: str) -> Growth:
    """Read `NAMESPACE/POD+2Gi/5m`; raises `InputError`."""
    pod, _, rest = text.partition("+")
    amount, _, over = rest.partition("/")
    try:
        growth = Growth(pod=pod, amount=parse_quantity(amount).value(), over=parse_duration(over))
    except InvalidValueError as error:
        raise InputError(f"--grow: {text}: {error}; it looks like NAMESPACE/POD+2Gi/5m") from error
    if "/" not in pod or growth.amount <= 0 or not 0 < growth.over <= _MOST_STEPS * _STEP:
        raise InputError(f"--grow: {text}: it looks like NAMESPACE/POD+2Gi/5m, for at most {_MOST_STEPS * 10} s")
    return growth


def grown(scenario: Scenario, growth: Growth) -> Scenario:
    """Add steps every ten seconds in which the pod grows; raises `InputError` if the last summary does not have it."""
    last = scenario.steps[-1]
    uid = next((pod.uid for pod in scenario.pods if pod.full_name == growth.pod), None)
    stats = None if last.summary is None or uid is None else last.summary[1].get(uid)
    if stats is None or stats.memory is None or stats.memory.working_set_bytes is None:
        raise InputError(f"--grow: {growth.pod}: the last summary has no memory of such a pod")
    times = [*range(_STEP, growth.over, _STEP), growth.over]
    added = tuple(_grown_step(last, stats.uid, growth.amount * time // growth.over, time) for time in times)
    return replace(scenario, steps=(*scenario.steps, *added))


def _grown_step(last: ScenarioStep, uid: str, amount: int, later: int) -> ScenarioStep:
    assert last.summary is not None  # noqa: S101 - `grown` has looked
    node, stats = last.summary
    pod = stats[uid]
    taken = replace(
        node,
        memory=_moved(node.memory, -amount, later),
        pods_memory=_moved(node.pods_memory, -amount, later),
        fs=_later(node.fs, later),
        image_fs=_later(node.image_fs, later),
        container_fs=_later(node.container_fs, later),
    )
    memory = None if pod.memory is None else replace(
        pod.memory, working_set_bytes=(pod.memory.working_set_bytes or 0) + amount
    )  # fmt: skip
    return replace(last, at=last.at + later, summary=(taken, {**stats, uid: replace(pod, memory=memory)}))


def _moved(memory: MemoryStats | None, amount: int, later: int = 0) -> MemoryStats | None:
    """Give memory of which so much more is available, read so much later."""
    if memory is None or memory.available_bytes is None or memory.working_set_bytes is None:
        return memory
    # More than there is cannot be taken: the kernel would end a process first.
    amount = max(amount, -memory.available_bytes)
    return replace(
        memory,
        time=None if memory.time is None else memory.time + later,
        available_bytes=memory.available_bytes + amount,
        working_set_bytes=max(memory.working_set_bytes - amount, 0),
    )


def _later(fs: FsStats | None, later: int, freed: int = 0) -> FsStats | None:
    if fs is None:
        return None
    available = None if fs.available_bytes is None else fs.available_bytes + freed
    return replace(fs, time=None if fs.time is None else fs.time + later, available_bytes=available)


# --- victims that are gone --------------------------------------------------------------------------------------------


def simulate_relieved(scenario: Scenario, config: EvictionConfig) -> tuple[SimulatedCycle, ...]:
    """Simulate with every step after an eviction changed as if the victim were gone.

    The simulation is repeated for each victim, since the next decision depends on what the last one gave back. At most one pod is
    evicted in a cycle, so there are no more repetitions than victims.
    """
    gone: dict[str, int] = {}
    while True:
        cycles = tuple(simulate(scenario, config))
        new = next(((number, uid) for number, uid in _victims(cycles) if uid not in gone), None)
        if new is None:
            return cycles
        number, uid = new
        gone[uid] = number
        later = tuple(_without(step, uid, scenario) for step in scenario.steps[number + 1 :])
        scenario = replace(scenario, steps=(*scenario.steps[: number + 1], *later))


def _victims(cycles: tuple[SimulatedCycle, ...]) -> list[tuple[int, str]]:
    return [
        (number, decision.pod.uid)
        for number, cycle in enumerate(cycles)
        for turn in cycle.turns
        for decision in turn.step.decisions
        if isinstance(decision, EvictPod) and not decision.shortens
    ]


def _without(step: ScenarioStep, uid: str, scenario: Scenario) -> ScenarioStep:
    """Give a step in which a victim is gone and what it used is available."""
    if step.summary is None or uid not in step.summary[1]:
        return step
    node, stats = step.summary
    rest = {other: each for other, each in stats.items() if other != uid}
    return replace(step, summary=(_relieved(node, stats[uid], scenario), rest), absent=step.absent | {uid})


def _relieved(node: NodeStats, pod: PodStats, scenario: Scenario) -> NodeStats:
    memory = 0 if pod.memory is None else pod.memory.working_set_bytes or 0
    disk = 0 if pod.ephemeral_storage is None else pod.ephemeral_storage.used_bytes or 0
    node = replace(
        node,
        memory=_moved(node.memory, memory),
        pods_memory=_moved(node.pods_memory, memory),
        fs=_later(node.fs, 0, disk),
    )
    if scenario.filesystems.dedicated_image_fs:
        return node
    return replace(node, image_fs=_later(node.image_fs, 0, disk), container_fs=_later(node.container_fs, 0, disk))
