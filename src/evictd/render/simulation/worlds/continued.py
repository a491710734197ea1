"""Says of a world that goes on from a last reading what the readings before had, and what of them is not continued."""

from collections.abc import Collection, Iterator, Mapping, Sequence

from evictd.core.model.config import EvictionConfig, own_thresholds
from evictd.core.model.decision import begun_evictions
from evictd.core.model.observation import Observation, signal_observations
from evictd.core.model.signal import MEMORY_SIGNALS, Signal
from evictd.core.model.stats import NodeStats, PodStats
from evictd.core.model.threshold import Origin
from evictd.core.units.duration import SECOND
from evictd.render.simulation.between_readings import FULL_CYCLE, gaps
from evictd.render.text import clean, duration_text, first_of, pod_name, signal_amount
from evictd.simulation import SimulatedCycle
from evictd.world.continuation import takes_unusable_as_none
from evictd.world.loop import Run


def continued_texts(
    before: Sequence[SimulatedCycle], run: Run, recorded: EvictionConfig, measured: NodeStats | None = None
) -> tuple[str, ...]:
    """Write which pods were evicted at the readings before, and what filled the node then and does not any more.

    `recorded` is the configuration of the readings, `measured` the last one, which may have the rates at which the node filled.
    """
    if not before:
        return tuple(_at_once_texts(run))
    met = (*_met_texts(before, run), *_sooner_texts(before, run, recorded))
    return (*_evicted_texts(before, run), *met, *_still_texts(before, run, measured), *_at_once_texts(run))


def unusable_texts(reading: NodeStats) -> tuple[str, ...]:
    """Write that the world is played as if processes could allocate all memory, where the reading does not tell."""
    if not takes_unusable_as_none(reading):
        return ()
    text = (
        "The reading does not say how much memory no process can allocate; with 0, as here, MemAvailable is too high and the OOM "
        "killer may come too late."
    )
    return (text,)


def _met_texts(before: Sequence[SimulatedCycle], run: Run) -> Iterator[str]:
    """Write which thresholds were met before the last reading, so that their grace periods had begun."""
    then = before[-1].state.thresholds_first_observed_at
    met = {
        clean(str(threshold)): duration_text(at)
        for threshold, at in run.cycles[0].step.state.thresholds_first_observed_at.items()
        if then.get(threshold) == at and threshold.origin is not Origin.DERIVED
    }
    if met:
        since = first_of([f"{threshold} since {at}" for threshold, at in met.items()])
        yield f"Met at the readings before {duration_text(run.world.begin)}: {since}."


def _sooner_texts(before: Sequence[SimulatedCycle], run: Run, recorded: EvictionConfig) -> Iterator[str]:
    """Write which thresholds may have been met before the reading that met them first, and so act sooner."""
    last = run.cycles[0]
    readings = [*((each.at, each.turns[0].step.findings) for each in before), (run.world.begin, last.step.findings)]
    since = last.step.state.thresholds_first_observed_at
    yield from (f"{gap.text}." for gap in gaps(readings, recorded) if since.get(gap.threshold) == gap.at)


def _at_once_texts(run: Run) -> Iterator[str]:
    """Write that evicted pods end at once, where one had a longer grace period."""
    evicted = (each for cycle in run.cycles for each in begun_evictions(cycle.step.decisions))
    if any(each.grace_period_seconds > 1 for each in evicted):
        yield "Evicted pods end at once here: a reading does not say how long they take."


def _evicted_texts(before: Sequence[SimulatedCycle], run: Run) -> Iterator[str]:
    evicted = {
        pod_name(each.pod): duration_text(cycle.at) for cycle in before for each in begun_evictions(cycle.decisions)
    }
    if evicted:
        pods = first_of([f"{name} at {at}" for name, at in evicted.items()])
        grows = "" if any(each.culprit for each in run.world.pods) else ", with no pod that grows"
        yield f"Evicted at the readings before {duration_text(run.world.begin)}: {pods}. From then on{grows}:"


def _still_texts(before: Sequence[SimulatedCycle], run: Run, measured: NodeStats | None) -> Iterator[str]:
    """Write what fell so fast at the last readings that nothing would be left of it within the time played."""
    first, last = before[-1], run.cycles[0]
    then, now = first.turns[-1].observation, last.observation
    if then.node is None or now.node is None or last.at <= first.at:
        return
    old, new = signal_observations(then.node), signal_observations(now.node)
    rates = (
        {} if measured is None else {signal: each.fill_rate for signal, each in signal_observations(measured).items()}
    )
    growing = {each.pod.uid for each in run.world.pods if each.culprit}
    names = first_of([clean(each.pod.full_name) for each in run.world.pods if each.culprit])
    alike: dict[str, list[str]] = {}
    for signal in dict.fromkeys(each.signal for each in own_thresholds(run.config)):
        if signal not in old or signal not in new:
            continue
        all_of_it = fell = old[signal].available.value() - new[signal].available.value()
        if signal in MEMORY_SIGNALS:
            fell -= _taken_by(growing, then, now)
        rate = fell * SECOND // (last.at - first.at)
        if rate > 0 and new[signal].available.value() * SECOND // rate <= run.world.played:
            # A pod that grows on and took most of it is the one that the rate at the end is of.
            end = (rates.get(signal) or 0) if 2 * fell > all_of_it else 0
            mean = _mean(last.at - first.at, signal, end if end > rate else 0)
            alike.setdefault(f"fell by {signal_amount(rate, signal)} a second at the last readings{mean}", []).append(
                signal.value
            )
    for text, signals in alike.items():
        yield f"{' and '.join(signals)} {text}: that is not continued, only the memory of {names} grows on."


def _mean(apart: int, signal: Signal, end: int) -> str:
    """Say over how long a rate is a mean, and the higher one at the end of that time; empty where no reading is left out."""
    if apart <= FULL_CYCLE:
        return ""
    faster = f"in the end by {signal_amount(end, signal)}" if end else "the last of it may be faster"
    return f" (a mean of {duration_text(apart)}; {faster})"


def _taken_by(growing: Collection[str], then: Observation, now: Observation) -> int:
    """Return by how much the pods that grow on have grown between two readings."""
    return sum(_memory(now.pod_stats, uid) - _memory(then.pod_stats, uid) for uid in growing)


def _memory(stats: Mapping[str, PodStats], uid: str) -> int:
    memory = stats[uid].memory if uid in stats else None
    return 0 if memory is None else memory.working_set_bytes or 0
