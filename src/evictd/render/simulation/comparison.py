"""Two configurations over the same readings, side by side: what each would have done at each time."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from evictd.core.frozen import frozen
from evictd.core.model.config import EvictionConfig
from evictd.core.model.decision import EvictPod, ReclaimNode, begun_evictions
from evictd.core.units.duration import format_duration
from evictd.render.console import print_line
from evictd.render.documents import API_VERSION, Document
from evictd.render.sentences import brief_text, decision_text
from evictd.render.simulation.conclusion import conclusion
from evictd.render.simulation.grace import graces_differ
from evictd.render.text import clean, conditions_text, duration_text
from evictd.simulation import SimulatedCycle

if TYPE_CHECKING:
    from rich.console import Console


@frozen
class Side:
    """One configuration by its name, and what came of it."""

    name: str
    cycles: tuple[SimulatedCycle, ...]
    recorded: EvictionConfig | None = None
    """The configuration by which the readings were recorded."""

    def actions(self, number: int, text: Callable[[EvictPod | ReclaimNode], str] = decision_text) -> tuple[str, ...]:
        """Write what was done in a step: collections, evictions, and conditions where they change."""
        cycle = self.cycles[number]
        before = self.cycles[number - 1].state.node_conditions if number else ()
        texts = [text(each) for each in cycle.decisions if isinstance(each, EvictPod | ReclaimNode)]
        if cycle.state.node_conditions != before:
            texts.insert(0, f"conditions: {conditions_text(cycle.state.node_conditions)}")
        return tuple(texts)

    @property
    def evicted(self) -> tuple[tuple[int, str], ...]:
        """The time and the pod of each eviction."""
        return tuple(
            (cycle.at, each.pod.full_name) for cycle in self.cycles for each in begun_evictions(cycle.decisions)
        )


def comparison_document(name: str, sides: Sequence[Side]) -> Document:
    """Make the document of a comparison."""
    return {
        "apiVersion": API_VERSION,
        "kind": "Comparison",
        "name": name,
        "configurations": [
            {
                "name": side.name,
                "evicted": [{"at": format_duration(at), "pod": pod} for at, pod in side.evicted],
                "steps": [
                    {"at": format_duration(cycle.at), "actions": list(actions)}
                    for number, cycle in enumerate(side.cycles)
                    if (actions := side.actions(number))
                ],
                "conclusion": list(conclusion(side.cycles, side.recorded)),
            }
            for side in sides
        ],
    }


def print_comparison(name: str, sides: Sequence[Side], to: "Console") -> None:
    """Print a row for each time at which a configuration acts, with a column for each of them, and what came of each."""
    from rich.table import Table  # noqa: PLC0415 - only a table needs it

    table = Table(title=clean(name), box=None, pad_edge=False, padding=(0, 2, 0, 0), title_justify="left")
    table.add_column("at", no_wrap=True)
    for side in sides:
        table.add_column(clean(side.name), overflow="fold")
    grace = graces_differ([[each for cycle in side.cycles for each in cycle.decisions] for side in sides])
    for number, cycle in enumerate(sides[0].cycles):
        actions = [side.actions(number, partial(brief_text, grace=grace)) for side in sides]
        if any(actions):
            table.add_row(duration_text(cycle.at), *("\n".join(each) or "-" for each in actions))
    to.print(table if table.row_count else clean(name))
    for side in sides:
        to.print()
        to.print(clean(side.name), style="bold")
        for sentence in conclusion(side.cycles, side.recorded):
            print_line(to, "", sentence)
