"""The document of `/statusz` as a page for a terminal of 80 columns and 24 lines, or larger.

Conditions and how long they stay, signals with a bar of what is left and the thresholds marked on it, the pod that is next for
each signal, pods being evicted, problems, and as many of the last decisions as there are lines left.
"""

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from evictd.core.model.signal import DISKS, SIGNALS, STALLS, Signal
from evictd.render.status.holders import filled_clause, short_of
from evictd.render.status.kernel_killed import kernel_killed_text
from evictd.render.status.last_action import avoided_text, freed_text, last_eviction, last_eviction_text
from evictd.render.status.leaving_pods import decides_once_measured, only_if
from evictd.render.status.next_pod import before_text, goes_if_it_grows
from evictd.render.status.older_daemon import completed
from evictd.render.status.own_faults import faults_of, tests_thresholds
from evictd.render.status.owners import new_pods
from evictd.render.status.page.page_leaving import about_leaving, eviction_text, leaving_rows
from evictd.render.status.proposed import asked_text, unread_budgets
from evictd.render.status.remedy.own_limits_text import own_limits_text
from evictd.render.status.remedy.remedies import to_do
from evictd.render.status.remedy_texts import NO_POD_MEASURED
from evictd.render.status.signal_entry import is_due, is_pressed, shown_entries
from evictd.render.status.stopped import stop_text
from evictd.render.status.terminal_lines import (
    first_lines,
    fitted_line,
    hanging_lines,
    line_count,
    shortened_lines,
)
from evictd.render.status.times.depletion import depletions, without_repeated
from evictd.render.status.times.nearest import nearest_by_time
from evictd.render.status.times.timing import approaches, graces, time_lines
from evictd.render.status.times.unread_since import last_amount
from evictd.render.status.unguarded import NO_THRESHOLDS, unguarded_text
from evictd.render.text import (
    amount_text,
    clean,
    not_of_pods_text,
    pods_text,
    seconds_text,
    signal_amount,
    usage_text,
)

Document = Mapping[str, Any]

_BAR, _LEAST_BAR = 24, 4
_AMOUNT, _GAP = 6, 2
"""Columns of an amount, and between two columns of a table."""
_AT = 12
"""Columns of the time before a decision."""
_SHOWN_DECISIONS, _LEAST_DECISIONS = 8, 2
"""Most decisions without a height, and the least lines of them with one: the heading and the last decision."""
_SHOWN_LINES = 3
"""Lines of a list of pods or problems that a full page shows."""
_LEVEL = {"calm": "bold green", "soft": "bold yellow", "hard": "bold red", "blind": "bold red"}
"""The style of the first line by how grave it is."""
_TICK = {"hard": "┃", "soft": "╎"}


def status_view(document: Document, *, width: int = 100, height: int | None = None) -> RenderableType:
    """Lay the page out for `width` columns; with a height, lists and decisions are cut so that nothing is cropped."""
    document = completed(document)
    most = None if height is None else _SHOWN_LINES
    sections: list[list[RenderableType]] = [
        [*first_lines(_faults(document), most, width), *_head(document), *_conditions(document, width)],
        [*_without_thresholds(document)] or [_signals(document, width)],
        first_lines(list(_times(document))[: None if height is None else 1], most, width),
        first_lines(_next_to_go(document), most, width),
        first_lines([*_leaving(document), *_problems(document)], most, width),
        first_lines(remedy := list(_remedy(document)), most, width),
    ]
    sections = [section for section in sections if section]
    sections[0][:0] = _headline(
        document, None if height is None else width, (height or 0) - line_count(chain(*sections), width)
    )
    if height is not None and remedy:
        # What a person can do goes before the blank lines and the last decisions.
        free = height - line_count(chain(*sections), width) - _LEAST_DECISIONS - 1
        sections[-1] = [fitted_line(each, max(1, 1 + free), width) for each in remedy]
    spaced = [part for section in sections for part in (*section, Text())]
    if height is None:
        return Group(*spaced, *hanging_lines(_decisions(document)[: _SHOWN_DECISIONS + 1], _AT))
    dense: list[RenderableType] = [part for section in sections for part in section]
    parts = spaced if height - line_count(spaced, width) > _SHOWN_LINES else dense
    left = max(_LEAST_DECISIONS, height - line_count(parts, width) - 1)  # the terminal's last line stays free
    return Group(*parts, *shortened_lines(_decisions(document)[:left], width))


def _without_thresholds(document: Document) -> Iterator[Text]:
    if not document["signals"]:
        yield Text(NO_THRESHOLDS, style="yellow")


def _times(document: Document) -> Iterator[Text]:
    """Write when nothing is left, while thresholds are tested, and when thresholds act, or else when the first is met."""
    if tested := tests_thresholds(faults_of(document)):
        for signal, end in without_repeated(depletions(document)).items():
            text = f"{end.reaches(signal)}. {end.then}" if end.then else end.text
            yield Text(text, style="bold red" if end.then else "yellow")
    lines = tuple(time_lines(document, acts=True))
    headline = _headline_text(document)
    yield from (Text(line, style="yellow") for line in lines if not all(part in headline for part in line.split(_ACTS)))
    if tested and not lines and (later := nearest_by_time(document)):
        yield Text(later, style="dim")


_ACTS = ", and acts "
"""Before the time at which a threshold acts; the headline says that time of the pod that goes."""


def _headline_text(document: Document) -> str:
    """Return the state of the node in one sentence, as the page says it."""
    return clean(document["headline"]["text"])


def _headline(document: Document, width: int | None, left: int) -> Iterator[Text]:
    """Write the state of the node in one sentence; with a `width` cut to one to three lines, by how many are `left`."""
    if text := Text(_headline_text(document), style=_LEVEL.get(document["headline"]["level"], "bold")):
        if width is not None:
            lines = max(1, min(left - _SHOWN_LINES, _SHOWN_LINES))
            text = fitted_line(text, lines, width)
        yield text


def _head(document: Document) -> Iterator[Text]:
    phase = document["phase"]
    line = Text()
    line.append("evictd", style="bold")
    line.append(f" {document['version']} on {clean(document['node']) or 'this node'}   ")
    if tests_thresholds(faults_of(document)) or phase["name"] != "Watching":
        line.append(phase["name"], style="bold green" if phase["name"] == "Watching" else "bold yellow")
    if "signal" in phase:
        line.append(f" for {phase['signal']}")
    if "endsInSeconds" in phase:
        line.append(f", {seconds_text(phase['endsInSeconds'])} at most")
    yield line
    line = Text(
        f"policy {document['policy']}   {pods_text(document)}   read {seconds_text(document['ageSeconds'])} ago"
    )
    if document["dryRun"]:
        line.append("   DRY RUN", style="bold magenta")
    yield line


# --- signals ----------------------------------------------------------------------------------------------------------


def _signals(document: Document, width: int) -> RenderableType:
    """Make the table of signals; the bar takes what names, amounts and thresholds leave of the width."""
    entries = shown_entries(document)
    names = max((len(entry["signal"]) for entry in entries), default=0)
    thresholds = max((_thresholds(entry).cell_len for entry in entries), default=0)
    left = width - names - thresholds - _AMOUNT - 3 * _GAP
    wide = left >= _BAR + _AMOUNT + _GAP
    cells = min(_BAR, left - _AMOUNT - _GAP if wide else left)
    table = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style="dim")
    table.add_column("signal", no_wrap=True)
    table.add_column("left", no_wrap=True, justify="right", min_width=_AMOUNT)
    if cells >= _LEAST_BAR:
        table.add_column("", no_wrap=True, min_width=cells)
    if wide:
        table.add_column("of", no_wrap=True, justify="right", min_width=_AMOUNT)
    table.add_column("thresholds")
    for entry in entries:
        table.add_row(*_signal_row(entry, cells if cells >= _LEAST_BAR else 0, capacity=wide))
    return table


def _signal_row(entry: Document, cells: int, *, capacity: bool) -> Iterator[RenderableType]:
    name = entry["signal"]
    if not entry["observed"]:
        style, note = ("dim", "not on this node") if entry.get("absent") else ("red", "no reading")
        yield from (Text(name, style="dim"), Text("-", style=style))
        yield from [Text()] * (bool(cells) + capacity)
        yield Text(f"{note}{last_amount(entry)}", style=style)
        return
    met = {threshold["kind"] for threshold in entry["thresholds"] if is_pressed(threshold)}
    style = "red" if "hard" in met else "yellow" if met else "green"
    yield Text(name, style="bold")
    yield Text(signal_amount(entry["available"], Signal(name)), style=style)
    if cells:
        yield bar(entry, style, cells)
    if capacity:
        yield "of the time" if Signal(name) in STALLS else signal_amount(entry["capacity"], Signal(name))
    yield _thresholds(entry)


def _thresholds(entry: Document) -> Text:
    return Text("  ").join(_threshold(entry["signal"], threshold) for threshold in entry["thresholds"])


def bar(entry: Document, style: str, cells: int) -> Text:
    """Draw what is left as a part of the capacity, with a tick where each threshold lies."""
    capacity = max(entry["capacity"], 1)
    filled = max(0, min(cells, round(entry["available"] / capacity * cells)))
    ticks = {
        max(0, min(cells - 1, round(t["limit"] / capacity * cells))): _TICK[t["kind"]] for t in entry["thresholds"]
    }
    line = Text()
    for cell in range(cells):
        if cell in ticks:
            line.append(ticks[cell], style="bold red" if ticks[cell] == _TICK["hard"] else "bold yellow")
        else:
            line.append("█" if cell < filled else "░", style=style if cell < filled else "dim")
    return line


def _threshold(signal: str, threshold: Document) -> Text:
    text = Text(f"{threshold['kind']} {signal_amount(threshold['limit'], Signal(signal))}")
    if threshold["met"] and threshold["graceLeftSeconds"]:
        text.append(f" met, {seconds_text(threshold['graceLeftSeconds'])} left", style="yellow")
    elif threshold["met"]:
        text.append(" met", style="bold red")
    elif threshold["keptByMinReclaim"]:
        text.append(" min-reclaim open", style="yellow")
    return text


# --- pods and problems ------------------------------------------------------------------------------------------------


def _next_to_go(document: Document) -> Iterator[Text]:
    """Write the next pod of each signal; signals for which no pod would go share a line for each reason.

    So do those far from a threshold whose pods are not measured.
    """
    without: dict[str, list[str]] = {}
    said: set[str] = set()
    shown = shown_entries(document)
    near = (*(each.entry for each in graces(document)), *(each.entry for each in approaches(document)))
    acts = {entry["signal"] for entry in (*near, *filter(is_due, shown))}
    for entry in shown:
        row = entry["next"]
        if row is None and not entry["stop"]:
            continue
        if row is None or (row["usage"] is None and entry["signal"] not in acts):
            far = entry["signal"] not in acts
            without.setdefault(_why_none(document, entry, far=far), []).append(entry["signal"])
            continue
        yield Text.assemble(
            (f"next for {entry['signal']}: ", "dim"),
            (clean(row["pod"]), "bold"),
            (f" {_usage(Signal(entry['signal']), row)}" if row["usage"] is not None else " (not measured)", "dim"),
            (_why_next(row, said) if entry["signal"] in acts or row["priority"] > 0 else "", "dim"),
            (f"; it goes only {only}" if is_due(entry) and (only := only_if(document)) else "", "yellow"),
            (goes_if_it_grows(entry), "yellow"),
            (before_text(document, entry), "dim"),
        )
    yield from (
        Text(f"{each['signal']}: {text}", style="yellow") for each in shown if (text := decides_once_measured(each))
    )
    if budgets := unread_budgets(document):
        yield Text(budgets, style="dim")
    for entry in shown:
        if entry["notOfPods"]:
            of_no_pod = not_of_pods_text(entry["notOfPods"], SIGNALS[Signal(entry["signal"])].resource)
            yield Text(f"{entry['signal']}: {of_no_pod}", style="dim")
    yield from (Text(each, style="yellow") for each in new_pods(document))
    yield from _filled(document)
    for reason, signals in without.items():
        yield Text(f"next for {', '.join(signals)}: {clean(reason)}", style="dim")


def _remedy(document: Document) -> Iterator[Text]:
    """Write what to do, or how to learn from the last eviction."""
    do = to_do(document)
    if not do and (back := _look_back(document)):
        yield Text(back.replace("`", ""), style="yellow")
    elif do := do or about_leaving(document):
        yield Text(f"what you can do: {do}".replace("`", ""), style="yellow")


def _look_back(document: Document) -> str:
    """Return which pod was evicted last, what to do about it, and the command that says what would have avoided that."""
    last = None if document["dryRun"] or document["asked"] else last_eviction(document)
    text = "" if last is None else avoided_text(document, last)
    return f"{last_eviction_text(document, last)}: {text}" if last and text else ""


def _why_next(row: Document, written: set[str]) -> str:
    """Return after a colon why a pod would be the next one; empty where that was `written` for another signal, or is unknown."""
    why = clean(row["why"])
    if not why or why in written:
        return ""
    written.add(why)
    return f": {why}"


_UNTIL_NEAR = " until a threshold is near (evictd explain measures now)"


def _why_none(document: Document, entry: Document, *, far: bool) -> str:
    """Return why no pod is named for a signal; `far`: no threshold of it is near."""
    if entry["next"] is not None or entry["stopReason"] == NO_POD_MEASURED:
        later = far and SIGNALS[Signal(entry["signal"])].resource in DISKS
        return f"pods not measured{_UNTIL_NEAR if later else ''}"
    return stop_text(document, entry)


def _filled(document: Document) -> Iterator[Text]:
    """Write who took what is short, or who holds it; the signals of one supply share a line."""
    for line in dict.fromkeys(filled_clause(*each) for each in short_of(document) if each[1]["text"]):
        yield Text(clean(line), style="yellow")


def _usage(signal: Signal, row: Document) -> str:
    resource = SIGNALS[signal].resource
    request = f", requests {amount_text(row['request'], resource)}" if row["request"] else ""
    priority = f", priority {row['priority']}" if row["priority"] else ""
    return f"uses {usage_text(row['usage'], resource)}{request}{priority}"


def _conditions(document: Document, width: int) -> list[Text]:
    """Write the conditions, as many on a line as it holds."""
    lines = [Text()]
    for condition in document["conditions"]:
        pressed = condition["status"] == "True"
        text = Text("● " if pressed else "○ ", style="bold red" if pressed else "green")
        text.append(condition["type"], style="bold" if pressed else "")
        if pressed and document["dryRun"]:
            text.append(" would be reported", style="yellow")
        if condition["staysSeconds"] is not None:
            text.append(f" for at least {seconds_text(condition['staysSeconds'])} more", style="yellow")
        if lines[-1].cell_len and lines[-1].cell_len + len("   ") + text.cell_len > width:
            lines.append(Text())
        lines[-1].append("   " if lines[-1].cell_len else "").append(text)
    kept = (condition["why"] for condition in document["conditions"] if condition["why"])
    return [*lines, *(Text(clean(why), style="yellow") for why in kept)]


def _leaving(document: Document) -> Iterator[Text]:
    for row in leaving_rows(document, {}, seen=tests_thresholds(faults_of(document))):
        yield Text(f"{eviction_text(row)}: {clean(row['pod'])}, {row['awaits']}", style="yellow")
    if asked := document["asked"]:
        yield Text(asked_text(asked), style="yellow")


def _faults(document: Document) -> Iterator[Text]:
    """Write the faults of evictd's own: with one, what is below it may be of an earlier time.

    Of the one that the headline says only what evictd still does.
    """
    headline = _headline_text(document)
    for fault in document["faults"]:
        wrong, _, still = fault.partition(". ")
        if left := still if wrong in headline else fault:
            yield Text(f"! {clean(left)}", style="bold red")


def _problems(document: Document) -> Iterator[Text]:
    if killed := kernel_killed_text(document):
        yield Text(f"! {killed}", style="red")
    if near := own_limits_text(document):
        yield Text(f"! {near}", style="yellow")
    if unguarded := unguarded_text(document):
        yield Text(f"! {unguarded}", style="red")
    for row in document["problems"]:
        yield Text(f"! {clean(row['source'])}: {clean(row['detail'])}", style="red")


def _decisions(document: Document) -> list[Text]:
    lines = [Text("last decisions", style="dim")]
    for row in reversed(document["decisions"]):
        line = Text(f"  {row['at'][11:19]}  ", style="dim")
        lines.append(line + Text(clean(row["text"]), style="bold red" if row["kind"] == "EvictPod" else ""))
        if freed := freed_text(row):
            lines[-1].append(f"; {freed}")
        if row["why"]:
            lines.append(Text(" " * _AT) + Text(clean(row["why"])))
    return lines if len(lines) > 1 else [*lines, Text("  none yet", style="dim")]
