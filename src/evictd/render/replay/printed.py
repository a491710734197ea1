"""Journal entries that were decided again, as text and as a document."""

from collections.abc import Collection, Iterator, Sequence
from itertools import compress
from typing import TYPE_CHECKING

from evictd.render.console import print_line
from evictd.render.documents import API_VERSION, Document
from evictd.render.replay.as_kubelet import kubelet_texts, unrefused_text
from evictd.render.replay.changed_conditions import REPORTS
from evictd.render.replay.changed_kind import changed_kinds
from evictd.render.replay.changed_values import changed_values, changed_words, fields_agree, measured_text
from evictd.render.replay.met_earlier import met_earlier
from evictd.render.replay.replayed import (
    Replayed,
    Unknown,
    decided_texts,
    earlier_text,
    first_added,
    first_kept,
    recorded_text,
    recorded_texts,
    recorded_victims,
    refusals_in,
    then_and_now,
    victim_pairs,
    victims_text,
    without_wait,
)
from evictd.render.text import clean, counted, duration_text

if TYPE_CHECKING:
    from rich.console import Console

_SHOWN_BEYOND = 3

_FIELDS = {
    "actions": "what is removed",
    "because": "the numbers behind the eviction",
    "condition": "the condition that the pod gets",
    "device": "the disk",
    "freeze": "whether its containers are frozen",
    "gracePeriodSeconds": "its grace period in seconds",
    "pod": "what is recorded of the pod",
    "refusedSince": "since when a budget refuses it",
    "wantedBytes": "how many bytes are enough",
}
"""What the fields of decisions hold that no sentence names; others are named as in the journal."""
_THRESHOLD = "threshold"
_MEASURED = "measured"
"""The field with what the configuration does not let evictd remove: it only measures how much that would free."""
_REASONS = frozenset({_MEASURED, _THRESHOLD, "because", "condition", "annotations", "message"})
"""The fields that do not change what happens on the node: why it is done, and what is written about it."""


def _changed_fields(one: Replayed) -> Iterator[str]:
    """Yield what differs where the sentences are equal, because a sentence rounds it or leaves it out."""
    for now, then in zip(without_wait(one.decided), without_wait(one.entry.decisions), strict=True):
        for name in sorted(now.keys() & then.keys()):
            if fields_agree(now[name], then[name]):
                continue
            if name == _MEASURED:
                yield f"{recorded_text(then)}: {measured_text(then[name], now[name])}"
            else:
                values = ", ".join(changed_values(then[name], now[name]))
                named = "" if name == _THRESHOLD else f"{_FIELDS.get(name, name)}: "  # each part of it says whose it is
                yield f"{recorded_text(then)}: {named}{values}"


def _only_measures_otherwise(one: Replayed) -> bool:
    """Whether the decisions are the same but for what is only measured: nothing else would happen on the node."""
    return not one.same and decided_texts(one.step) == recorded_texts(one.entry) and _agree_without(one, {_MEASURED})


def _only_for_other_numbers(one: Replayed) -> bool:
    """Whether the decisions are the same but for the thresholds and amounts that are their reason."""
    same = not one.same and not _only_measures_otherwise(one) and _agree_without(one, _REASONS)
    return same and not any(_changed_kinds(one))


def _only_reports_otherwise(one: Replayed) -> bool:
    """Whether the decisions are the same but for the node conditions that are reported."""
    sides = (one.decided, one.entry.decisions)
    now, then = ([each for each in without_wait(side) if each.get("kind") != REPORTS] for side in sides)
    return not one.same and _reports_otherwise(one) and fields_agree(now, then)


def _reports_otherwise(one: Replayed) -> bool:
    """Whether another set of node conditions is reported, which pods that are started again may wait for."""
    now, then = ([each for each in side if each.get("kind") == REPORTS] for side in (one.decided, one.entry.decisions))
    return not fields_agree(now, then)


def _changed_kinds(one: Replayed) -> Iterator[str]:
    return changed_kinds(one.entry.decisions, one.decided)


def _agree_without(one: Replayed, left_out: Collection[str]) -> bool:
    now, then = (
        [{name: each[name] for name in each if name not in left_out} for each in side]
        for side in (without_wait(one.decided), without_wait(one.entry.decisions))
    )
    return fields_agree(now, then)


def _print_difference(one: Replayed, to: "Console") -> None:
    """Print the decisions that are not on both sides, and in which words those of a pair differ."""
    then, now = recorded_texts(one.entry), decided_texts(one.step)
    only_then, only_now = [each for each in then if each not in now], [each for each in now if each not in then]
    if then == now:
        print_line(to, "  differs: ", ", ".join(_changed_fields(one)))
        return
    if not only_then and not only_now:
        only_then, only_now = then, now  # another order
    for text in only_then or ["nothing" if not then else "nothing else"]:
        print_line(to, "  - then: ", text)
    for text in only_now or ["nothing" if not now else "nothing else"]:
        print_line(to, "  + now:  ", text, "bold")
    if len(only_then) == len(only_now) == 1 and (words := changed_words(only_then[0], only_now[0])):
        print_line(to, "  differs: ", words)
    for text in _changed_kinds(one):
        print_line(to, "  differs: ", text)


def _end_of_course(replayed: Sequence[Replayed]) -> tuple[int | None, str]:
    """Return the last entry whose reading is as it would have been, and what the readings after it are."""
    pairs = victim_pairs(then_and_now(replayed, refusals_in(replayed)))
    kept, added = first_kept(replayed, pairs), first_added(pairs)
    if added is not None and (kept is None or added < kept):
        return added, "without an eviction that would have been"
    return kept, "after an eviction that would not have been"


def print_replayed(replayed: Sequence[Replayed], to: "Console", *, other: bool) -> None:
    """Print the entries that came out differently, and how many; `print_victims` says what that means."""
    _print_differences(replayed, to, other=other)
    different = any(not one.same for one in replayed)
    style = "bold yellow" if different or earlier_text(replayed) or kubelet_texts(replayed) else "bold green"
    to.print(_count_text(replayed, other=other), style=style)
    if kept := [one.formula.value for one in replayed if one.formula is not None]:
        text = f"memory.available of {counted(len(kept), 'record')} is as recorded, by memory.formula {kept[0]}: "
        print_line(to, "", f"{text}the journal has no reading by the other formula.", "bold yellow")


def _print_differences(replayed: Sequence[Replayed], to: "Console", *, other: bool) -> None:
    """Print each entry that came out differently; of those after the end of the recorded course only a few."""
    # With another configuration those with the same decisions for other amounts are in the count alone.
    shown = [not one.same and not (other and _only_for_other_numbers(one)) for one in replayed]
    if not any(shown):
        return
    end, readings = _end_of_course(replayed) if other else (None, "")
    beyond = [] if end is None else list(compress(replayed[end + 1 :], shown[end + 1 :]))
    starts = _starts_of_seconds(replayed)
    for one in compress(replayed, shown):
        if beyond and one is beyond[0]:
            if len(beyond) > _SHOWN_BEYOND and not any(recorded_victims(each.decided) for each in beyond):
                more = f"{len(beyond)} more entries differ, by readings {readings}; --output json has them."
                print_line(to, "", more, "bold yellow")
                return
            print_line(to, "", f"From here on the readings are those {readings}:", "bold yellow")
        after = one.entry.now - starts[one.entry.wall]
        later = f" ({duration_text(after)} after the first cycle of that second)" if after > 0 else ""
        to.print(f"at {clean(one.entry.wall)}{later}", style="bold cyan")
        _print_difference(one, to)


def _starts_of_seconds(replayed: Sequence[Replayed]) -> dict[str, int]:
    """Return by recorded time, which is a whole second, the clock of its first cycle."""
    return {one.entry.wall: one.entry.now for one in reversed(replayed)}


def _count_text(replayed: Sequence[Replayed], *, other: bool) -> str:
    """Write how many entries came out differently, and in what alone some of them do."""
    different = [one for one in replayed if not one.same]
    would = "would have been" if other else "is" if len(different) == 1 else "are"
    entries = "1 entry" if len(replayed) == 1 else f"{len(replayed)} entries"
    kinds = (
        (_only_measures_otherwise, "what is measured"),
        (_only_for_other_numbers, "the threshold and the amounts that are the reason"),
        (_only_reports_otherwise, "the node conditions that are reported"),
    )
    only = [(sum(map(is_only, different)), what) for is_only, what in kinds]
    parts = [f"{'that' if count == 1 == len(different) else count} only in {what}" for count, what in only if count]
    alone = f" ({', '.join(parts)})" if parts else ""
    earlier = ", but a threshold would have been met earlier" if earlier_text(replayed) else ""
    return f"{entries}, {len(different)} {would} decided differently{alone}{earlier}"


def print_victims(replayed: Sequence[Replayed], unknown: Unknown, to: "Console", *, other: bool) -> None:
    """Print whether other pods are chosen, and of what the readings say nothing."""
    different = any(not one.same for one in replayed)
    if different:
        print_line(to, "", victims_text(replayed, unknown), "bold")
    if earlier := earlier_text(replayed):
        print_line(to, "", earlier, "bold yellow")
    termination = replayed[-1].pod_termination if replayed else None
    known = refusals_in(replayed)
    if other and (refused := known.text(termination, unrefused_text(replayed, known))):
        print_line(to, "", refused, "bold yellow")
    for text in kubelet_texts(replayed):
        print_line(to, "", text, "bold yellow")
    if not different:
        return
    as_recorded = (
        "The readings after the first of them are as recorded: what another decision leads to is not in a journal."
    )
    changed = (
        "Another version or policy wrote this journal, or it was changed: with the same rules each entry is equal."
    )
    print_line(to, "", as_recorded if other else changed)


def replay_document(replayed: Sequence[Replayed], unknown: Unknown, *, other: bool) -> Document:
    """Make the document of a replay: what was recorded and what is decided now, for every entry."""
    end, readings = _end_of_course(replayed) if other else (None, "")
    return {
        "apiVersion": API_VERSION,
        "kind": "Replay",
        "different": sum(not one.same for one in replayed),
        "unrecorded": list(unknown.may_act),
        "victims": victims_text(replayed, unknown),
        "differsFromKubelet": list(kubelet_texts(replayed)),
        "refused": [{"wall": wall, "pod": pod} for (wall, _), pod in refusals_in(replayed).refused.items()],
        "entries": [
            {
                "wall": one.entry.wall,
                "same": one.same,
                "readings": readings if end is not None and index > end else "",
                "recorded": list(one.entry.decisions),
                "decided": list(one.decided),
                "metEarlier": [
                    {"threshold": each.threshold, "seconds": round(each.seconds, 1)}
                    for each in met_earlier(one.entry, one.step.findings)
                ],
            }
            for index, one in enumerate(replayed)
        ],
    }
