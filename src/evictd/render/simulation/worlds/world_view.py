"""Shows a world that was played: a timeline, and a conclusion in sentences.

The timeline has a line for each thing that changed; cycles in which nothing did are left out.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

from evictd.core.frozen import frozen
from evictd.core.model.decision import Decision, EvictPod, ReclaimNode, ReportConditions
from evictd.core.model.finding import Finding, KeptAway, NoAction, NoActionReason, ThresholdFinding
from evictd.core.model.signal import MEMORY_SIGNALS, NodeCondition
from evictd.core.model.threshold import Origin
from evictd.core.units.approximate import bytes_text
from evictd.core.units.duration import SECOND, format_duration
from evictd.render.console import print_line
from evictd.render.deciding import reasons_of
from evictd.render.documents import API_VERSION, Document
from evictd.render.folding import Round, without_rounds
from evictd.render.sentences import changes_nothing, decision_text, kept_away_text
from evictd.render.simulation.steps import copies
from evictd.render.simulation.worlds.world_outcome import PlayedWorld, expectation_texts, of_no_use, played_text
from evictd.render.stop_reason import no_action_text
from evictd.render.text import clean, clock, counted, duration_text, left_text, signal_quantity
from evictd.simulation import SimulatedCycle, Turn
from evictd.world.account import Loss
from evictd.world.behaviours import OF_MEMORY, Usage
from evictd.world.kernel import OomKill
from evictd.world.lifecycle import Collected, EndCause, Event, EvictionRefused, PodArrival, PodEnd, RanOut
from evictd.world.loop import Run, WorldCycle
from evictd.world.tested import cycles_with_thresholds

if TYPE_CHECKING:
    from rich.console import Console

_HELD = {"memory": OF_MEMORY, "disk": (Usage.LAYER, Usage.LOGS, Usage.VOLUME)}
_REPLICA = re.compile(r"(?<=[a-z0-9])-\d+(?![\w.])")
"""The number of a replica: without it the same that happens to the next one, `leak-3` after `leak-2`, is equal."""
_BESIDE_A_DECISION = {
    NoActionReason.WAITING_FOR_VICTIM,
    NoActionReason.WAITING_FOR_RELEASE,
    NoActionReason.RECLAIM_SUFFICED,
}
_AMOUNT = re.compile(r"\b\d[\d.]*\w*")
_ANOTHER_INTERVAL = 2
"""Rounds that are more than this many times as far apart as others have no interval that a reader may assume."""
MOST_LINES = 60
"""Lines of a timeline that are shown unless all are asked for."""


@frozen
class TimelineEntry:
    """Something that changed at a time."""

    at: int
    text: str
    decided: bool = False
    """Whether evictd saw or decided it; else it happened on the node."""
    why: str = ""
    """Why this pod was evicted and not another, or a condition lasted longer than configured."""


# --- the timeline -----------------------------------------------------------------------------------------------------


def timeline(run: Run) -> list[TimelineEntry]:
    """Return the changes in order of time; decisions come before their effects at the same time.

    A pod is started before an eviction whose reading has it. Of the requests for one pod that are refused the first is shown.
    """
    again = refused_again(run)
    read = {
        (cycle.at, pod.full_name)
        for cycle in run.cycles
        if any(isinstance(each, EvictPod) for each in cycle.step.decisions)
        for pod in cycle.observation.pods
    }
    causes, effects = list[TimelineEntry](), list[TimelineEntry]()
    for each in run.happened:
        if isinstance(each.event, EvictionRefused) and (each.at, each.event.uid) in again:
            continue
        starts = isinstance(each.event, PodArrival) and (each.at, each.event.name) in read
        (causes if starts else effects).append(TimelineEntry(at=each.at, text=_event_text(each.event)))
    return sorted([*causes, *_decided(run, again), *effects], key=lambda line: line.at)


def refused_again(run: Run) -> frozenset[tuple[int, str]]:
    """Return time and uid of each refusal but the first of a pod."""
    refused = [(each.at, each.event.uid) for each in run.happened if isinstance(each.event, EvictionRefused)]
    first: dict[str, int] = {}
    for at, uid in refused:
        first.setdefault(uid, at)
    return frozenset((at, uid) for at, uid in refused if at != first[uid])


def _decided(run: Run, refused_again: Collection[tuple[int, str]]) -> Iterator[TimelineEntry]:
    met: dict[str, str] = {}
    reasons: frozenset[str] = frozenset()
    before: tuple[NodeCondition, ...] = ()
    kept: dict[NodeCondition, str] = {}
    evicted = False
    for cycle, tested in cycles_with_thresholds(run):
        now_met = {
            str(each.threshold): f"{each.threshold} is met{' early' if each.led else ''}, {_level_text(each)}"
            for each in tested
            if each.met and each.threshold.origin is not Origin.DERIVED
        }
        yield from (_line(cycle, text) for name, text in now_met.items() if name not in met)
        yield from (_line(cycle, f"{name} is not met any more") for name in met if name not in now_met)
        found = _reasons(cycle.step.findings)
        # That the reclaim was enough is no news once a pod was evicted.
        news = (each for each in found if not (evicted and each.why is NoActionReason.RECLAIM_SUFFICED))
        new = dict.fromkeys(_stop_text(each) for each in news if _key(each) not in reasons)
        yield from (_line(cycle, text) for text in new)
        why = reasons_of(cycle.step.decisions, cycle.step.findings)
        for decision in new_decisions(cycle, refused_again):
            shown = isinstance(decision, EvictPod | ReclaimNode | ReportConditions)
            if shown and not changes_nothing(decision, before):
                line = _line(cycle, decision_text(decision, before))
                if isinstance(decision, EvictPod):
                    line = replace(line, why=why.get(decision.pod.uid, ""))
                elif isinstance(decision, ReportConditions):
                    ended = (kept[each] for each in before if each in kept and each not in decision.conditions)
                    line = replace(line, why="; ".join(ended))
                yield line
        # A reason that is missing for one cycle is not news when it is back.
        before = cycle.step.state.node_conditions
        kept = {each.condition: kept_away_text(each) for each in cycle.step.findings if isinstance(each, KeptAway)}
        evicted = bool(now_met) and (evicted or bool(why))
        met, reasons = now_met, frozenset(map(_key, found)) | (reasons if now_met else frozenset())


def new_decisions(cycle: WorldCycle, refused_again: Collection[tuple[int, str]]) -> Iterator[Decision]:
    """Yield the decisions of a cycle, without the eviction requests in `refused_again`, by time and uid."""
    for decision in cycle.step.decisions:
        if not (isinstance(decision, EvictPod) and (cycle.at, decision.pod.uid) in refused_again):
            yield decision


def _level_text(finding: ThresholdFinding) -> str:
    signal = finding.threshold.signal
    level = left_text(finding.available, signal, finding.limit)
    configured = finding.threshold.value
    quantity = configured.quantity
    lowered = signal in MEMORY_SIGNALS and quantity is not None and finding.limit < quantity
    if not lowered:
        return level
    return f"{level}, limit {signal_quantity(finding.limit, signal)} ({configured} less what no process can allocate)"


def _reasons(findings: Sequence[Finding]) -> list[NoAction]:
    """Return the reasons for no eviction, without that of a derived threshold which repeats one of its source."""
    found, repeated = [each for each in findings if isinstance(each, NoAction)], copies(findings)
    said = {each.why for each in found if each.threshold not in repeated}
    return [each for each in found if each.threshold not in repeated or each.why not in said]


def _stop_text(finding: NoAction) -> str:
    """Write why nothing was decided; for which signal where no line beside it says that."""
    if finding.why in _BESIDE_A_DECISION or finding.threshold is None:
        return no_action_text(finding)
    return f"{finding.threshold.signal.value}: {no_action_text(finding)}"


def _line(cycle: WorldCycle, text: str) -> TimelineEntry:
    return TimelineEntry(at=cycle.at, text=text, decided=True)


def _key(finding: NoAction) -> str:
    pod = "" if finding.pod is None else finding.pod.full_name
    return f"{finding.why.value} {finding.threshold} {pod}"


def _event_text(event: Event) -> str:
    match event:
        case PodEnd():
            ended = {EndCause.EVICTED: "is gone", EndCause.EXITED: "has exited", EndCause.DELETED: "was deleted"}
            sums = {name: sum(event.held.get(each, 0) for each in usages) for name, usages in _HELD.items()}
            held = " and ".join(f"{bytes_text(amount)} of {name}" for name, amount in sums.items() if amount)
            return f"{event.name} {ended[event.cause]}" + (f", it held {held}" if held else "")
        case PodArrival():
            return f"{event.name} is started"
        case OomKill():
            why = "at its own memory limit" if event.own_limit else "for want of memory"
            return f"the kernel kills {event.name} {why}, {bytes_text(event.held)}"
        case EvictionRefused():
            return f"the API server refuses the eviction of {event.name}"
        case Collected():
            return f"the reclaim has ended: {bytes_text(event.freed_bytes)} freed"
        case RanOut():
            return f"nothing is left of {event.signal.value}"


# --- forms ------------------------------------------------------------------------------------------------------------


def folded_lines(lines: Sequence[tuple[int, str]]) -> Iterator[int | str]:
    """Yield which lines, given by time and text, to show; of a round that repeats the first and the last.

    Between them a sentence says how often the round came, of how many pods, and whether its interval changed.
    """
    for each in without_rounds([_REPLICA.sub("", text) for _, text in lines]):
        if isinstance(each, int):
            yield each
            continue
        between = each.count - 2
        (first, _), (last, _) = lines[each.start + each.length], lines[each.end - each.length - 1]
        of = "this line" if each.length == 1 else f"these {each.length} lines"
        span = f"from {clock(first)} to {clock(last)}" if between > 1 else f"at {clock(first)}"
        times = "once" if between == 1 else f"{between} times"
        yield f"... {of} {times} more{_spread_text(lines[each.start : each.end], each)} {span}; the last time:"


def _spread_text(lines: Sequence[tuple[int, str]], of: Round) -> str:
    """Write in what the rounds differ: in the pod, of which only the number is another one, and in the time between them."""
    starts = range(0, len(lines), of.length)
    pods = len({tuple(text for _, text in lines[start : start + of.length]) for start in starts})
    apart = [lines[after][0] - lines[start][0] for start, after in pairwise(starts)]
    which = "" if pods == 1 else ", each of another pod" if pods == of.count else f", of {pods} pods"
    changed = max(apart) > _ANOTHER_INTERVAL * min(apart) and max(apart) > SECOND
    return which + (
        f", {duration_text(min(apart))} to {duration_text(max(apart))} apart," if changed else "," * bool(which)
    )


def _folded(lines: Sequence[TimelineEntry]) -> Iterator[tuple[str, TimelineEntry]]:
    """Yield the lines with their times, without what repeats."""
    for each in folded_lines([(line.at, line.text) for line in lines]):
        if isinstance(each, str):
            yield "", TimelineEntry(at=0, text=each, decided=True)
        else:
            yield clock(lines[each].at), lines[each]


def print_world(
    title: str, played: PlayedWorld, to: "Console", *, everything: bool = False, head: Sequence[str] = ()
) -> None:
    """Print the head, the timeline and the conclusion.

    A reason that only differs in amounts from an earlier one needs `everything`.
    """
    to.print(f"{clean(title) or 'world'}: decided by {clean(played.name)}", style="bold")
    for text in head:
        print_line(to, "  ", text)
    lines = timeline(played.run)
    texts = [(clock(line.at), line) for line in lines] if everything else list(_folded(lines))
    shown = texts if everything else texts[:MOST_LINES]
    said: set[str] = set()
    for lead, line in shown:
        print_line(to, f"{lead:>10}  ", clean(line.text), None if line.decided else "dim")
        reason = _AMOUNT.sub("", _REPLICA.sub("", line.why))
        if line.why and (everything or reason not in said):
            said.add(reason)
            print_line(to, f"{'':>10}  ", line.why)
    if len(shown) < len(texts):
        to.print(f"{'':>10}  {len(texts) - len(shown)} more lines; --all shows them")
    quiet = len(played.run.cycles) - len({line.at for line in lines if line.decided})
    to.print(f"{'':>10}  in {counted(quiet, 'cycle')} nothing changes", style="dim")
    to.print()
    for sentence in played_text(played):
        print_line(to, "", sentence)
    for sentence in expectation_texts(played):
        print_line(to, "", sentence)


def world_document(title: str, played: PlayedWorld) -> Document:
    """Make the document of one configuration."""
    account = played.account
    return {
        "apiVersion": API_VERSION,
        "kind": "WorldRun",
        "name": title,
        "configuration": played.name,
        "policy": played.run.config.policy.value,
        "cycles": len(played.run.cycles),
        "timeline": [
            {"at": format_duration(each.at), "text": each.text} | ({"why": each.why} if each.why else {})
            for each in timeline(played.run)
        ],
        "losses": [
            {
                "at": format_duration(loss.at),
                "decidedAt": format_duration(loss.decided_at),
                "pod": loss.name,
                "of": loss.slot,
                "cause": loss.cause,
                "held": loss.held,
                "verdict": loss.verdict.value,
                "why": loss.why,
                "insteadOf": loss.stands_for or loss.enough,
                "ofNoUse": of_no_use(loss, played.run, account),
            }
            | _cut_short(loss)
            for loss in account.losses
        ],
        "innocents": account.innocents,
        "innocentsKilled": account.innocents_killed,
        "regret": account.regret,
        "oomKills": account.oom_kills,
        "culpritsGone": {slot: format_duration(at) for slot, at in account.culprit_gone_at.items()},
        "evictionsByCause": dict(account.evictions_by_cause),
        "shortFor": {name: format_duration(each) for name, each in account.short_for.items()},
        "cameBack": {resource.value: each for resource, each in account.came_back.items()},
        "shortages": account.shortages,
        "relievedAt": None if account.relieved_at is None else format_duration(account.relieved_at),
        "leastPods": sorted(account.ideal.slots),
        "relievable": account.ideal.relieves,
        "conclusion": played_text(played),
        "expectations": [
            {"field": each.field, "met": not each.unmet, "unmet": list(each.unmet)} for each in played.expectations
        ],
    }


def _cut_short(loss: Loss) -> Document:
    cut = loss.cut_short
    return {} if cut is None else {"killedAfter": format_duration(cut.after), "neededToEnd": format_duration(cut.needs)}


def cycles_to_draw(run: Run) -> tuple[SimulatedCycle, ...]:
    """Return the cycles as a simulation's, for the picture.

    The observation after a cycle has the answers to its requests. After the last one is none, so what was refused is left out.
    """
    refused = {(each.at, each.event.uid) for each in run.happened if isinstance(each.event, EvictionRefused)}
    last = len(run.cycles) - 1
    steps = [
        cycle.step if number < last else replace(cycle.step, decisions=tuple(new_decisions(cycle, refused)))
        for number, cycle in enumerate(run.cycles)
    ]
    return tuple(
        SimulatedCycle(at=cycle.at, turns=(Turn(observation=cycle.observation, step=step),))
        for cycle, step in zip(run.cycles, steps, strict=True)
    )
