"""Plays a node on from its last reading: a pod grows, and victims give back what they used.

With `--grow` the last reading becomes a world that goes on from there (`evictd.world`). Without it a scenario's summaries are
what a node really showed, so an eviction would free nothing: every later step is changed as if the victim were gone, its
working set and its local storage available again. What a pod that its owner creates instead would use is not known.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from evictd.codec.scenario import Scenario, ScenarioStep
from evictd.core.frozen import frozen
from evictd.core.model.config import EvictionConfig
from evictd.core.model.decision import begun_evictions
from evictd.core.model.pod import Pod
from evictd.core.model.stats import FsStats, MemoryStats, NodeStats, PodStats
from evictd.core.units.duration import SECOND, parse_duration
from evictd.core.units.quantity import parse_quantity
from evictd.errors import InputError, InvalidValueError
from evictd.render.history.pods_meant import pods_meant
from evictd.render.text import clean, first_of
from evictd.simulation import SimulatedCycle, simulate
from evictd.world.behaviours import Behaviour, Grow, Usage
from evictd.world.continuation import world_of
from evictd.world.loop import Run, play

_LONGEST = 20_000 * SECOND


@frozen
class Growth:
    """A pod whose working set grows evenly: by how many bytes, and in how many nanoseconds."""

    pod: str
    amount: int
    over: int


def parse_growth(text: str, pods: Sequence[Pod]) -> Growth:
    """Read `NAMESPACE/POD+2Gi/5m`; raises `InputError`, with one of these pods as an example."""
    example = f"{clean(pods[0].full_name) if pods else 'NAMESPACE/POD'}+2Gi/5m"
    pod, _, rest = text.partition("+")
    amount, _, over = rest.partition("/")
    form = f"it takes NAMESPACE/POD+AMOUNT/TIME, for at most {_LONGEST // SECOND} s"
    if "/" not in pod or not amount or not over:
        raise InputError(f"--grow: {text}: {form}; for example `--grow {example}`: by 2Gi within 5m")
    try:
        growth = Growth(pod=pod, amount=parse_quantity(amount).value(), over=parse_duration(over))
    except InvalidValueError as error:
        raise InputError(f"--grow: {text}: {error}; for example `--grow {example}`: by 2Gi within 5m") from error
    if growth.amount <= 0 or not 0 < growth.over <= _LONGEST:
        raise InputError(f"--grow: {text}: {form}; for example `--grow {example}`: by 2Gi within 5m")
    return growth


def grown(
    scenario: Scenario, config: EvictionConfig, growths: Sequence[Growth]
) -> tuple[tuple[SimulatedCycle, ...], Run]:
    """Decide all readings but the last one, then play on from that; raises `InputError` if it does not have a pod."""
    last = scenario.steps[-1]
    behaviours: dict[str, tuple[Behaviour, ...]] = {}
    uids = {pod.full_name: pod.uid for pod in scenario.last_pods}
    node, known = _reading_of(scenario, [growth.pod for growth in growths])
    for growth in growths:
        uid = uids[growth.pod]
        rate = max(growth.amount * SECOND // growth.over, 1)
        behaviour = Grow(of=Usage.MEMORY, rate=rate, start=last.at, bound=growth.amount)
        behaviours[uid] = (*behaviours.get(uid, ()), behaviour)
    before = tuple(simulate(replace(scenario, steps=scenario.steps[:-1]), config))
    over = max(growth.over for growth in growths)
    world = world_of(
        node,
        scenario.last_pods,
        known,
        name=scenario.name,
        filesystems=scenario.filesystems,
        behaviours=behaviours,
        gone=last.absent | {pod for cycle in before for pod in _evicted(cycle)},
        begin=last.at,
        # The rate at the end is that of the last quarter, in which no pod grows any more.
        duration=last.at + over + max(config.pressure_transition_period, over // 2),
    )
    if not before:
        return (), play(world, config)
    # The victims are gone, the world's times are not those of the summaries, and evictd is there between the readings.
    state = replace(before[-1].state, in_flight=(), collections={}, last_seen={}, last_cycle_at=None)
    return before, play(world, config, state)


def _reading_of(scenario: Scenario, names: Sequence[str]) -> tuple[NodeStats, Mapping[str, PodStats]]:
    """Return the last reading; raises `InputError` if it does not have the memory of each of these pods."""
    summary, uids = scenario.steps[-1].summary, {pod.full_name: pod.uid for pod in scenario.last_pods}
    for name in names:
        if name not in uids:
            raise InputError(f"--grow: {name}: there is no such pod{_meant(scenario, name)}")
        stats = None if summary is None else summary[1].get(uids[name])
        if summary is None or stats is None or stats.memory is None or stats.memory.working_set_bytes is None:
            measured = {} if summary is None else summary[1]
            others = [clean(each) for each, uid in uids.items() if uid in measured]
            raise InputError(
                f"--grow: {name}: the last summary has no memory of this pod: it has ended, or was not measured"
                f"{f'; it has {first_of(others)}' if others else ''}"
            )
    return summary or (NodeStats(), {})


def _meant(scenario: Scenario, name: str) -> str:
    """Return the pods that the name may stand for, or else those that there are."""
    known = [clean(pod.full_name) for pod in scenario.last_pods]
    meant = pods_meant(name, known) or (f"it has {first_of(known)}" if known else "")
    return f"; {meant}" if meant else ""


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
    return [(number, uid) for number, cycle in enumerate(cycles) for uid in _evicted(cycle)]


def _evicted(cycle: SimulatedCycle) -> list[str]:
    return [each.pod.uid for turn in cycle.turns for each in begun_evictions(turn.step.decisions)]


def _without(step: ScenarioStep, uid: str, scenario: Scenario) -> ScenarioStep:
    """Return a step in which a victim is gone and what it used is available."""
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
        memory=_with_more(node.memory, memory),
        pods_memory=_with_more(node.pods_memory, memory),
        fs=_emptied(node.fs, disk),
    )
    if scenario.filesystems.dedicated_image_fs:
        return node
    return replace(node, image_fs=_emptied(node.image_fs, disk), container_fs=_emptied(node.container_fs, disk))


def _with_more(memory: MemoryStats | None, amount: int) -> MemoryStats | None:
    """Return memory of which so much more is available."""
    if memory is None or memory.available_bytes is None or memory.working_set_bytes is None:
        return memory
    return replace(
        memory,
        available_bytes=memory.available_bytes + amount,
        working_set_bytes=max(memory.working_set_bytes - amount, 0),
    )


def _emptied(fs: FsStats | None, freed: int) -> FsStats | None:
    if fs is None or fs.available_bytes is None:
        return fs
    return replace(fs, available_bytes=fs.available_bytes + freed)
