"""Says which thresholds and settings of another configuration could have acted between the records of a journal.

The journal has only the cycles in which something was decided. A threshold that is higher than the recorded ones of its signal,
or whose grace period is shorter, could have been met in any of the others; so could one on a signal that had none, which may not
even have been read. With a larger minimum reclaim one is met for longer.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from evictd.codec.records.journal_record import recorded_evictions
from evictd.core.model.config import own_thresholds
from evictd.core.model.finding import SignalUnobserved, ThresholdFinding
from evictd.core.model.signal import SIGNALS, Signal
from evictd.core.model.sooner import TRANSITION_PERIOD
from evictd.core.model.threshold import Origin
from evictd.core.model.threshold_config import MINIMUM_RECLAIM
from evictd.render.console import print_line
from evictd.render.documents import Document
from evictd.render.replay.condition_end import first_condition_end
from evictd.render.replay.met_earlier import as_recorded, met_earlier, readings_before, recorded_limits
from evictd.render.replay.met_for_longer import may_be_met_for_longer
from evictd.render.replay.readings_end import WhatIf, readings_ends
from evictd.render.replay.replayed import Replayed, Unknown
from evictd.render.text import clean, counted, signal_amount, threshold_text

if TYPE_CHECKING:
    from rich.console import Console

_NEAR = 2
"""A disk was near a threshold if at most this multiple of the threshold was available; PIDs fill faster (`_near`)."""


def unrecorded_thresholds(replayed: Sequence[Replayed], *, near_one: bool = True) -> tuple[str, ...]:
    """Return the thresholds that act sooner than all that were recorded of their signal, in order.

    Those are left out that the readings before an eviction show as met earlier (`met_earlier`), and those of disks and PIDs
    that were near none, which are returned instead without `near_one`; near one that is added they could have been at any time.
    """
    found: dict[str, None] = {}
    near: set[str] = set()
    known = {each.threshold for one in replayed for each in met_earlier(one.entry, one.step.findings)}
    for one in replayed:
        recorded = list(recorded_limits(one.entry))
        added = set(map(threshold_text, one.added))
        for finding in one.step.findings:
            if not isinstance(finding, ThresholdFinding) or finding.threshold.origin is Origin.DERIVED:
                continue
            if _near(one, finding) or threshold_text(finding.threshold) in added:
                near.add(threshold_text(finding.threshold))
            if not any(each.covers(as_recorded(recorded, finding)) for each in recorded):
                found.setdefault(threshold_text(finding.threshold))
        unread = list(_unread(one))
        near.update(unread)
        found.update(dict.fromkeys(unread))
    return tuple(each for each in found if (each in near) is near_one and each not in known)


def _unread(one: Replayed) -> Iterator[str]:
    """Yield the added thresholds on signals that were not read, because no recorded threshold was on them."""
    unread = {each.signal for each in one.step.findings if isinstance(each, SignalUnobserved) and not each.absent}
    recorded = {each.signal for each in own_thresholds(one.entry.config)}
    yield from (threshold_text(each) for each in one.added if each.signal in unread - recorded)


def _near(one: Replayed, finding: ThresholdFinding) -> bool:
    """Whether it was near at this record or before it: disks, and PIDs, of which half are taken; others can fall unrecorded."""
    signal = finding.threshold.signal
    before = (left for _, left in readings_before(one.entry, signal.value))
    lowest = min((finding.available.value(), *before))
    near = _NEAR * finding.limit.value()
    if signal is Signal.PID_AVAILABLE:
        return lowest <= max(near, finding.capacity.value() // 2)
    return SIGNALS[signal].filesystem is None or lowest <= near


def unknown_between(replayed: Sequence[Replayed]) -> Unknown:
    """Return these thresholds, and the settings that act sooner than the recorded ones, or for longer.

    A minimum reclaim changes nothing where the records show that it was reached (`may_be_met_for_longer`), and a transition
    period nothing without a condition that ends sooner (`first_condition_end`).
    """
    end, idle = first_condition_end(replayed), set[str]()
    if not may_be_met_for_longer(replayed):
        idle.add(MINIMUM_RECLAIM)
    if end is None:
        idle.add(TRANSITION_PERIOD)
    settings = dict.fromkeys(name for one in replayed for name in one.sooner if name not in idle)
    found = (*unrecorded_thresholds(replayed), *settings)
    return Unknown(may_act=found, condition_end=end if found == (TRANSITION_PERIOD,) else None)


def unrecorded_texts(unknown: Unknown, replayed: Sequence[Replayed], options: str) -> tuple[str, ...]:
    """Return that the journal cannot tell what these would have done, and how to find out; nothing without one."""
    how = (
        "To find out, run it on the node with dryRun: true, or describe the node in a world (docs/worlds.md), and play it:",
        f"  evictd simulate WORLD.yaml {options}",
    )
    if not (found := unknown.may_act):
        return ()
    if (end := unknown.condition_end) is not None:
        can = f"can end sooner than what was recorded, from {clean(end.wall)} on"
        shows = "The journal does not show whether a pod that came back would have gone."
        return (f"By {TRANSITION_PERIOD} {end.condition.value} {can}. {shows}", *how)
    if MINIMUM_RECLAIM in found:
        acts = "can act for longer" if len(found) == 1 else "can act sooner or for longer"
    elif any(one.sooner for one in replayed) or not set(found) <= _met(replayed):
        acts = "can act sooner"
    else:
        acts = "acts sooner" if len(found) == 1 else "act sooner"
    cycles = f"the {counted(len(replayed), 'cycle')} in which something was decided"
    cannot = f"The journal has only {cycles}, and does not show whether a pod would have gone between them."
    listed = " and ".join(filter(None, (", ".join(found[:-1]), found[-1])))
    return (f"{listed} {acts} than what was recorded. {cannot}", *how)


def met_at_first(replayed: Sequence[Replayed]) -> Iterator[ThresholdFinding]:
    """Yield what the first reading meets already, where it met no recorded threshold of the signal and evicted no pod."""
    first = replayed[0]
    recorded = {each.signal for each in recorded_limits(first.entry, met=True)}
    if any(recorded_evictions(first.entry.decisions)):
        return
    met = (each for each in first.step.findings if isinstance(each, ThresholdFinding) and each.met)
    own = (each for each in met if each.threshold.origin is not Origin.DERIVED)
    yield from (each for each in own if each.threshold.signal.value not in recorded)


def met_at_first_document(replayed: Sequence[Replayed]) -> list[Document]:
    """Return the same for a document: each threshold, and what was available."""
    return [
        {"threshold": threshold_text(each.threshold), "available": str(each.available)}
        for each in met_at_first(replayed)
    ]


def _met_at_first_texts(replayed: Sequence[Replayed]) -> Iterator[str]:
    for each in met_at_first(replayed):
        signal = each.threshold.signal
        yield (
            f"{threshold_text(each.threshold)} is met already in the first reading, at {clean(replayed[0].entry.wall)}, when "
            f"no recorded threshold of {signal.value} was: {signal_amount(each.available.value(), signal)} were available."
        )


def _met(replayed: Sequence[Replayed]) -> set[str]:
    """Return the thresholds that are met at a recorded reading; of the others it is open whether they ever were."""
    findings = (each for one in replayed for each in one.step.findings)
    return {threshold_text(each.threshold) for each in findings if isinstance(each, ThresholdFinding) and each.met}


def print_unrecorded(unknown: Unknown, replayed: Sequence[Replayed], what_if: WhatIf, to: "Console") -> None:
    """Print it after what the first reading meets.

    It is without how to find out where the readings end at an eviction, which is said with what answers there.
    """
    for text in _met_at_first_texts(replayed):
        print_line(to, "", text, "bold yellow")
    if far := unrecorded_thresholds(replayed, near_one=False):
        print_line(
            to, "", f"No recorded reading is near {', '.join(far)}; those between are not in the journal.", "yellow"
        )
    ends = any(not each.earlier for each in readings_ends(replayed))
    for line in unrecorded_texts(unknown, replayed, what_if.options)[: 1 if ends else None]:
        if line.startswith(" "):
            to.print(line, soft_wrap=True)  # a command stays on one line, so that it can be copied
        else:
            print_line(to, "", line, "bold yellow")
