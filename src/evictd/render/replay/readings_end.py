"""Says where the readings of a journal end for another configuration, and how to play on from there.

The readings after the end of an evicted pod are those without it: what a configuration without it would have met, they do not
show. A pod that this configuration evicts earlier is none of these: it is gone by then.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from shlex import quote
from typing import TYPE_CHECKING

from evictd.codec.decision import decode_decision
from evictd.core.frozen import frozen
from evictd.core.model.decision import EvictPod, begun_evictions
from evictd.core.model.finding import ThresholdFinding
from evictd.core.model.signal import MEMORY_SIGNALS, Signal
from evictd.core.model.threshold import Origin
from evictd.core.units.duration import SECOND, format_duration
from evictd.errors import InputError
from evictd.render.console import print_line
from evictd.render.documents import Document
from evictd.render.replay.met_earlier import readings_before
from evictd.render.replay.refusals import recorded_refusals
from evictd.render.replay.replayed import (
    NOTHING_UNKNOWN,
    Replayed,
    Unknown,
    recorded_victims,
    shows_first_victim,
    then_and_now,
)
from evictd.render.replay.shown_evictions import shown_evictions
from evictd.render.text import clean, counted, first_of, threshold_text

if TYPE_CHECKING:
    from rich.console import Console

_COMMAND = "  evictd "
_MI = 1 << 20
_ASSUMED = 300
"""Seconds of the growth that is suggested where none was measured."""
_MOST_GROWING = 5
_LITTLE_PART = 10
"""A pod that grows by less than this part of what the fastest grows by is left out."""
_RECENT = 30
"""Seconds before an eviction in which memory has to fill more than once for its growth to be taken for one that goes on."""
_LONGEST = 18_000
"""Seconds of the longest growth that is suggested; `--grow` takes no more than 20,000."""


@frozen
class WhatIf:
    """What was asked, as on the command line: the journals, and the options that decide (`--config NEW.yaml`)."""

    journals: str
    options: str


@frozen
class ReadingsEnd:
    """A recorded eviction in whose cycle no pod would be evicted now, or of a pod that is evicted earlier."""

    wall: str
    evicted: EvictPod
    growing: tuple[tuple[str, int], ...] | None = None
    """The pods whose memory grew the fastest then, and by how many bytes a second; `None`: not known."""
    left: int = 0
    """Bytes of memory that were left, by the formula by which the most was left: another configuration may go by any."""
    begins: tuple[str, ...] = ()
    """The soft thresholds of the other configuration alone that are met then: played on, their grace periods begin there."""
    earlier: str = ""
    """When this pod is evicted now at the latest, if that is in an earlier cycle: then the journal need not be played on for it.

    A journal has no entry of most cycles, so that the eviction may have begun in one between two entries.
    """


def readings_ends(replayed: Sequence[Replayed]) -> Iterator[ReadingsEnd]:
    """Yield the evictions after whose end the readings are those without the pod; a dry run ends none."""
    since: dict[str, str] = {}
    """When each pod is evicted now."""
    known = recorded_refusals([one.entry for one in replayed])
    shown = shown_evictions(then_and_now(replayed, known))
    unshown = set[str]()
    """Pods that are evicted now only by readings that would have been others."""
    for one, evictions in zip(replayed, shown, strict=True):
        begun = list(begun_evictions(one.step.decisions))
        for plain in () if (one.entry.extra or {}).get("dryRun") else one.entry.decisions:
            try:
                then = decode_decision(plain)
            except InputError:  # a damaged decision, which the difference shows
                continue
            for each in begun_evictions([then]):
                if known.may_stay(one.entry.wall, each.pod.uid):
                    continue  # it stayed, so the readings after it have it
                if each.pod.uid in unshown or (begun and each.pod.uid not in since):
                    continue  # another pod goes in this cycle, or it is not known when this one goes
                yield ReadingsEnd(
                    wall=one.entry.wall,
                    evicted=each,
                    growing=_growing(one),
                    left=_left(one, each),
                    begins=tuple(_begins(one)),
                    earlier=since.get(each.pod.uid, ""),
                )
        for each in begun:
            if not (one.may_be_refused and known.may_stay(one.entry.wall, each.pod.uid)):
                if each.pod.uid not in since and all(plain["pod"]["uid"] != each.pod.uid for plain in evictions):
                    unshown.add(each.pod.uid)
                since.setdefault(each.pod.uid, one.entry.wall)


@frozen
class GoneEarlier:
    """An eviction that comes earlier now than one that was recorded."""

    recorded: ReadingsEnd
    named: bool
    """Whether it is that of the recorded pod; else of that one or another."""

    def text(self) -> str:
        """Write it."""
        pod = clean(self.recorded.evicted.pod.full_name)
        when = f"at the latest at {clean(self.recorded.earlier)} instead of {clean(self.recorded.wall)}"
        if self.named:
            return f"{pod} {when}"
        return f"A pod would have been evicted {when}: {pod} or another one, which the journal does not show."


def gone_earlier(replayed: Sequence[Replayed], unknown: Unknown) -> tuple[GoneEarlier, ...]:
    """Return the recorded pods that are evicted earlier now; only that a pod is where another one may have gone before.

    A raised threshold is met before the readings of the journal, when the ranking was another one.
    """
    found = [each for each in readings_ends(replayed) if each.earlier not in {"", each.wall}]  # there are whole seconds
    if shows_first_victim(replayed, unknown):
        return tuple(GoneEarlier(recorded=each, named=True) for each in found)
    first = sorted(found, key=lambda each: each.earlier)[:1]  # after it the readings are those of another course
    return tuple(GoneEarlier(recorded=each, named=False) for each in first)


def _begins(one: Replayed) -> Iterator[str]:
    recorded = one.entry.config.thresholds
    met = [each.threshold for each in one.step.findings if isinstance(each, ThresholdFinding) and each.met]
    soft = (each for each in met if not each.hard and each.origin is not Origin.DERIVED)
    yield from (threshold_text(each) for each in soft if each not in recorded)


def _growing(one: Replayed) -> tuple[tuple[str, int], ...] | None:
    """Return the pods that grew the fastest, at most a few; none whose growth is little beside the fastest.

    None where memory filled no more at the eviction: what grew in the minute before had ended by then.
    """
    if _grows_no_more(one):
        return ()
    if (holdings := one.memory_held) is None:
        return None
    names = {pod.uid: pod.full_name for pod in one.entry.observation.pods}
    rates = {uid: each.rate for uid, each in holdings.growing.items() if uid in names and each.rate}
    fastest = sorted(rates, key=lambda uid: (-rates[uid], names[uid]))[:_MOST_GROWING]
    return tuple((names[uid], rates[uid]) for uid in fastest if rates[uid] * _LITTLE_PART >= rates[fastest[0]])


def _left(one: Replayed, evicted: EvictPod) -> int:
    """Return how much memory was left at an eviction: with page cache that the kernel drops, or what no process can allocate."""
    counted = evicted.because.available
    node = one.entry.observation.node
    memory = None if node is None else node.memory
    found = [0 if counted is None else counted.value()]
    if memory is not None:
        found += [(memory.available_bytes or 0) + (memory.unallocatable_bytes or 0), memory.mem_available_bytes or 0]
    return max(found)


def _grows_no_more(one: Replayed) -> bool:
    """Whether memory did not fill at the eviction nor since the reading before it, and before that in one step at most.

    Two readings alone have no rate: what rose between them may have ended there. False if not known.
    """
    node = one.entry.observation.node
    memory = None if node is None else node.memory
    if memory is None or memory.available_bytes is None or memory.fill_rate is None or memory.fill_rate > 0:
        return False
    trend = readings_before(one.entry, Signal.MEMORY_AVAILABLE.value)
    recent = [available for seconds, available in trend if seconds <= _RECENT]
    fell = [after < before for after, before in pairwise([memory.available_bytes, *recent])]
    return bool(fell) and not fell[0] and sum(fell) <= 1


def readings_end_text(
    replayed: Sequence[Replayed], what_if: WhatIf, unknown: Unknown = NOTHING_UNKNOWN
) -> tuple[str, ...]:
    """Return which pods go earlier, that the readings end at an eviction, and the commands that answer for it; or nothing.

    After the first such eviction they are those of another course, so only there can the node be played on.
    """
    found = tuple(readings_ends(replayed))
    before = gone_earlier(replayed, unknown)
    named = [each.text() for each in before if each.named]
    earlier = (
        (f"Would have been evicted earlier: {first_of(named)}.",) if named else tuple(each.text() for each in before)
    )
    ends = [each for each in found if not each.earlier]
    if not ends:
        return earlier
    first = ends[0]
    pod, cause = clean(first.evicted.pod.full_name), first.evicted.because
    of = "1 eviction" if len(ends) == 1 else f"the first of {counted(len(ends), 'eviction')}"
    threshold = "" if cause.threshold is None else f" for {threshold_text(cause.threshold)}"
    end = (
        f"The recorded readings end at {of} that would not have been: that of {pod}{threshold} at "
        f"{clean(first.wall)}. From then on that pod was ending, and the readings after its end are those without it, so the "
        "journal does not show what would have been with it."
    )
    until = f"{pod}@{clean(first.wall)}" if _evicted_again(replayed, first) else pod
    capture = f"{_COMMAND}capture --from-journal {what_if.journals} --until {quote(until)} --out incident.yaml"
    if cause.threshold is None or cause.threshold.signal not in MEMORY_SIGNALS or first.growing == ():
        world = "To find out, describe the node, and what grows until when, in a world (docs/worlds.md), and play it:"
        return *earlier, end, world, f"{_COMMAND}simulate WORLD.yaml {what_if.options}"
    grow, source = _growths(first)
    grows = "the pod" if len(grow) == 1 else "the pods"
    soft = (
        f"; {' and '.join(first.begins)} may act sooner, as it is played as met from there on" if first.begins else ""
    )
    return (
        *earlier,
        end,
        f"Whether the growth would have gone on is not known. To assume it, let {grows} grow on, {source}{soft}:",
        capture,
        f"{_COMMAND}simulate incident.yaml {' '.join(f'--grow {quote(each)}' for each in grow)} {what_if.options}",
    )


def _evicted_again(replayed: Sequence[Replayed], end: ReadingsEnd) -> bool:
    """Whether a pod of this name was evicted again after it: `--until` takes the last eviction of a name."""
    pod = clean(end.evicted.pod.full_name)
    walls = [one.entry.wall for one in replayed if pod in recorded_victims(one.entry.decisions)]
    return walls[-1:] != [end.wall]


def print_readings_end(replayed: Sequence[Replayed], unknown: Unknown, what_if: WhatIf, to: "Console") -> None:
    """Print it; a command stays on one line, so that it can be copied."""
    for line in readings_end_text(replayed, what_if, unknown):
        if line.startswith(_COMMAND):
            to.print(line, soft_wrap=True)
        else:
            print_line(to, "", line)


def ends_document(replayed: Sequence[Replayed]) -> list[Document]:
    """Return the same for a document: each such eviction."""
    found = (each for each in readings_ends(replayed) if not each.earlier)
    return [{"wall": each.wall, "pod": each.evicted.pod.full_name} for each in found]


def _growths(end: ReadingsEnd) -> tuple[list[str], str]:
    """Return what `--grow` takes: twice what was left or a bit more, at the recorded fill rate; and where the rate is from.

    The pods that grew share it by their growth; where that is not known, the evicted pod takes all of it.
    """
    cause = end.evicted.because
    left = end.left
    amount = max(2 * left // _MI, 1)
    filled = cause.fill_rate or sum(rate for _, rate in end.growing or ())
    if not filled:
        seconds, source = _ASSUMED, "at a rate that is assumed, for none was recorded"
    elif (seconds := max(-(-2 * left // filled), 1)) > _LONGEST:
        seconds, source = _LONGEST, "faster than it was recorded, to have an end"
    else:  # a bit more, for whole seconds: a shorter time would be another rate
        amount = max(filled * seconds // _MI, 1)
        source = f"as fast as {'memory filled' if cause.fill_rate else 'pods grew'} then"
    growing = end.growing or [(end.evicted.pod.full_name, 1)]
    total = sum(rate for _, rate in growing)
    over = format_duration(seconds * SECOND)
    return [f"{clean(pod)}+{max(amount * rate // total, 1)}Mi/{over}" for pod, rate in growing], source
