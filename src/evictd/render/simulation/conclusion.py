"""Says in a few sentences what came of a simulation."""

from collections.abc import Iterable, Iterator, Sequence

from evictd.core.model.config import EvictionConfig
from evictd.core.model.decision import EvictPod, ReclaimNode, begun_evictions
from evictd.core.model.finding import NoAction, ThresholdFinding
from evictd.core.model.observation import EvictionAnswerKind, Reclaim
from evictd.render.simulation.between_readings import between_texts
from evictd.render.stop_reason import no_action_text
from evictd.render.text import (
    counted,
    duration_text,
    first_of,
    kind_text,
    pod_name,
)
from evictd.simulation import SimulatedCycle

_FREED = {
    Reclaim.CONTAINERS: "dead containers",
    Reclaim.IMAGES: "unused images",
    Reclaim.ROTATED_LOGS: "rotated logs",
    Reclaim.PAGE_CACHE: "clean page cache",
}


def conclusion(cycles: Sequence[SimulatedCycle], recorded: EvictionConfig | None = None) -> tuple[str, ...]:
    """Return sentences on the whole: pods evicted, collections, conditions, what is still short. Empty for an empty scenario.

    With the configuration by which the readings were recorded, also which thresholds of another one may act sooner.
    """
    if not cycles:
        return ()
    return (
        *_evictions_texts(cycles),
        *_collections_texts(cycles),
        *_conditions_texts(cycles),
        _end_text(cycles[-1]),
        *(() if recorded is None else between_texts(cycles, recorded)),
    )


def _evictions_texts(cycles: Sequence[SimulatedCycle]) -> Iterator[str]:
    """Write which pods were evicted, and of which pods the API server refused the eviction."""
    asked: list[tuple[str, str]] = []
    """Uid and sentence of each eviction."""
    refused: set[int] = set()
    for cycle in cycles:
        for turn in cycle.turns:
            uids = {
                answer.uid for answer in turn.observation.outcomes.answers if answer.kind is EvictionAnswerKind.REFUSED
            }
            latest = {uid: number for number, (uid, _) in enumerate(asked)}
            refused |= {latest[uid] for uid in uids & latest.keys()}
            asked += [
                (each.pod.uid, f"{pod_name(each.pod)} at {duration_text(cycle.at)}{_cause_text(each)}")
                for each in begun_evictions(turn.step.decisions)
            ]
    gone = [text for number, (_, text) in enumerate(asked) if number not in refused]
    stayed = [text for number, (_, text) in enumerate(asked) if number in refused]
    yield f"{counted(len(gone), 'eviction')}: {first_of(gone)}." if gone else "No pod is evicted."
    if stayed:
        yield f"The API server refused {counted(len(stayed), 'eviction')}: {first_of(stayed)}."


def _cause_text(eviction: EvictPod) -> str:
    return f" for {eviction.because.signal_label}" if eviction.because.threshold is not None else ""


def _collections_texts(cycles: Iterable[SimulatedCycle]) -> Iterator[str]:
    """Write how often each kind of collection began; collections of the same actions share a sentence."""
    times: dict[tuple[Reclaim, ...], list[str]] = {}
    for cycle in cycles:
        for each in cycle.decisions:
            if isinstance(each, ReclaimNode):
                times.setdefault(each.actions, []).append(duration_text(cycle.at))
    for actions, begun in times.items():
        freed = " and ".join(_FREED[action] for action in actions)
        yield f"Collected {counted(len(begun), 'time')}, first at {begun[0]}: {freed}."


def _conditions_texts(cycles: Sequence[SimulatedCycle]) -> Iterator[str]:
    """Write for how long each condition was reported; one that comes back has a sentence for each time."""
    since: dict[str, str] = {}
    for cycle in cycles:
        now, at = {each.value for each in cycle.state.node_conditions}, duration_text(cycle.at)
        for name in [each for each in since if each not in now]:
            yield f"{name} is reported from {since.pop(name)} to {at}."
        for name in sorted(now - since.keys()):
            since[name] = at
    for name, begin in since.items():
        yield f"{name} is reported from {begin} on, until after the end."


def _end_text(cycle: SimulatedCycle) -> str:
    met = dict.fromkeys(
        f"{each.threshold.signal.value} ({kind_text(each.threshold)})"
        for each in cycle.turns[-1].step.findings
        if isinstance(each, ThresholdFinding) and each.met
    )
    if not met:
        return f"At the end, {duration_text(cycle.at)}, no threshold is met."
    stops = [no_action_text(each) for each in cycle.turns[-1].step.findings if isinstance(each, NoAction)]
    why = f"; {stops[0]}" if stops else ""
    return f"At the end, {duration_text(cycle.at)}, a threshold is still met: {', '.join(met)}{why}."
