"""Shows a world that was played with several configurations: what each did at which time, and each conclusion."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, zip_longest
from typing import TYPE_CHECKING

from evictd.core.eviction.refusals.eviction_method import choose_eviction_method
from evictd.core.model.config import EvictionMethod, MemoryFormula, Policy, memory_formula
from evictd.core.model.decision import EvictPod, ReclaimNode
from evictd.core.model.finding import ThresholdFinding
from evictd.core.model.signal import MEMORY_SIGNALS, Signal
from evictd.core.units.approximate import bytes_text
from evictd.core.units.duration import MILLISECOND
from evictd.render.console import print_line
from evictd.render.documents import API_VERSION, Document
from evictd.render.kubelet_caveats import kubelet_caveats
from evictd.render.sentences import brief_text
from evictd.render.simulation.grace import graces_differ
from evictd.render.simulation.met_at_start import evictions_met_at_start
from evictd.render.simulation.worlds.by_itself import ended_by_itself
from evictd.render.simulation.worlds.outlook import played_on_text
from evictd.render.simulation.worlds.shortages import shortage_texts
from evictd.render.simulation.worlds.world_outcome import PlayedWorld, expectation_texts, of_no_use, played_text
from evictd.render.simulation.worlds.world_relief import NEEDED_EARLIER
from evictd.render.simulation.worlds.world_view import MOST_LINES, folded_lines, new_decisions, refused_again
from evictd.render.text import clean, clock, counted, duration_text, first_of
from evictd.world.account import OOM_KILLED, Verdict
from evictd.world.lifecycle import EvictionRefused
from evictd.world.loop import Run
from evictd.world.next_eviction import PlayedOn

if TYPE_CHECKING:
    from rich.console import Console


_SAME = {each.value: Signal.MEMORY_AVAILABLE.value for each in MEMORY_SIGNALS}
"""Signals that one shortage meets: which of them is met first decides nothing."""


def print_worlds(
    title: str,
    sides: Sequence[PlayedWorld],
    to: "Console",
    *,
    everything: bool = False,
    played_on: Sequence[PlayedOn | None] = (),
    head: Sequence[str] = (),
) -> None:
    """Print the head and several configurations side by side: what each did at which time, then each conclusion.

    `played_on` is the first eviction of each one that was played on beyond its end; empty where none was.
    """
    from rich.table import Table  # noqa: PLC0415

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("at", no_wrap=True)
    for side in sides:
        table.add_column(clean(side.name), overflow="fold")
    grace = graces_differ([[each for cycle in side.run.cycles for each in cycle.step.decisions] for side in sides])
    columns = [_by_time(side.run, grace=grace) for side in sides]
    rows = [
        (times[0], ["\n".join(text for at in times for text in column.get(at, ())) or "-" for column in columns])
        for times in _alike({at for column in columns for at in column})
    ]
    texts = [(at, "\t".join(cells)) for at, cells in rows]
    found: list[int | str] = [*range(len(rows))] if everything else [*folded_lines(texts)]
    shown = found if everything else found[:MOST_LINES]
    for each in shown:
        at, cells = (None, [each, *[""] * (len(sides) - 1)]) if isinstance(each, str) else rows[each]
        table.add_row("" if at is None else clock(at), *cells)
    print_line(to, "", clean(title), "bold")
    for text in head:
        print_line(to, "  ", text)
    if rows:
        to.print(table)
    if len(shown) < len(found):
        to.print(f"{len(found) - len(shown)} more lines; --all shows them")
    for side, after in zip_longest(sides, played_on[: len(sides)]):
        to.print()
        to.print(_headline(side), style="bold")
        for sentence in played_text(side):
            print_line(to, "", sentence)
        if after is not None:
            print_line(to, "", f"If it goes on like this: {played_on_text(after)}.")
        for sentence in expectation_texts(side):
            print_line(to, "", sentence)
    to.print()
    for sentence in (*_earlier_texts(sides), *shortage_texts(sides), *_measures_texts(sides)):
        print_line(to, "", sentence)
    for sentence in _kubelet_texts([side.run for side in sides if side.run.config.policy is Policy.KUBELET]):
        print_line(to, "", sentence)


def _alike(times: Iterable[int]) -> Iterator[list[int]]:
    """Yield the times that are shown alike together: else an action of both sides would look as if each lacked it."""
    yield from ([*each] for _, each in groupby(sorted(times), clock))


def _kubelet_texts(runs: Sequence[Run]) -> Iterator[str]:
    """Write in what a run under policy Kubelet differs from a kubelet."""
    servers = [run.world.api_server for run in runs if run.world.api_server.budgets]
    methods = [choose_eviction_method(each.termination, hard=False, kubelet=each.kubelet) for each in servers]
    yield from kubelet_caveats(
        looks_sooner=any(run.world.watch for run in runs), asks_budgets=EvictionMethod.EVICTION_API in methods
    )


_VERDICTS = {Verdict.CULPRIT: "as the cause", Verdict.NEEDED: "needed for relief", Verdict.INNOCENT: "innocent"}


def _headline(side: PlayedWorld) -> str:
    """Write the outcome in one line: pods lost and what each was, how long the node was short, kills for want of memory."""
    account, by_itself = side.account, ended_by_itself(side.run, side.account, side.unattended)
    lost = f"{clean(side.name)}: {counted(len(account.losses), 'pod')} lost"
    if account.losses:
        killed = sum(each.cause == OOM_KILLED for each in account.losses)
        lost += f" ({killed} killed by the kernel)" if killed else ""
        useless = [each for each in account.losses if of_no_use(each, side.run, account)]
        # Innocents are those that `expect.innocents` counts, of use or not.
        verdicts = [each.verdict for each in account.losses if each not in useless or each.verdict is Verdict.INNOCENT]
        words = {**_VERDICTS, Verdict.NEEDED: NEEDED_EARLIER} if by_itself else _VERDICTS
        lost += f": {', '.join(f'{verdicts.count(verdict)} {word}' for verdict, word in words.items())}"
        in_vain = sum(each.verdict is Verdict.NEEDED for each in useless)
        lost += f", {in_vain} needed in vain" if in_vain else ""
        if leaving := verdicts.count(Verdict.LEAVING):
            lost += f", {leaving} being deleted already"
    if at_start := 0 if side.from_reading else evictions_met_at_start(side.run).total():
        lost += f", {counted(at_start, 'eviction')} for a threshold met from the start"
    lost += ", the shortage would have ended by itself" if by_itself else ""
    ran_out = "".join(f", nothing left of {signal.value} at {clock(at)}" for signal, at in side.run.ran_out.items())
    return f"{lost}, short for {duration_text(account.short)}, {counted(len(side.run.kills), 'OOM kill')}{ran_out}"


def _by_time(run: Run, *, grace: bool) -> dict[int, list[str]]:
    """Return the evictions and reclaims by time; of the requests to evict one pod that are refused only the first."""
    column: dict[int, list[str]] = {}
    again = refused_again(run)
    refused = {(each.at, each.event.uid) for each in run.happened if isinstance(each.event, EvictionRefused)}
    for cycle in run.cycles:
        for decision in new_decisions(cycle, again):
            if isinstance(decision, EvictPod | ReclaimNode):
                answer = (
                    ": refused" if isinstance(decision, EvictPod) and (cycle.at, decision.pod.uid) in refused else ""
                )
                column.setdefault(cycle.at, []).append(brief_text(decision, grace=grace) + answer)
    return column


def _earlier_texts(sides: Sequence[PlayedWorld]) -> Iterator[str]:
    """Write who acted first for each signal: a configuration may be early for one and late for another."""
    found = {clean(side.name): _first_actions(side.run) for side in sides}
    if idle := [name for name, first in found.items() if not first]:
        yield f"No action: {', '.join(idle)}."
        return
    for label in dict.fromkeys(each for first in found.values() for each in first):
        acting = [(first[label], name) for name, first in found.items() if label in first]
        (first, name), (last, _) = min(acting), max(acting)
        if len(acting) < len(found):
            others = ", ".join(other for other in found if other != name)
            yield f"First action for {label}: {name}, at {clock(first)}; none with {others}."
        elif last - first < MILLISECOND:
            yield f"First action for {label}: both at the same time."
        else:
            yield f"First action for {label}: {name}, {duration_text(last - first)} earlier."


def _first_actions(run: Run) -> dict[str, int]:
    """Return the time of the first eviction or reclaim by signal, the two of memory as one, or by the limit of a pod."""
    first: dict[str, int] = {}
    for cycle in run.cycles:
        for each in cycle.step.decisions:
            if isinstance(each, EvictPod | ReclaimNode):
                label = each.because.signal_label if isinstance(each, EvictPod) else each.threshold.signal.value
                first.setdefault(_SAME.get(label, label), cycle.at)
    return first


def _measures_texts(sides: Sequence[PlayedWorld]) -> Iterator[str]:
    """Write why the same amount of memory is left later on one side: its formula counts what no process can allocate."""
    unusable = sides[0].run.world.node.unusable_memory
    by_formula: dict[bool, list[PlayedWorld]] = {True: [], False: []}
    for side in sides:
        by_formula[memory_formula(side.run.config) is MemoryFormula.WORKING_SET].append(side)
    last, first = by_formula[True], by_formula[False]
    if unusable and last and first and min(map(_memory_met_at, last)) > max(map(_memory_met_at, first)):
        later, earlier = ([clean(side.name) for side in found] for found in (last, first))
        yield (
            f"{first_of(later)} counts the {bytes_text(unusable)} that no process can allocate (`node.unusableMemory`) as "
            f"available memory and {first_of(earlier)} does not, so for {first_of(later)} a threshold is met later."
        )


def _memory_met_at(side: PlayedWorld) -> int:
    """Return when a threshold for memory was met first, or a time after the end where none was."""
    return next(
        (
            cycle.at
            for cycle in side.run.cycles
            for each in cycle.step.findings
            if isinstance(each, ThresholdFinding) and each.met and each.threshold.signal in MEMORY_SIGNALS
        ),
        side.run.world.duration + 1,
    )


def worlds_document(title: str, sides: Sequence[Document]) -> Document:
    """Make the document of a comparison, of the document of each configuration."""
    return {"apiVersion": API_VERSION, "kind": "WorldComparison", "name": title, "configurations": [*sides]}
