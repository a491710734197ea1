"""Journal entries that were decided again, as text and as a document."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from evictd.codec.decision import decode_decision, encode_decision
from evictd.codec.journal import JournalEntry
from evictd.core.frozen import frozen
from evictd.core.model.state import Step
from evictd.errors import InputError
from evictd.render.console import print_line
from evictd.render.documents import API_VERSION, Document
from evictd.render.sentences import decision_text
from evictd.render.text import clean

if TYPE_CHECKING:
    from rich.console import Console

Plain = Mapping[str, Any]


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


def print_replayed(replayed: Sequence[Replayed], to: "Console", *, other: bool) -> None:
    """Print the entries that came out differently, and how many."""
    different = [one for one in replayed if not one.same]
    for one in different:
        to.print(f"at {clean(one.entry.wall)}", style="bold cyan")
        for decision in without_wait(one.entry.decisions):
            print_line(to, "  - then: ", recorded_text(decision))
        for fresh in one.step.decisions[:-1]:
            print_line(to, "  + now:  ", decision_text(fresh), "bold")
        if len(one.step.decisions) == 1:
            print_line(to, "  + now:  ", "nothing", "bold")
    would = "would have been decided differently" if other else "are decided differently"
    verdict = f"{len(replayed)} entries, {len(different)} {would}"
    to.print(verdict, style="bold yellow" if different else "bold green")


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
