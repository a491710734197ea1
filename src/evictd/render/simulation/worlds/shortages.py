"""Says of configurations in the same world for how long their hard thresholds were met, and when evictions paused."""

from collections.abc import Iterator, Sequence

from evictd.core.model.config import own_thresholds
from evictd.core.model.finding import NoAction, NoActionReason
from evictd.core.model.signal import Signal
from evictd.core.model.threshold import Operator, Origin
from evictd.render.simulation.worlds.world_outcome import PlayedWorld
from evictd.render.text import clean, clock, counted, duration_text
from evictd.world.loop import Run


def shortage_texts(sides: Sequence[PlayedWorld]) -> Iterator[str]:
    """Write for how long the hard thresholds of each signal were met, where the sides differ in it, and each side's pauses."""
    by_signal: dict[Signal, list[tuple[str, str]]] = {}
    for side in sides:
        for threshold in own_thresholds(side.run.config):
            set_here = threshold.origin is not Origin.DERIVED and threshold.operator is Operator.LESS_THAN
            if set_here and not threshold.grace_period:
                met = duration_text(side.account.short_for.get(str(threshold), 0))
                text = f"{clean(str(threshold))} for {met} with {clean(side.name)}"
                by_signal.setdefault(threshold.signal, []).append((met, text))
    for found in by_signal.values():
        if len({met for met, _ in found}) > 1:
            yield f"Hard threshold met: {', '.join(text for _, text in found)}."
    for side in sides:
        yield from _pause_texts(side)


def _pause_texts(side: PlayedWorld) -> Iterator[str]:
    """Write when evictions paused because they did not help (`EvictionsDoNotHelp`)."""
    pauses = tuple(_pauses(side.run))
    if not pauses:
        return
    (since, _), (_, until), name = pauses[0], pauses[-1], clean(side.name)
    times = "" if len(pauses) == 1 else f" {counted(len(pauses), 'time')}"
    lasted = "" if len(pauses) == 1 else f", for {duration_text(sum(end - begin for begin, end in pauses))} in all"
    why = NoActionReason.EVICTIONS_DO_NOT_HELP.value
    yield f"With {name} evictions paused{times} from {clock(since)} to {clock(until)}{lasted} ({why})."


def _pauses(run: Run) -> Iterator[tuple[int, int]]:
    """Yield begin and end of each pause; one that lasts at the last cycle ends with the world."""
    since: int | None = None
    for cycle in run.cycles:
        paused = any(
            isinstance(each, NoAction) and each.why is NoActionReason.EVICTIONS_DO_NOT_HELP
            for each in cycle.step.findings
        )
        if paused and since is None:
            since = cycle.at
        elif not paused and since is not None:
            yield since, cycle.at
            since = None
    if since is not None:
        yield since, run.world.duration
