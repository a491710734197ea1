"""Tables of a simulation, a node and a ranking for a terminal of 80 columns or more.

Everything that a colour shows is also in words. rich is imported when a table is made.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING

from evictd.core.frozen import frozen
from evictd.core.model.config import EvictionConfig, Policy
from evictd.core.model.decision import EvictPod, ReclaimNode, Wait
from evictd.core.model.finding import (
    Finding,
    RankedPod,
    Ranking,
    SignalUnobserved,
    StatsMissing,
    ThresholdFinding,
)
from evictd.core.model.observation import Observation
from evictd.core.model.signal import RESOURCES, SIGNALS, STALLS, NodeCondition, Resource, Signal
from evictd.core.model.threshold import Threshold
from evictd.core.units.approximate import bytes_text
from evictd.core.units.quantity import NANO
from evictd.render.attribution import attribution_lines
from evictd.render.console import print_line
from evictd.render.documents import TOP_ROWS
from evictd.render.node_view import NodeView, PlacedRow, placed_rows
from evictd.render.sentences import changes_nothing, decision_text, finding_text
from evictd.render.simulation.conclusion import conclusion
from evictd.render.simulation.steps import copies, folded, folded_text, nearest_text
from evictd.render.stop_reason import no_action_text
from evictd.render.text import (
    amount_text,
    clean,
    conditions_text,
    distance,
    duration_text,
    first_of,
    gap_text,
    kind_text,
    not_of_pods_text,
    pod_name,
    protection,
    signal_quantity,
    standing,
)
from evictd.simulation import SimulatedCycle, Turn

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

_FLEXIBLE = frozenset({"POD", "WHY", "STANDING", "SOURCE"})
"""Columns that may run over more than one line."""
_RANKING_COLUMNS, _LEAST_REASON = 37, 22
"""Columns that the numbers of a ranking take, and that its reason needs beside them."""
_WIDE = 110
"""Terminal width in columns from which a signal's source stands beside its numbers."""
_SHOWN_AROUND = 3
"""Rows of a ranking in a simulation: the victim and the next ones."""
DEDUCED = "?: deduced from the container runtime; no API server, kubelet or static manifest told the pod's spec"
"""The line below rankings with amounts of pods whose spec is not known."""


@frozen
class TableView:
    """Settings of the tables: `everything` keeps calm derived thresholds and every row of a ranking."""

    config: EvictionConfig
    everything: bool = False
    decided_by: str = ""
    """What is said to decide; if it is empty, the policy."""
    recorded: EvictionConfig | None = None
    """The configuration by which the readings were recorded."""


def _table(*columns: str) -> "Table":
    """Make a table without lines; a column whose name ends in `>` is aligned to the right."""
    from rich.table import Table  # noqa: PLC0415

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for column in columns:
        name = column.removesuffix(">")
        right = "right" if column.endswith(">") else "left"
        table.add_column(name, justify=right, overflow="fold", no_wrap=column not in _FLEXIBLE)  # type: ignore[arg-type]
    return table


# --- a simulation -----------------------------------------------------------------------------------------------------


def print_simulation(name: str, cycles: Sequence[SimulatedCycle], view: TableView, to: "Console") -> None:
    """Print every step: the reading, the thresholds met, what was reclaimed, the pods evicted and why in this order.

    Steps in which nothing new happens take one line, unless everything is asked for (`steps`). Then the tables have every
    threshold, as that of the first step has; else those that are met. The conclusion comes last.
    """
    decided_by = clean(view.decided_by) or f"policy {view.config.policy.value}"
    to.print(f"{clean(name) or 'scenario'}: decided by {decided_by}", style="bold")
    before: SimulatedCycle | None = None
    for in_one_line, group in folded(cycles):
        if in_one_line and not view.everything:
            to.print()
            until = "" if len(group) == 1 else f" to {duration_text(group[-1].at)}"
            print_line(to, f"{duration_text(group[0].at)}{until}   ", folded_text(group, before), "dim")
            before = group[-1]
            continue
        for cycle in group:
            to.print()
            print_cycle(cycle, view, to, before)
            before = cycle
    if len(cycles) > 1:
        to.print()
        to.print("conclusion", style="bold")
        for sentence in conclusion(cycles, view.recorded):
            print_line(to, "  ", sentence)


def print_cycle(cycle: SimulatedCycle, view: TableView, to: "Console", last: SimulatedCycle | None) -> None:
    """Print one step, with every threshold where there is no step before it."""
    from rich.text import Text  # noqa: PLC0415

    before = None if last is None else last.turns[-1]
    conditions = conditions_text(cycle.state.node_conditions)
    heading = Text.assemble((f"at {duration_text(cycle.at)}", "bold cyan"), "   conditions: ")
    heading.append(conditions, style="bold yellow" if cycle.state.node_conditions else "")
    heading.append(f"   phase: {cycle.state.activity.value}")
    to.print(heading)
    for number, turn in enumerate(cycle.turns):
        if number:
            to.print("  after node-level reclaim", style="dim")
        _print_thresholds(turn, view, to, first=last is None)
        _print_turn(turn, before, view, to)
        before = turn
    for pod, answer in cycle.admissions:
        verdict = "admitted" if answer.admitted else f"rejected: {answer.message.strip()}"
        to.print(f"  admission: {pod_name(pod)} {verdict}")


def _print_thresholds(turn: Turn, view: TableView, to: "Console", *, first: bool) -> None:
    from rich.padding import Padding  # noqa: PLC0415

    thresholds = [finding for finding in turn.step.findings if isinstance(finding, ThresholdFinding)]
    repeated = _left_out(turn, view)
    own = [finding for finding in thresholds if finding.threshold not in repeated]
    shown = [finding for finding in own if view.everything or first or finding.is_short]
    if shown:
        to.print(Padding(_threshold_table(shown, turn.observation), (0, 0, 0, 2), expand=False))
    if first and repeated:
        names = ", ".join(each.threshold.signal.value for each in thresholds if each.threshold in repeated)
        to.print(Padding(f"derived, the same: {names}", (0, 0, 0, 2), expand=False), style="dim")
    nearest = nearest_text((None, each) for each in own if each not in shown)
    if nearest:
        print_line(to, "  ", f"of the others {nearest}" if shown else f"no threshold met; {nearest}", "dim")


def _left_out(turn: Turn, view: TableView) -> frozenset[Threshold]:
    """Return the thresholds that are named once, because they repeat another one."""
    return frozenset() if view.everything else copies(turn.step.findings)


def _print_turn(turn: Turn, before: Turn | None, view: TableView, to: "Console") -> None:
    from rich.padding import Padding  # noqa: PLC0415

    findings = turn.step.findings
    for ranking in (finding for finding in findings if isinstance(finding, Ranking)):
        to.print(Padding(_short_ranking(ranking, view, to.width - 2), (0, 0, 0, 2), expand=False))
    for line, style in _lines(turn, before, view):
        print_line(to, f"  {line[:2]}", line[2:], style)


def _threshold_table(findings: Sequence[ThresholdFinding], observation: Observation) -> "Table":
    table = _table("SIGNAL", "AVAILABLE>", "THRESHOLD>", "DISTANCE>", "STANDING")
    _add_thresholds(table, findings, observation)
    return table


def _add_thresholds(
    table: "Table",
    findings: Iterable[ThresholdFinding],
    observation: Observation,
    sources: Mapping[Signal, str] | None = None,
) -> None:
    """Add a row for each threshold, with the source of its numbers where `sources` are given."""
    # Where both are there, `observe.live` read another directory than the daemon does.
    troubled = {problem.source for problem in observation.problems}
    for finding in findings:
        signal = finding.threshold.signal
        filesystem = SIGNALS[signal].filesystem
        unread = filesystem is not None and filesystem.value in troubled
        *amounts, stands = _threshold_cells(finding)
        if unread:
            stands = f"{kind_text(finding.threshold)}: a daemon could not read it"
        source = () if sources is None else (clean(sources.get(signal, "")),)
        table.add_row(*amounts, stands, *source, style="yellow" if finding.is_short or unread else "")


def _threshold_cells(finding: ThresholdFinding) -> tuple[str, str, str, str, str]:
    threshold = finding.threshold
    gap = gap_text(distance(finding), threshold.signal)
    limit = signal_quantity(finding.limit, threshold.signal)
    if threshold.value.quantity is None:
        limit = f"{threshold.value} {limit}"
    return (
        threshold.signal.value,
        signal_quantity(finding.available, threshold.signal) + (" stalled" if threshold.signal in STALLS else ""),
        limit,
        gap if gap.startswith("-") else f"+{gap}",
        f"{kind_text(threshold)}: {standing(finding)}",
    )


def _lines(turn: Turn, before: Turn | None, view: TableView) -> Iterator[tuple[str, str]]:
    """Yield the sentences of a reading with their styles: the evidence first, the decisions last."""
    findings, blind = turn.step.findings, _blind(turn)
    repeated = _left_out(turn, view)
    conditions: tuple[NodeCondition, ...] = () if before is None else before.step.state.node_conditions
    if blind and (view.everything or before is None or blind != _blind(before)):
        yield _unobserved(blind), "dim"
    known = (
        frozenset() if before is None or view.everything else frozenset(p.source for p in before.observation.problems)
    )
    for problem in turn.observation.problems:
        if problem.source not in known:
            yield f"- {clean(problem.source)}: {clean(problem.detail)}", "dim"
    for finding in findings:
        said = isinstance(finding, ThresholdFinding | Ranking | SignalUnobserved)
        if not said and getattr(finding, "threshold", None) not in repeated:
            yield f"- {_say(finding, view)}", ""
    for decision in turn.step.decisions:
        if isinstance(decision, EvictPod):
            yield f"> {decision_text(decision)}", "bold red"
        elif isinstance(decision, ReclaimNode):
            yield f"> {decision_text(decision)}", "bold green"
        elif not (isinstance(decision, Wait) or changes_nothing(decision, conditions)):
            yield f"> {decision_text(decision, conditions)}", "bold"


def _blind(turn: Turn) -> tuple[Signal, ...]:
    return tuple(finding.signal for finding in turn.step.findings if isinstance(finding, SignalUnobserved))


def _unobserved(signals: Iterable[Signal]) -> str:
    return f"- no observation of {', '.join(dict.fromkeys(signal.value for signal in signals))}"


def _say(finding: Finding, view: TableView) -> str:
    text = finding_text(finding, view.config)
    if isinstance(finding, StatsMissing):
        standard = view.config.policy is Policy.STANDARD
        text += "; ranked last of their priority" if standard else "; ranked before all others"
    return text


# --- rankings ---------------------------------------------------------------------------------------------------------


def _short_ranking(ranking: Ranking, view: TableView, width: int) -> "Table":
    """Show the head of a ranking as far as the first evictable pod, and the ones after it."""
    first = next((i for i, row in enumerate(ranking.rows) if not protection(row.pod, view.config)), 0)
    return ranking_table(ranking.rows, ranking.resource, view, width=width, limit=min(first + _SHOWN_AROUND, TOP_ROWS))


def ranking_table(
    rows: Sequence[RankedPod],
    resource: Resource,
    view: TableView,
    *,
    width: int,
    limit: int = TOP_ROWS,
    passed_over: Mapping[str, str] | None = None,
) -> "Table":
    """Show pods in the order of eviction with their ranking keys and the key that puts each before the next.

    `passed_over` has the reasons, by uid, of pods that would not be evicted although they rank before the victim.
    Where rows do not fit on `width` columns, their numbers and reasons stand below the names, which are never folded.
    """
    from rich.console import Group  # noqa: PLC0415 - only tables need it
    from rich.padding import Padding  # noqa: PLC0415

    shown = placed_rows(rows, resource, view.config, None if view.everything else limit)
    skipped = passed_over or {}
    places = accumulate(int(not each.protected) for each in shown)
    cells = [
        _row_cells(number, each, resource, passed_over=skipped.get(each.row.uid, ""))
        for number, each in zip(places, shown, strict=True)
    ]
    names = max((len(row[1]) for row in cells), default=0)
    beside = names + _RANKING_COLUMNS + _LEAST_REASON <= width
    table = _table(*(("RANK>", "POD", "PRIORITY>", "USAGE>", "REQUEST>", "WHY") if beside else ("RANK>", "POD")))
    for rank, name, priority, usage, request, why in cells:
        if beside:
            table.add_row(rank, name, priority, usage, request, why)
        else:
            numbers = f"priority {priority}, usage {usage}, request {request}: {why}"
            table.add_row(rank, Group(name, Padding(numbers, (0, 0, 0, 2))))
    if len(shown) < len(rows):
        table.add_row("", f"and {len(rows) - len(shown)} more (--all)", style="dim")
    return table


def _row_cells(
    number: int, placed: PlacedRow, resource: Resource, *, passed_over: str
) -> tuple[str, str, str, str, str, str]:
    row, guarded, why, _ = placed
    deduced = "" if row.pod.spec_known else "?"
    request = amount_text(-(-row.request // NANO), resource) + deduced
    return (
        "-" if guarded else str(number),
        pod_name(row.pod),
        f"{row.priority}{deduced}",
        amount_text(row.usage, resource),
        "-" if not RESOURCES[resource].requested else request,
        f"protected ({guarded}); {why}" if guarded else f"{why}; passed over: {passed_over}" if passed_over else why,
    )


# --- one reading, explained -------------------------------------------------------------------------------------------


def print_explanation(explained: NodeView, view: TableView, to: "Console") -> None:
    """Print each signal with its distance to the threshold, then for each shortage the pods in the order of eviction."""
    conditions = conditions_text(explained.state.node_conditions)
    to.print(f"{clean(explained.title)}: policy {view.config.policy.value}, conditions: {conditions}", style="bold")
    beside = bool(explained.sources) and to.width >= _WIDE
    to.print(_signal_table(explained, sources=beside))
    if explained.sources and not beside:
        for signal in dict.fromkeys(finding.threshold.signal for finding in explained.thresholds):
            to.print(f"  {signal.value}: {clean(explained.sources.get(signal, ''))}", style="dim")
    if explained.unobserved:
        print_line(to, "- ", _unobserved(explained.unobserved).removeprefix("- "), "yellow")
    leaving = [clean(each.full_name) for each in explained.state.in_flight if each.gone_at is None]
    if leaving:
        print_line(to, "", f"being evicted, and in no order below: {first_of(leaving, 5)}", "bold")
    to.print()
    if not explained.observation.pods:
        unknown = "the pods are unknown: no container runtime answers"
        unknown += " (`evictd simulate FILE` needs none)" if explained.sources else ""
        print_line(to, "", unknown if explained.observation.pods_unknown else "there are no pods", "bold")
    else:
        _print_queues(explained, view, to)
    notes = [_say(note, view) for note in explained.notes]
    notes += [f"{clean(p.source)}: {clean(p.detail)}" for p in explained.observation.problems]
    if notes or explained.oom_scores or explained.memory_qos:
        to.print()
    for note in notes:
        print_line(to, "- ", note, "dim")
    for score in explained.oom_scores:
        container = f"{pod_name(score.pod)} {clean(score.container)}"
        print_line(to, "- ", f"oom_score_adj of {container} is {score.found}, documented is {score.expected}")
    for each in explained.memory_qos:
        found, expected = ("max" if value is None else bytes_text(value) for value in (each.found, each.expected))
        print_line(to, "- ", f"{each.file} of {clean(each.subject)} is {found}, documented is {expected}")


def _signal_table(explained: NodeView, *, sources: bool) -> "Table":
    table = _table("SIGNAL", "AVAILABLE>", "THRESHOLD>", "DISTANCE>", "STANDING", *(["SOURCE"] if sources else []))
    _add_thresholds(table, explained.thresholds, explained.observation, explained.sources if sources else None)
    return table


def _print_queues(explained: NodeView, view: TableView, to: "Console") -> None:
    for number, queue in enumerate(explained.queues):
        if number:
            to.print()
        signals = ", ".join(signal.value for signal in queue.signals)
        first = "no pod would be evicted" if queue.victim is None else f"next would be {pod_name(queue.victim.pod)}"
        if queue.stop is not None and queue.stop not in explained.notes:
            first += f": {no_action_text(queue.stop)}"
        to.print(f"{signals}: {first}", style="bold")
        if queue.not_of_pods:
            to.print(not_of_pods_text(queue.not_of_pods, queue.resource), style="dim")
        for line in () if queue.held is None else attribution_lines(queue.held, explained.wall):
            to.print(line, style="dim")
        if queue.rows:
            to.print(ranking_table(queue.rows, queue.resource, view, width=to.width, passed_over=queue.passed_over))
    if not all(row.pod.spec_known for queue in explained.queues for row in queue.rows):
        print_line(to, "", DEDUCED, "dim")
