"""Journal entries that were decided again, as text and as a document."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Any

from evictd.codec.decision import decode_decision, encode_decision
from evictd.codec.journal import JournalEntry
from evictd.core.frozen import frozen
from evictd.core.model.decision import Wait
from evictd.core.model.state import Step
from evictd.errors import InputError
from evictd.render.console import print_line
from evictd.render.documents import API_VERSION, Document
from evictd.render.sentences import decision_text
from evictd.render.text import clean

if TYPE_CHECKING:
    from rich.console import Console

Plain = Mapping[str, Any]
_ALIKE = 0.5
"""Least share of common words of two sentences whose difference is shown word by word."""
_MARKS = "(),;:"


@frozen
class Replayed:
    """One entry, decided again."""

    entry: JournalEntry
    step: Step
    same: bool


def plain_decisions(step: Step) -> list[Plain]:
    """Return the decisions as a journal line has them."""
    plain: list[Plain] = json.loads(json.dumps([encode_decision(decision) for decision in step.decisions]))
    return plain


def without_wait(decisions: Iterable[Plain]) -> list[Plain]:
    """Leave out the `Wait` at the end of every step: the time of the next cycle is no decision about the node."""
    return [decision for decision in decisions if decision.get("kind") != "Wait"]


def recorded_text(decision: Plain) -> str:
    """Write a recorded decision on one line; of a damaged one only its kind."""
    try:
        return decision_text(decode_decision(decision))
    except InputError:
        return clean(str(decision.get("kind")))


def _decided_texts(step: Step) -> list[str]:
    return [decision_text(decision) for decision in step.decisions if not isinstance(decision, Wait)]


def _recorded_texts(entry: JournalEntry) -> list[str]:
    return [recorded_text(decision) for decision in without_wait(entry.decisions)]


def decided_alike(entry: JournalEntry, step: Step) -> bool:
    """Whether the same was recorded: the words are equal, and so is each field that both have. An older evictd left out some."""
    now, then = without_wait(plain_decisions(step)), without_wait(entry.decisions)
    return now == then or (_decided_texts(step) == _recorded_texts(entry) and _agree(now, then))


def _agree(now: object, then: object) -> bool:
    """Whether two plain values are equal but for fields that only one of them has."""
    if isinstance(now, Mapping) and isinstance(then, Mapping):
        return all(_agree(now[name], then[name]) for name in now.keys() & then.keys())
    if isinstance(now, list | tuple) and isinstance(then, list | tuple):
        return len(now) == len(then) and all(map(_agree, now, then))
    return now == then


def _changed_words(then: str, now: str) -> str:
    """Return the words in which two sentences differ; empty where they have little in common."""
    old, new = then.split(), now.split()
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    if matcher.ratio() < _ALIKE:
        return ""
    changed = [
        f"{' '.join(old[a:b]).strip(_MARKS) or 'nothing'} -> {' '.join(new[c:d]).strip(_MARKS) or 'nothing'}"
        for kind, a, b, c, d in matcher.get_opcodes()
        if kind != "equal"
    ]
    return ", ".join(changed)


def _changed_fields(one: Replayed) -> Iterator[str]:
    """Return the fields that differ where the sentences are equal, because a sentence rounds or leaves them out."""
    for now, then in zip(without_wait(plain_decisions(one.step)), without_wait(one.entry.decisions), strict=True):
        for name in sorted(now.keys() & then.keys()):
            if not _agree(now[name], then[name]):
                yield f"{name} of {now['kind']}: {json.dumps(then[name])} -> {json.dumps(now[name])}"


def _print_difference(one: Replayed, to: "Console") -> None:
    """Print the decisions that are not on both sides, and in which words those of a pair differ."""
    then, now = _recorded_texts(one.entry), _decided_texts(one.step)
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
    if len(only_then) == len(only_now) == 1 and (words := _changed_words(only_then[0], only_now[0])):
        print_line(to, "  differs: ", words)


def print_replayed(replayed: Sequence[Replayed], to: "Console", *, other: bool) -> None:
    """Print the entries that came out differently, and how many."""
    different = [one for one in replayed if not one.same]
    for one in different:
        to.print(f"at {clean(one.entry.wall)}", style="bold cyan")
        _print_difference(one, to)
    verb = "is" if len(different) == 1 else "are"
    would = "would have been decided differently" if other else f"{verb} decided differently"
    entries = "1 entry" if len(replayed) == 1 else f"{len(replayed)} entries"
    verdict = f"{entries}, {len(different)} {would}"
    to.print(verdict, style="bold yellow" if different else "bold green")
    if different and other:
        to.print(
            "The readings after the first of them are as recorded: what another decision leads to is not in a journal."
        )
    if different and not other:
        to.print(
            "Another version or policy wrote this journal, or it was changed: with the same rules each entry is equal."
        )


def replay_document(replayed: Sequence[Replayed]) -> Document:
    """Make the document of a replay: what was recorded and what is decided now, for every entry."""
    return {
        "apiVersion": API_VERSION,
        "kind": "Replay",
        "different": sum(not one.same for one in replayed),
        "entries": [
            {
                "wall": one.entry.wall,
                "same": one.same,
                "recorded": list(one.entry.decisions),
                "decided": plain_decisions(one.step),
            }
            for one in replayed
        ],
    }
