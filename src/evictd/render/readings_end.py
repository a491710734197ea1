"""Says where the readings of a journal end for another configuration, and how to play on from there.

An eviction relieves the node, so the readings after it do not show what a configuration without that eviction would have met.
A pod that this configuration evicts earlier is none of these: it is gone by then.
"""

from collections.abc import Iterator, Sequence
from shlex import quote
from typing import TYPE_CHECKING

from evictd.codec.decision import decode_decision
from evictd.core.frozen import frozen
from evictd.core.model.decision import EvictPod, begun_evictions
from evictd.core.model.signal import MEMORY_SIGNALS
from evictd.core.units.duration import SECOND, format_duration
from evictd.errors import InputError
from evictd.render.console import print_line
from evictd.render.documents import Document
from evictd.render.replayed import Replayed
from evictd.render.text import clean, counted, first_of, threshold_text

if TYPE_CHECKING:
    from rich.console import Console

_COMMAND = "  evictd "
_MI = 1 << 20
_ASSUMED = 300
"""Seconds of the growth that is suggested where none was measured."""
_LONGEST = 18_000
"""Seconds of the longest growth that is suggested; `--grow` takes no more than 20,000."""


@frozen
class WhatIf:
    """What was asked, as on the command line: the journals, and the options that decide (`--config NEW.yaml`)."""

    journals: str
    options: str


@frozen
class ReadingsEnd:
    """A recorded eviction in whose cycle no pod would be evicted now."""

    wall: str
    evicted: EvictPod
    earlier: str = ""
    """When this pod is evicted now, if that is in an earlier cycle: then the journal need not be played on for it."""


def readings_ends(replayed: Sequence[Replayed]) -> Iterator[ReadingsEnd]:
    """Yield the evictions after which the readings are those of a relieved node; a dry run relieves none."""
    since: dict[str, str] = {}
    """When each pod is evicted now."""
    for one in replayed:
        begun = list(begun_evictions(one.step.decisions))
        for each in begun:
            since.setdefault(each.pod.uid, one.entry.wall)
        if (one.entry.extra or {}).get("dryRun") or begun:
            continue
        for plain in one.entry.decisions:
            try:
                then = decode_decision(plain)
            except InputError:  # a damaged decision, which the difference shows
                continue
            for each in begun_evictions([then]):
                yield ReadingsEnd(wall=one.entry.wall, evicted=each, earlier=since.get(each.pod.uid, ""))


def readings_end_text(replayed: Sequence[Replayed], what_if: WhatIf) -> tuple[str, ...]:
    """Return which pods go earlier, that the readings end at evictions, and the commands that answer for the last; or nothing."""
    found = tuple(readings_ends(replayed))
    before = [
        f"{clean(each.evicted.pod.full_name)} at {clean(each.earlier)} instead of {clean(each.wall)}"
        for each in found
        if each.earlier
    ]
    earlier = (f"Would have been evicted earlier: {first_of(before)}.",) if before else ()
    ends = [each for each in found if not each.earlier]
    if not ends:
        return earlier
    last = ends[-1]
    pod, cause = clean(last.evicted.pod.full_name), last.evicted.because
    of = "1 eviction" if len(ends) == 1 else f"each of {counted(len(ends), 'eviction')}"
    threshold = "" if cause.threshold is None else f" for {threshold_text(cause.threshold)}"
    end = (
        f"The recorded readings end at {of} that would not have been: the last is that of {pod}{threshold} at "
        f"{clean(last.wall)}, which relieved the node. So the journal does not show what would have been without it."
    )
    capture = f"{_COMMAND}capture --from-journal {what_if.journals} --until {quote(pod)} --out incident.yaml"
    if cause.threshold is None or cause.threshold.signal not in MEMORY_SIGNALS:
        world = "To find out, describe the node and what grows in a world (docs/worlds.md), and play it:"
        return *earlier, end, world, f"{_COMMAND}simulate WORLD.yaml {what_if.options}"
    growth, source = _growth(last.evicted)
    return (
        *earlier,
        end,
        f"To find out, let the pod grow on from there, {source}:",
        capture,
        f"{_COMMAND}simulate incident.yaml --grow {quote(f'{pod}+{growth}')} {what_if.options}",
    )


def print_readings_end(replayed: Sequence[Replayed], what_if: WhatIf, to: "Console") -> None:
    """Print it; a command stays on one line, so that it can be copied."""
    for line in readings_end_text(replayed, what_if):
        if line.startswith(_COMMAND):
            to.print(line, soft_wrap=True)
        else:
            print_line(to, "", line)


def ends_document(replayed: Sequence[Replayed]) -> list[Document]:
    """Return the same for a document: each such eviction."""
    found = (each for each in readings_ends(replayed) if not each.earlier)
    return [{"wall": each.wall, "pod": each.evicted.pod.full_name} for each in found]


def _growth(evicted: EvictPod) -> tuple[str, str]:
    """Return what `--grow` takes: twice what was left, at the recorded fill rate; and where the rate is from."""
    cause = evicted.because
    left = 0 if cause.available is None else cause.available.value()
    amount = max(2 * left // _MI, 1)
    if not cause.fill_rate:
        return f"{amount}Mi/{format_duration(_ASSUMED * SECOND)}", "at a rate that is assumed, for none was recorded"
    seconds = max(amount * _MI // cause.fill_rate, 1)
    if seconds > _LONGEST:
        return f"{amount}Mi/{format_duration(_LONGEST * SECOND)}", "faster than it was recorded, to have an end"
    return f"{amount}Mi/{format_duration(seconds * SECOND)}", "as fast as memory filled then"
