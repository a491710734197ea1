"""Says of a world what a part of the host took of memory, where a threshold for memory was met."""

from collections.abc import Iterable, Iterator

from evictd.core.model.signal import MEMORY_SIGNALS
from evictd.core.units.approximate import bytes_text
from evictd.core.units.duration import MINUTE
from evictd.render.text import clean
from evictd.world.behaviours import Behaviour, Grow, TakeRest, Usage
from evictd.world.loop import Run
from evictd.world.process import Process
from evictd.world.tested import cycles_with_thresholds

_TIMES = 10
"""How many times as much as all pods the host has to take in the minute before to be what filled memory."""


def host_filled(run: Run) -> bool:
    """Whether the host alone filled memory in the minute before a threshold was first met, and no pod is marked as the cause."""
    at, pods = _first_met(run), run.world.pods
    takes_rest = any(isinstance(one, TakeRest) for each in pods for one in each.behaviours)
    if at is None or takes_rest or any(each.culprit for each in pods):
        return False
    by_host = sum(_taken(each.behaviours, run.world.begin, at) for each in run.world.host)
    by_pods = sum(max(_taken(each.behaviours, each.start, at), 0) for each in pods if each.start <= at)
    return by_host > by_pods * _TIMES and by_host > 0


def host_filled_texts(run: Run) -> Iterator[str]:
    """Write which parts of the host took most of what filled memory in the minute before a threshold was first met."""
    at = _first_met(run)
    taken = [] if at is None else [(_taken(each.behaviours, run.world.begin, at), each.name) for each in run.world.host]
    for took, name in sorted(taken, reverse=True):
        if took * 2 >= sum(amount for amount, _ in taken):
            yield (
                f"{clean(name)}, outside pods, is the cause: it took {bytes_text(took)} of memory in the minute before the "
                "first threshold was met; evictions do not end it."
            )


def _first_met(run: Run) -> int | None:
    """Return when a threshold of memory was first met; `None` if it never was."""
    for cycle, tested in cycles_with_thresholds(run):
        if any(each.met and each.threshold.signal in MEMORY_SIGNALS for each in tested):
            return cycle.at
    return None


def _taken(behaviours: Iterable[Behaviour], start: int, at: int) -> int:
    """Return how much memory a process took in the minute before, or since it began."""
    process = Process(behaviours, start)
    return process.held(at).get(Usage.MEMORY, 0) - process.held(max(at - MINUTE, start)).get(Usage.MEMORY, 0)


def host_growth_texts(run: Run) -> Iterator[str]:
    """Write which part of the host took more and more memory; nothing where a pod is the cause or memory was never short."""
    short = any(
        each.met and each.threshold.signal in MEMORY_SIGNALS
        for _, tested in cycles_with_thresholds(run)
        for each in tested
    )
    if not short or any(each.is_culprit for each in run.world.pods):
        return
    killed = {kill.name for _, kill in run.kills}
    for part in run.world.host:
        grows = [each for each in part.behaviours if isinstance(each, Grow) and each.of is Usage.MEMORY]
        if part.name in killed or not any(each.bound is None for each in grows):
            continue
        took = Process(grows, run.world.begin).held(run.world.duration).get(Usage.MEMORY, 0)
        took = min(took, run.world.node.memory + run.world.node.swap)
        if took:
            yield f"{clean(part.name)}, outside pods, took {bytes_text(took)} of memory; evictions do not end it."
