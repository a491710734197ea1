"""How do a story, a node and a ranking look on a terminal?

Tables for people, at 80 columns and more, with or without colour: what colour says is said in words as well. rich is imported
here, when something is drawn, and nowhere else in this room.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evictd.core.config import EvictionConfig, Policy
from evictd.core.decision import (
    EvictPod,
    Finding,
    RankedPod,
    Ranking,
    ReclaimNode,
    SignalUnobserved,
    StatsMissing,
    ThresholdFinding,
    Wait,
)
from evictd.core.quantity import NANO
from evictd.core.signal import SIGNAL_TO_RESOURCE, Resource, Signal
from evictd.core.threshold import Origin
from evictd.offline.live import RUNTIME
from evictd.offline.next_up import Explanation, Queue
from evictd.offline.rehearse import Cycle, Turn
from evictd.offline.story import TOP_ROWS
from evictd.offline.words import (
    amount,
    clean,
    conditions_words,
    distance,
    goes_before,
    period,
    place_words,
    pod_name,
    protection,
    say_decision,
    say_finding,
    standing,
    units_words,
    value_words,
)

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

_FLEXIBLE = frozenset({"POD", "WHY", "STANDING", "SOURCE"})
"""Columns that may run over more than one line."""
_WIDE = 110
"""From so many columns on there is room for a signal's source beside its numbers."""
_SHOWN_AROUND = 3
"""Rows of a ranking in a story: the victim, and who would have been next."""


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """How much is shown: `everything` keeps calm derived thresholds and every row of a ranking."""

    config: EvictionConfig
    everything: bool = False


def _table(*columns: str) -> "Table":
    """Make a table without lines; a column whose name ends in `>` is aligned to the right."""
    from rich.table import Table  # noqa: PLC0415

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for column in columns:
        name = column.removesuffix(">")
        right = "right" if column.endswith(">") else "left"
        table.add_column(name, justify=right, overflow="fold", no_wrap=column not in _FLEXIBLE)  # type: ignore[arg-type]
    return table


# --- a story ----------------------------------------------------------------------------------------------------------


def print_story(name: str, cycles: Iterable[Cycle], view: View, to: "Console") -> None:
    """Print every step: what was seen, what was met, what was reclaimed, who was evicted and why in this order."""
    to.print(f"{clean(name) or 'scenario'}: decided by policy {view.config.policy.value}", style="bold")
    for cycle in cycles:
        to.print()
        print_cycle(cycle, view, to)


def print_cycle(cycle: Cycle, view: View, to: "Console") -> None:
    """Print one step."""
    from rich.text import Text  # noqa: PLC0415

    conditions = conditions_words(cycle.state.node_conditions)
    heading = Text.assemble((f"at {period(cycle.at)}", "bold cyan"), "   conditions: ")
    heading.append(conditions, style="bold yellow" if cycle.state.node_conditions else "")
    heading.append(f"   phase: {cycle.state.phase.name.value}")
    to.print(heading)
    for number, turn in enumerate(cycle.turns):
        if number:
            to.print("  after node-level reclaim", style="dim")
        _print_turn(turn, view, to)
    for pod, answer in cycle.admissions:
        verdict = "admitted" if answer.admitted else f"rejected: {answer.message.strip()}"
        to.print(f"  admission: {pod_name(pod)} {verdict}")


def _print_turn(turn: Turn, view: View, to: "Console") -> None:
    from rich.padding import Padding  # noqa: PLC0415

    findings = turn.step.findings
    thresholds = [finding for finding in findings if isinstance(finding, ThresholdFinding)]
    shown = [finding for finding in thresholds if view.everything or not _calm_copy(finding)]
    if shown:
        to.print(Padding(_threshold_table(shown), (0, 0, 0, 2), expand=False))
    if len(shown) < len(thresholds):
        calm = ", ".join(dict.fromkeys(f.threshold.signal.value for f in thresholds if f not in shown))
        to.print(Padding(f"calm: {calm}", (0, 0, 0, 2), expand=False), style="dim")
    for ranking in (finding for finding in findings if isinstance(finding, Ranking)):
        to.print(Padding(_short_ranking(ranking, view), (0, 0, 0, 2), expand=False))
    for line, style in _lines(turn, view):
        to.print(Padding(line, (0, 0, 0, 2), expand=False), style=style)


def _calm_copy(finding: ThresholdFinding) -> bool:
    """Whether this is the copy of another threshold, with nothing to tell."""
    return finding.threshold.origin is Origin.DERIVED and not finding.met and not finding.kept_by_min_reclaim


def _threshold_table(findings: Sequence[ThresholdFinding]) -> "Table":
    table = _table("SIGNAL", "AVAILABLE>", "THRESHOLD>", "DISTANCE>", "STANDING")
    for finding in findings:
        table.add_row(*_threshold_cells(finding), style="yellow" if finding.met or finding.kept_by_min_reclaim else "")
    return table


def _threshold_cells(finding: ThresholdFinding) -> tuple[str, str, str, str, str]:
    threshold = finding.threshold
    resource = SIGNAL_TO_RESOURCE[threshold.signal]
    gap = units_words(distance(finding), resource)
    kind = "hard" if threshold.hard else f"soft {period(threshold.grace_period)}"
    limit = amount(finding.limit, resource)
    if threshold.value.quantity is None:
        limit = f"{value_words(threshold.value)} {limit}"
    return (
        threshold.signal.value,
        amount(finding.available, resource),
        limit,
        gap if gap.startswith("-") else f"+{gap}",
        f"{kind}: {standing(finding)}",
    )


def _lines(turn: Turn, view: View) -> Iterator[tuple[str, str]]:
    """Give the sentences of a reading, each with its style: what was decided last, what it was decided on before."""
    findings = turn.step.findings
    blind = tuple(finding.signal for finding in findings if isinstance(finding, SignalUnobserved))
    if blind:
        yield _unobserved(blind), "dim"
    for finding in findings:
        if not isinstance(finding, ThresholdFinding | Ranking | SignalUnobserved):
            yield f"- {_say(finding, view)}", ""
    for decision in turn.step.decisions:
        if isinstance(decision, EvictPod):
            yield f"> {say_decision(decision)}", "bold red"
        elif isinstance(decision, ReclaimNode):
            yield f"> {say_decision(decision)}", "bold green"
        elif not isinstance(decision, Wait):
            yield f"> {say_decision(decision)}", "bold"


def _unobserved(signals: Iterable[Signal]) -> str:
    return f"- no observation of {', '.join(dict.fromkeys(signal.value for signal in signals))}"


def _say(finding: Finding, view: View) -> str:
    text = say_finding(finding, view.config)
    if isinstance(finding, StatsMissing):
        standard = view.config.policy is Policy.STANDARD
        text += "; ranked last of their priority" if standard else "; ranked before all others"
    return text


# --- rankings ---------------------------------------------------------------------------------------------------------


def _short_ranking(ranking: Ranking, view: View) -> "Table":
    """Show the head of a ranking as far as the first pod that may go, and who comes after it."""
    first = next((i for i, row in enumerate(ranking.rows) if not protection(row.pod, view.config)), 0)
    return ranking_table(ranking.rows, ranking.resource, view, limit=min(first + _SHOWN_AROUND, TOP_ROWS))


def ranking_table(rows: Sequence[RankedPod], resource: Resource, view: View, *, limit: int = TOP_ROWS) -> "Table":
    """Show pods in the order in which they would go, what each place is made of, and what puts it before the next."""
    table = _table("RANK>", "POD", "PRIORITY>", "USAGE>", "REQUEST>", "WHY")
    shown = rows if view.everything else rows[:limit]
    for index, row in enumerate(shown):
        following = rows[index + 1] if index + 1 < len(rows) else None
        table.add_row(*_row_cells(index, row, following, resource, view))
    if len(shown) < len(rows):
        table.add_row("", f"and {len(rows) - len(shown)} more (--all)", style="dim")
    return table


def _row_cells(
    index: int, row: RankedPod, following: RankedPod | None, resource: Resource, view: View
) -> tuple[str, str, str, str, str, str]:
    guarded = protection(row.pod, view.config)
    why = place_words(row, resource) if following is None else goes_before(row, following, resource)
    request = "?" if not row.pod.spec_known else units_words(-(-row.request // NANO), resource)
    return (
        str(index + 1),
        pod_name(row.pod),
        str(row.priority) if row.pod.spec_known else "?",
        units_words(row.usage, resource),
        "-" if resource is Resource.PIDS else request,
        f"protected ({guarded}); {why}" if guarded else why,
    )


# --- one reading, explained -------------------------------------------------------------------------------------------


def print_explanation(explained: Explanation, view: View, to: "Console") -> None:
    """Print each signal with its distance, then for each kind of shortage the pods in the order in which they would go."""
    conditions = conditions_words(explained.state.node_conditions)
    to.print(f"{clean(explained.title)}: policy {view.config.policy.value}, conditions: {conditions}", style="bold")
    beside = bool(explained.sources) and to.width >= _WIDE
    to.print(_signal_table(explained, sources=beside))
    if explained.sources and not beside:
        for signal in dict.fromkeys(finding.threshold.signal for finding in explained.thresholds):
            to.print(f"  {signal.value}: {clean(explained.sources.get(signal, ''))}", style="dim")
    if explained.unobserved:
        to.print(_unobserved(explained.unobserved), style="yellow")
    to.print()
    if not explained.observation.pods:
        blind = any(problem.source == RUNTIME for problem in explained.observation.problems)
        to.print("the pods are unknown without a container runtime" if blind else "there are no pods", style="bold")
    else:
        _print_queues(explained.queues, view, to)
    notes = [_say(note, view) for note in explained.notes]
    notes += [f"{clean(p.source)}: {clean(p.detail)}" for p in explained.observation.problems]
    if notes or explained.oom_scores:
        to.print()
    for note in notes:
        to.print(f"- {note}", style="dim")
    for score in explained.oom_scores:
        to.print(
            f"- oom_score_adj of {pod_name(score.pod)} {clean(score.container)} is {score.found}, documented is {score.expected}"
        )


def _signal_table(explained: Explanation, *, sources: bool) -> "Table":
    table = _table("SIGNAL", "AVAILABLE>", "THRESHOLD>", "DISTANCE>", "STANDING", *(["SOURCE"] if sources else []))
    for finding in explained.thresholds:
        source = [clean(explained.sources.get(finding.threshold.signal, ""))] if sources else []
        style = "yellow" if finding.met or finding.kept_by_min_reclaim else ""
        table.add_row(*_threshold_cells(finding), *source, style=style)
    return table


def _print_queues(queues: Sequence[Queue], view: View, to: "Console") -> None:
    for number, queue in enumerate(queues):
        if number:
            to.print()
        signals = ", ".join(signal.value for signal in queue.signals)
        candidate = queue.next_row(view.config)
        first = "nobody would go" if candidate is None else f"next would be {pod_name(candidate.pod)}"
        to.print(f"{signals}: {first}", style="bold")
        if queue.rows:
            to.print(ranking_table(queue.rows, queue.resource, view))
