"""Generates small nodes over time for the laws, and plays them: by the core alone, and as a scenario by `simulate`."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from hypothesis import strategies as st

from evictd.codec.scenario import (
    BudgetAnswer,
    MeasurementAges,
    Scenario,
    ScenarioStep,
    decode_scenario,
    encode_scenario,
)
from evictd.codec.state import decode_state, encode_state
from evictd.core.eviction.synchronize import synchronize
from evictd.core.model.config import EvictionConfig
from evictd.core.model.decision import EvictionReason, EvictPod, ReclaimNode
from evictd.core.model.observation import EvictionAnswer, EvictionAnswerKind, Observation, Outcomes
from evictd.core.model.pod import Pod, PodSource
from evictd.core.model.signal import Resource
from evictd.core.model.state import State, Step
from evictd.core.model.stats import PodStats
from evictd.core.units.duration import SECOND
from evictd.simulation import simulate
from tests.playbook import SINGLE, config, node, pod, usage

LIMIT = "100"
UIDS = ("a", "b", "c", "d")
SIGNALS = ("memory.available", "nodefs.available", "pid.available")
amounts = st.integers(0, 20).map(lambda n: 10 * n)


@dataclass(frozen=True)
class Moment:
    """One call of the core."""

    now: int
    before: State
    observation: Observation
    config: EvictionConfig
    step: Step
    measured: tuple[tuple[int, str, Resource, int], ...] = ()
    """What was measured within the minute before: when, of which pod, of what, and how much."""

    @property
    def victims(self) -> tuple[EvictPod, ...]:
        """The pods newly evicted for pressure."""
        return victims_of(self.step)


def victims_of(step: Step) -> tuple[EvictPod, ...]:
    """The pods that a step evicts for pressure, and newly so."""
    evictions = (each for each in step.decisions if isinstance(each, EvictPod) and not each.shortens)
    return tuple(each for each in evictions if each.because.reason is EvictionReason.PRESSURE)


Player = Callable[[Scenario, EvictionConfig], Iterator[Moment]]


# --- what is generated ------------------------------------------------------------------------------------------------


@st.composite
def configs(draw: st.DrawFn) -> EvictionConfig:
    """One to three thresholds of 100, each hard or soft."""
    signals = draw(st.permutations(SIGNALS))[: draw(st.integers(1, 3))]
    soft = draw(st.frozensets(st.sampled_from(SIGNALS), max_size=2))
    return config(
        hard={signal: LIMIT for signal in signals if signal not in soft},
        soft={signal: (LIMIT, "5s") for signal in signals if signal in soft},
        max_pod_grace_period_seconds=30,
    )


@st.composite
def some_pod(draw: st.DrawFn, uid: str) -> Pod:
    """Of two priorities, with or without requests, of one owner or none; one in six is static."""
    requests = st.none() | amounts.map(str)
    return pod(
        uid,
        priority=draw(st.integers(0, 1)),
        memory=draw(requests),
        storage=draw(requests),
        source=draw(st.sampled_from([PodSource.API] * 5 + [PodSource.STATIC])),
        owner=draw(st.sampled_from(["", "ReplicaSet/web"])),
    )


@st.composite
def some_stats(draw: st.DrawFn, of: Pod) -> PodStats:
    """Any resource may be unread."""
    read = st.integers(0, 7).map(bool)
    return usage(
        of,
        memory=str(draw(amounts)) if draw(read) else None,
        logs=str(draw(amounts)) if draw(read) else None,
        processes=draw(amounts) if draw(read) else None,
    )


@st.composite
def scenarios(draw: st.DrawFn) -> Scenario:
    """Up to four pods and six readings of a node that is short of something; budgets refuse, measurements are missing or old."""
    pods = tuple(draw(some_pod(uid)) for uid in UIDS[: draw(st.integers(1, 4))])
    at, steps = 0, list[ScenarioStep]()
    for _ in range(draw(st.integers(1, 6))):
        memory, disk, pids = (draw(st.integers(0, 130)) for _ in SIGNALS)
        stats = {each.uid: draw(some_stats(each)) for each in pods if draw(st.integers(0, 7))}
        ages = {uid: MeasurementAges(walk=60 * SECOND) for uid in stats if not draw(st.integers(0, 9))}
        refused = draw(st.frozensets(st.sampled_from(UIDS), max_size=2)) if draw(st.booleans()) else frozenset()
        numbers = node(memory=f"{memory} of 1000", nodefs=f"{disk} of 1000", pids=f"{pids} of 1000", time=at + 1)
        steps.append(
            ScenarioStep(
                at=at,
                summary=(numbers, stats),
                ages=ages,
                refusals=tuple(BudgetAnswer(uid=uid, retry_after=5 * SECOND) for uid in sorted(refused)),
            )
        )
        at += draw(st.sampled_from([1, 5, 20, 60])) * SECOND
    return Scenario(name="", config={}, evictd={}, filesystems=SINGLE, pods=pods, steps=tuple(steps))


# --- how it is played -------------------------------------------------------------------------------------------------


def _by_simulate(scenario: Scenario, settings: EvictionConfig) -> Iterator[Moment]:
    """As a file would be: victims are gone by the next step, collections end at once."""
    state = State()
    for cycle in simulate(decode_scenario(encode_scenario(scenario)), settings):
        state = replace(state, last_cycle_at=None)  # as `simulate` does: evictd is there between two steps
        for turn in cycle.turns:
            yield Moment(cycle.at, state, turn.observation, settings, turn.step)
            state = turn.step.state


def _by_the_core(scenario: Scenario, settings: EvictionConfig) -> Iterator[Moment]:
    """By the core alone, with a restart after each cycle: a victim leaves one reading late, as does a collection's end."""
    state, leaving, gone, collecting = State(), frozenset[str](), frozenset[str](), False
    for each in scenario.steps:
        answers = tuple(
            EvictionAnswer(uid=a.uid, kind=EvictionAnswerKind.REFUSED, at=each.at, retry_after=a.retry_after)
            for a in each.refusals
            if a.uid not in gone
        )
        assert each.summary is not None
        numbers, stats = each.summary
        walks = {uid: each.at - each.ages.get(uid, MeasurementAges()).walk for uid in stats}  # type: ignore[operator]
        observation = Observation(
            node=numbers,
            pods=tuple(pod for pod in scenario.pods if pod.uid not in gone),
            pod_stats={
                uid: replace(of, time=each.at, layers_time=each.at, disk_time=walks[uid])
                for uid, of in stats.items()
                if uid not in gone
            },
            outcomes=Outcomes(reclaimed=() if collecting else None, cleaned_up=gone, answers=answers),
        )
        step = synchronize(state, observation, settings, each.at)
        yield Moment(each.at, state, observation, settings, step)
        collecting = any(isinstance(decision, ReclaimNode) for decision in step.decisions)
        gone |= leaving - {answer.uid for answer in answers}
        leaving = frozenset(decision.pod.uid for decision in step.decisions if isinstance(decision, EvictPod))
        state = decode_state(encode_state(step.state))


def by_simulate(scenario: Scenario, settings: EvictionConfig) -> Iterator[Moment]:
    """As a file would be: victims are gone by the next step, collections end at once."""
    return remembering(_by_simulate(scenario, settings))


def by_the_core(scenario: Scenario, settings: EvictionConfig) -> Iterator[Moment]:
    """By the core alone, with a restart after each cycle: a victim leaves one reading late, as does a collection's end."""
    return remembering(_by_the_core(scenario, settings))


PLAYERS: tuple[Player, ...] = (by_the_core, by_simulate)


# --- what is true of a pod --------------------------------------------------------------------------------------------


def known_use(of: Pod, moment: Moment, resource: Resource) -> int | None:
    """What a pod uses as measured in this cycle, else as measured within the last minute (law Memory of readings)."""
    now = used(of, moment.observation, resource)
    earlier = next(
        (amount for at, uid, what, amount in reversed(moment.measured) if (uid, what) == (of.uid, resource)), None
    )
    return earlier if now is None else now


def remembering(moments: Iterator[Moment]) -> Iterator[Moment]:
    """Note in each moment what was measured of each pod within the minute before it."""
    known: list[tuple[int, str, Resource, int]] = []
    for moment in moments:
        recent = tuple(each for each in known if moment.now - each[0] < 60 * SECOND)
        yield replace(moment, measured=recent)
        known += [
            (moment.now, of.uid, resource, amount)
            for of in moment.observation.pods
            for resource in (Resource.MEMORY, Resource.EPHEMERAL_STORAGE, Resource.PIDS)
            if (amount := used(of, moment.observation, resource)) is not None
        ]


def used(of: Pod, observation: Observation, resource: Resource) -> int | None:
    """What a pod was measured to use; these pods have logs, and neither layers nor volumes."""
    stats = observation.pod_stats.get(of.uid)
    if stats is None:
        return None
    if resource is Resource.MEMORY:
        return None if stats.memory is None else stats.memory.working_set_bytes
    if resource is Resource.PIDS:
        return stats.process_count
    logs = stats.containers[0].logs
    return None if logs is None else logs.used_bytes


def exceeds(of: Pod, amount: int, resource: Resource) -> bool:
    """Whether a pod uses more than it requested; there are no requests for PIDs."""
    name = {Resource.MEMORY: "memory", Resource.EPHEMERAL_STORAGE: "ephemeral-storage"}.get(resource)
    if name is None:
        return False
    request = of.containers[0].requests.get(name)
    return amount > (0 if request is None else request.value())
