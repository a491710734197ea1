"""Names the signals that no threshold covers, with the line that covers each."""

from collections.abc import Iterator

from evictd.advice.evidence import Uncovered
from evictd.advice.missing import MissingThreshold, Unguarded
from evictd.advice.proposal import Advice
from evictd.core.model.signal import SIGNALS
from evictd.render.documents import Document
from evictd.render.sentences import place_text
from evictd.render.text import clean, counted, first_of, signal_amount

_SHOWN = 5
"""Nodes that are named."""


def some(names: tuple[str, ...]) -> str:
    """Write the names of the first few nodes."""
    return first_of([clean(name) for name in names], _SHOWN)


def missing_document(each: MissingThreshold) -> Document:
    """Return the evidence of a signal that was near a useful threshold for a document."""
    worst = each.worst
    return {
        "signal": worst.signal.value,
        "hard": worst.line,
        "nodes": list(each.nodes),
        "readings": each.readings,
        "below": each.below,
        "killed": each.killed,
        "occasions": each.occasions,
        "firstMet": worst.first_met or None,
        "evictedFirst": None if worst.goes_first is None else worst.goes_first.pod.full_name,
        "lowest": {"node": worst.node, "at": worst.wall, "available": worst.available, "capacity": worst.capacity},
    }


def missing_line(each: MissingThreshold) -> str:
    """Say which line would cover a signal that no threshold covers, and how near it came."""
    worst, name = each.worst, each.worst.signal.value
    left, whole = (signal_amount(amount, worst.signal) for amount in (worst.available, worst.capacity))
    where = f"on {clean(worst.node)} at {clean(worst.wall)}"
    how = "it ran out" if worst.available <= 0 else "it ran short" if each.below else "it came close"
    how = "the kernel had killed for want of it" if worst.killed else f"{how}: {left} of {whole} were left"
    met = f"{each.below or 'none'} of {counted(each.readings, 'recorded reading')} would have met it"
    if each.occasions:
        met += f", on {counted(each.occasions, 'occasion')}"
    if each.killed:
        met += f", kills by the kernel precede {each.killed}"
    once = "; one accident says little of the next" if each.occasions == 1 else ""
    return (
        f"{name}: has no threshold on {some(each.nodes)}, and {how} {where}. To cover it add "
        f"`{name}: {worst.line}` to the lines of evictionHard; {met}{once}"
        f"{_goes_first(worst)}"
    )


def _goes_first(worst: Uncovered) -> str:
    """Say which pod the threshold would have evicted first; empty where that is not known."""
    row = worst.goes_first
    if row is None:
        return ""
    place = place_text(row, SIGNALS[worst.signal].resource)
    return (
        f". It would have evicted {clean(row.pod.full_name)} ({place}) first, by what the pods requested and used at "
        f"{clean(worst.first_met)}, or before the kernel killed them; that need not be the pod that grew"
    )


def unguarded_document(each: Unguarded) -> Document:
    """Return the same of one signal for a document."""
    return {"signal": each.signal.value, "hard": each.line, "nodes": list(each.nodes)}


def unguarded_lines(advice: Advice) -> Iterator[str]:
    """Yield a line for each group of nodes with the signals that have no threshold: no cycle is recorded for these."""
    for nodes in dict.fromkeys(each.nodes for each in advice.unguarded):
        found = [each for each in advice.unguarded if each.nodes == nodes]
        them, lines = ("it", "line") if len(found) == 1 else ("them", "lines")
        yield (
            f"no threshold on {some(nodes)}: {', '.join(each.signal.value for each in found)}. A shortage of {them} is not "
            f"recorded, so the journal does not show whether {them if len(found) == 1 else 'they'} ran out; to cover {them} add "
            f"the {lines} {', '.join(f'`{each.signal.value}: {each.line}`' for each in found)} of evictionHard"
        )
