"""The advice of `evictd advise` as a table with its evidence, and as a document with the fields to copy."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from evictd.advice.episode import AGAIN, QUICK, RESERVE, Episode, longest_wait
from evictd.advice.proposal import Advice
from evictd.advice.reservation import LEAST_READINGS, Reservation
from evictd.advice.signal_advice import LEAST_EVICTIONS, SignalAdvice
from evictd.advice.soft import SOFT_GRACE
from evictd.core.model.signal import SIGNALS, Resource
from evictd.core.units.duration import MINUTE
from evictd.render.advice.configuration import configuration
from evictd.render.advice.fast_fill import fast_lines, little_left_lines
from evictd.render.advice.missing_lines import missing_document, missing_line, some, unguarded_document
from evictd.render.advice.settings import FIND, RESERVED_NAMES, none_fits_all, other_lines, unfit_text
from evictd.render.advice.soft import hard_lines, soft_lines
from evictd.render.console import print_line
from evictd.render.documents import API_VERSION, Document
from evictd.render.text import clean, counted, duration_text, first_of, signal_amount

if TYPE_CHECKING:
    from rich.console import Console

_TOO_LATE = (
    f"TOO LATE: when the pod was gone, less was left than a reserve: {RESERVE[Resource.MEMORY] >> 20}Mi of memory, "
    f"{RESERVE[Resource.EPHEMERAL_STORAGE] >> 20}Mi of a disk, {RESERVE[Resource.INODES]:,} inodes, {RESERVE[Resource.PIDS]} "
    "PIDs, or a tenth of the capacity where that is less; or the kernel had killed for want of memory."
)
_ONE_RAISES = 1.25
"""How much higher a threshold is because of one eviction where that is said."""
_ONE_SHORTAGE = (
    f"those less than {AGAIN // MINUTE} minutes apart are of one, unless the node's condition ended between them"
)
_SHOWN = 5
"""Nodes and problems that are shown."""


def advice_document(advice: Advice) -> Document:
    """Make the document: the fields to copy, and the evidence for each signal."""
    return {
        "apiVersion": API_VERSION,
        "kind": "Advice",
        "nodes": advice.nodes,
        "readings": advice.readings,
        "coverPercent": advice.cover,
        "leastShortages": LEAST_EVICTIONS,
        "leastReadings": LEAST_READINGS,
        "configuration": configuration(advice),
        "keep": {
            "evictionHard": [signal.value for signal in advice.kept_hard],
            "evictionSoft": [signal.value for signal in advice.kept_soft],
        },
        "signals": [_signal(each) for each in advice.signals],
        "reserved": [_reservation(each) for each in advice.reserved],
        "missing": [missing_document(each) for each in advice.missing],
        "withoutThreshold": [unguarded_document(each) for each in advice.unguarded],
        "stallEvictions": advice.stalls,
        "kernelKilled": [{"node": node, "where": where, "count": count} for node, where, count in advice.killed],
        "problems": list(advice.problems),
    }


def _signal(each: SignalAdvice) -> Document:
    return {
        "signal": each.signal.value,
        "evictions": each.episodes,
        "shortages": each.shortages,
        "useNotMeasured": each.unmeasured,
        "tooLate": each.too_late,
        "nodes": len(each.needs),
        "proposed": each.proposed,
        "keeps": each.proposed and each.keeps,
        "hard": each.hard if each.raised else None,
        "hardNow": None if each.now is None else list(each.now),
        "notFor": list(each.lowers) if each.raised else [],
        "soft": each.soft if each.proposed else None,
        "minimumReclaim": each.min_reclaim if each.proposed else None,
        "reserve": RESERVE[SIGNALS[each.signal].resource],
        "enough": each.enough,
        "hardWithoutWorst": each.without_worst if each.raised else None,
        "earlierSeconds": round(each.earlier / 1e9, 1),
        "limitedBy": each.limited_by,
        "worst": {
            "node": each.worst.node, "at": each.worst.wall, "pod": each.worst.pod,
            "usedBeforeDecision": each.worst.fell, "used": each.worst.used if each.worst.measured else None,
            "overcounted": each.worst.overcounted, "tookSeconds": round(each.worst.took / 1e9, 3), "fillRate": each.worst.rate,
        },
        "notCovered": list(each.not_covered),
        "inVain": [{"node": node, "from": wall} for node, wall in each.in_vain],
    }  # fmt: skip


def _reservation(each: Reservation) -> Document:
    return {
        "resource": RESERVED_NAMES[each.resource],
        "nodes": len(each.needs),
        "readings": each.readings,
        "proposed": each.proposed,
        "amount": each.amount if each.proposed else None,
        "forThreshold": each.threshold if each.proposed else None,
        "worst": {"node": each.worst.node, "at": each.worst.wall, "used": each.worst.amount},
        "notCovered": list(each.not_covered),
    }


_HEADINGS = ("SIGNAL", "HARD NOW", "PROPOSED", "SOFT", "EVICTIONS", "TOO LATE")


def print_advice(advice: Advice, to: "Console") -> None:
    """Print the settings, the evidence and what is not covered."""
    from rich.table import Table  # noqa: PLC0415 - only a table needs it

    to.print(basis(advice), style="bold")
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    rows = [_cells(each) for each in advice.signals]
    widths = [max(map(len, column)) for column in zip(_HEADINGS, *rows, strict=True)]
    # A heading of two words takes two lines where one is too long for the terminal.
    narrow = sum(widths) + 2 * len(widths) > to.width
    for heading in _HEADINGS:
        text = heading.replace(" ", "\n") if narrow else heading
        table.add_column(text, no_wrap=True, justify="left" if heading == "SIGNAL" else "right")
    for row in rows:
        table.add_row(*row)
    if advice.signals:
        to.print(table)
        if any(each.too_late for each in advice.signals):
            to.print(_TOO_LATE)
    elif not advice.stalls:
        to.print("no eviction for pressure was recorded, so nothing is known of how early a threshold has to be")
    for each in advice.signals:
        first, *others = _signal_lines(each)
        print_line(to, "- ", first)
        for line in others:
            print_line(to, "  ", line)
    for missing in advice.missing:
        print_line(to, "- ", missing_line(missing))
    for line in other_lines(advice):
        print_line(to, "- ", line)
    if not all(each.enough_evidence for each in advice.settings):
        to.print("More evidence: give the journals of more nodes, or of a longer time.")
    _print_problems(advice.problems, to)


def basis(advice: Advice) -> str:
    """Say what the advice rests on, and for which share of the nodes it is meant."""
    evictions = sum(each.episodes for each in advice.signals)
    counts = f"{counted(advice.nodes, 'node')}, {counted(advice.readings, 'reading')}, {counted(evictions, 'eviction')}"
    if not any(each.proposed for each in advice.settings):
        alone = ["evictionMaxPodGracePeriod"] if advice.max_pod_grace_seconds is not None else []
        if alone := [*alone, *(["memory.lead"] if advice.lead else [])]:
            return f"{counts}: no threshold and no reservation is proposed, only {' and '.join(alone)}"
        evidence = any(each.enough_evidence for each in advice.settings)
        return f"{counts}: {'nothing is proposed' if evidence else 'not enough to propose anything'}"
    enough = "enough" if any(each.proposed for each in advice.signals) else "the reservations are enough"
    missed = {name for each in advice.settings if each.proposed for name in each.not_covered}
    if len(missed) >= advice.nodes:
        return f"{counts}; {enough} for most of what was recorded"
    if len(missed) * 100 > advice.nodes * (100 - advice.cover):
        return f"{counts}; {enough} for all but {counted(len(missed), 'node')}"
    if advice.nodes * (100 - advice.cover) < 100:
        return f"{counts}; {enough} for the worst that was recorded"
    return f"{counts}; {enough} for {advice.cover} % of the nodes"


def _signal_lines(each: SignalAdvice) -> Iterator[str]:
    if not each.proposed:
        return _unproposed_lines(each)
    return _kept_lines(each) if each.keeps else _proposed_lines(each)


def _unproposed_lines(each: SignalAdvice) -> Iterator[str]:
    name = each.signal.value
    if each.enough_evidence:
        yield f"{name}: {_why_none(each)}"
        yield _evidence(each)
        yield from _in_vain_lines(each)
        return
    of = " of which the use was measured" if each.unmeasured else ""
    least = f"a threshold is proposed from {LEAST_EVICTIONS} shortages on{of}"
    yield f"{name}: not enough evidence: {_evictions(each)}; {least}"
    yield _evidence(each)
    yield from (*fast_lines(each), *_in_vain_lines(each))


def _kept_lines(each: SignalAdvice) -> Iterator[str]:
    yield (
        f"{each.signal.value}: keep {_now(each)}: with it none of {_evictions_on_nodes(each)} was too late; how fast the next "
        "fill is they do not show, so no lower one is proposed"
    )
    yield _evidence(each)
    yield from (*_in_vain_lines(each), *fast_lines(each), *_more_lines(each))


def _proposed_lines(each: SignalAdvice) -> Iterator[str]:
    yield f"{each.signal.value}: proposed from {_evictions_on_nodes(each)}"
    yield _evidence(each)
    yield from _in_vain_lines(each)
    yield _changed(each)
    yield from (*hard_lines(each), *fast_lines(each), *little_left_lines(each), *_bound_lines(each), *_more_lines(each))


def _bound_lines(each: SignalAdvice) -> Iterator[str]:
    """Say why the proposed threshold is no higher or no lower, and which evictions it would not have been enough for."""
    if each.without_worst * _ONE_RAISES <= each.hard:
        one = "that one eviction" if len(each.needs) == 1 else clean(each.worst.node)
        yield f"this rests on {one}: without it {signal_amount(each.without_worst, each.signal)} would be proposed"
    if each.limited_by:
        yield f"it is half of the capacity of {clean(each.limited_by)}; more would be met there always"
    if each.kept:
        yield "no lower one is proposed, because an eviction was too late with this"
    if each.lowers and each.now is not None:
        yield f"not for {some(each.lowers)}: keep up to {signal_amount(each.now[1], each.signal)} there, which this would lower"
    elif each.not_lower:
        yield "no lower one is proposed than nodes have: how fast the next fill is the recorded evictions do not show"
    if each.not_covered:
        empty = f"; nothing was left at {each.empty} of {counted(each.episodes, 'decision')}" if each.empty else ""
        unknown = ": how much was needed then is not known" if empty else ""
        yield f"not covered: {some(each.not_covered)}{empty}{unknown}"


def _evictions_on_nodes(each: SignalAdvice) -> str:
    return f"{_evictions(each)} on {counted(len(each.needs), 'node')}"


def _why_none(each: SignalAdvice) -> str:
    """Say why no threshold is proposed although enough shortages were recorded."""
    if each.apart is not None:
        least, most = (signal_amount(amount, each.signal) for amount in each.apart)
        return none_fits_all(least, each.limited_by, most)
    if each.unfit is not None:
        return f"none proposed: {unfit_text(each.unfit, each.signal, each.hard)}"
    if each.leaked:
        return (
            f"none proposed: what is used outside pods grew on {some(each.leaked)}, and no threshold ends that; {FIND}"
        )
    return f"none proposed: {signal_amount(each.hard, each.signal)} would have been enough for no node; {FIND}"


def _more_lines(each: SignalAdvice) -> Iterator[str]:
    yield from soft_lines(each)
    if each.came_back:
        yield _min_reclaim_line(each)


def _evictions(each: SignalAdvice) -> str:
    """Write how many evictions there were, and for how many shortages where these are fewer."""
    evictions = counted(each.episodes, "eviction")
    if each.unmeasured == each.episodes:
        return (
            f"{evictions}, and of {'it' if each.episodes == 1 else 'none'} was the use measured until the pod was gone"
        )
    if each.unmeasured:
        evictions += f", of {each.unmeasured} of them the use was not measured"
    return (
        evictions
        if each.shortages == each.episodes
        else f"{evictions} in {counted(each.shortages, 'shortage')} ({_ONE_SHORTAGE})"
    )


def _in_vain_lines(each: SignalAdvice) -> Iterator[str]:
    """Say on which nodes evictions did not end the shortage, or the pods of one owner came back."""
    if each.in_vain:
        paused = first_of([f"{clean(node)} from {clean(wall)} on" for node, wall in each.in_vain], _SHOWN)
        yield f"evictions did not help on {paused} (EvictionsDoNotHelp): no threshold changes that; {FIND}"
    if each.most_of_owner is not None:
        nodes, owner, count = each.most_of_owner
        rests = each.raised and not each.not_lower
        yield (
            f"{count} of {counted(each.episodes, 'eviction')} are pods of one owner on {some(nodes)}, {clean(owner)}, started "
            "again and again: whether they would have stopped filling by themselves the evictions do not show; where they "
            "would, try a lower threshold with `evictd simulate WORLD --compare FILE`"
            f"{'. What is proposed is for how these fill' if rests else ''}"
        )


def _min_reclaim_line(each: SignalAdvice) -> str:
    """Say where the minimum reclaim comes from, or why none is proposed."""
    amount, one = signal_amount(each.came_back, each.signal), each.one_more
    if each.min_reclaim:
        return (
            f"minimum reclaim {amount}: at most that was used up again before the next pod in the ranking was evicted"
        )
    why = f"that and the threshold are more than half of the capacity of {clean(each.no_room)}"
    if one is not None:
        left = signal_amount(one.recovered or 0, each.signal)
        why = (
            f"{left} were available on {clean(one.node)} after {clean(one.pod)} was gone at {clean(one.wall)}, so one more "
            "pod would have been evicted"
        )
    return f"no minimum reclaim: {amount} would have kept a shortage from coming back, but {why}"


def _print_problems(problems: tuple[str, ...], to: "Console") -> None:
    for problem in problems[:_SHOWN]:
        to.print(f"! {clean(problem)}", style="yellow")
    if len(problems) > _SHOWN:
        to.print(f"! {len(problems) - _SHOWN} more problems; --output json has all", style="yellow")


def _cells(each: SignalAdvice) -> tuple[str, ...]:
    """Return the cells of a row, one for each of `_HEADINGS`."""
    hard, soft = (
        signal_amount(amount, each.signal) if amount and each.proposed else "-" for amount in (each.hard, each.soft)
    )
    hard = "keep" if each.proposed and each.keeps else hard
    grace = "" if soft == "-" else f" for {duration_text(SOFT_GRACE)}"
    return each.signal.value, _now(each), hard, f"{soft}{grace}", str(each.episodes), str(each.too_late)


def _now(each: SignalAdvice) -> str:
    if each.now is None:
        return "-"
    least, most = (signal_amount(amount, each.signal) for amount in each.now)
    return least if least == most else f"{least} to {most}"


def _evidence(each: SignalAdvice) -> str:
    worst = each.worst
    used = f"{signal_amount(worst.used, worst.signal)} were used up in {duration_text(worst.took)}"
    if worst.used_if_hard < worst.used:
        part = signal_amount(worst.used_if_hard, worst.signal)
        used += f" (a hard eviction takes at most {duration_text(QUICK)}: {part})"
    if not worst.measured:
        used = "what was used up was not measured"
    elif worst.estimated:
        used = (
            f"{signal_amount(worst.used, worst.signal)} for a stop of {duration_text(QUICK)}, as no end was recorded,"
        )
    elif not worst.used:
        used = "nothing was used up"
    rate = f", at {signal_amount(worst.rate, worst.signal)} a second" if worst.rate else ""
    # A crossing that was noticed at once has nothing to show.
    fell = signal_amount(worst.fell, worst.signal) if worst.fell * 100 > worst.needed else ""
    longest = signal_amount(worst.fell_at_most, worst.signal)
    away = f"{duration_text(worst.waits)} away"
    waits = (
        f"measurement of pods is {away}" if longest_wait(worst.signal) else f"cycle is {away}, as without memory.watch"
    )
    wait = f" ({longest} where the next {waits})"
    wait = wait if worst.fell_at_most > worst.fell else ""
    before = f"{fell or 'nothing'} from the threshold to the decision{wait}; then " if fell or wait else ""
    return (
        f"the most was needed on {clean(worst.node)} at {clean(worst.wall)}: {before}{used} "
        f"until {clean(worst.pod)} was gone{rate}; {signal_amount(worst.available, worst.signal)} were left at the decision"
        f"{_overcounted(worst)}{_with_grace(each)}"
    )


def _overcounted(worst: Episode) -> str:
    amount = signal_amount(worst.overcounted, worst.signal)
    return f", {amount} of which no process can allocate" if worst.overcounted else ""


def _with_grace(each: SignalAdvice) -> str:
    """Say that with the proposed threshold enough is left to give the pod a grace period; empty where it changes nothing."""
    used = each.worst.used_with(each.hard)
    if not each.raised or used <= each.worst.used:
        return ""
    hard, amount = (signal_amount(of, each.signal) for of in (each.hard, used))
    return f", too little for a grace period; with {hard} the pod has one, and uses up {amount}"


def _changed(each: SignalAdvice) -> str:
    """Say what this hard threshold would have changed in the recorded evictions."""
    measured = each.episodes - each.unmeasured
    of = counted(measured, "eviction") + (" whose use was measured" if each.unmeasured else "")
    earlier = f", with the threshold met up to {duration_text(each.earlier)} earlier" if each.earlier else ""
    return (
        f"with {signal_amount(each.hard, each.signal)}, {each.enough} of {of} leave the reserve of "
        f"{signal_amount(each.worst.reserve, each.signal)}"
        f"{earlier}; {each.enough_before} did"
    )
