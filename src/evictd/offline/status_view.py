"""How does the status of a daemon look on a terminal?

Signals with a bar of what is left and the thresholds marked on it, conditions and how long they stay, who would be
next, who is leaving, the last decisions. A function from the document of `/statusz` to something `rich` can print;
made for 100 columns.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from evictd.core.duration import SECOND, format_duration
from evictd.core.quantity import of_bytes
from evictd.core.signal import SIGNAL_TO_RESOURCE, Resource, Signal

Document = Mapping[str, Any]

_BAR = 24
_SHOWN_DECISIONS = 8
_TICK = {"hard": "┃", "soft": "╎"}


def status_view(document: Document) -> RenderableType:
    """Lay the whole page out."""
    parts: list[RenderableType] = [_head(document), Text(), _signals(document), Text(), _next_to_go(document), Text()]
    parts.append(_conditions(document))
    if document["leaving"]:
        parts += [Text(), _leaving(document)]
    if document["problems"]:
        parts += [Text(), _problems(document)]
    parts += [Text(), _decisions(document)]
    return Group(*parts)


def _head(document: Document) -> Text:
    phase = document["phase"]
    line = Text()
    line.append("evictd", style="bold")
    line.append(f" {document['version']} on {document['node'] or 'this node'}   ")
    line.append(phase["name"], style="bold green" if phase["name"] == "Watching" else "bold yellow")
    if "signal" in phase:
        line.append(f" for {phase['signal']}")
    if "endsInSeconds" in phase:
        line.append(f", {seconds(phase['endsInSeconds'])} at most")
    line.append(f"   policy {document['policy']}   {document['pods']} pods   read {document['ageSeconds']:.1f} s ago")
    if document["dryRun"]:
        line.append("   DRY RUN", style="bold magenta")
    return line


def _signals(document: Document) -> RenderableType:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("signal", no_wrap=True, min_width=22)
    table.add_column("left", no_wrap=True, justify="right", min_width=6)
    table.add_column("", no_wrap=True, min_width=_BAR)
    table.add_column("of", no_wrap=True, justify="right", min_width=6)
    table.add_column("thresholds")
    for entry in document["signals"]:
        table.add_row(*_signal_row(entry))
    return table


def _next_to_go(document: Document) -> RenderableType:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for column in ("next to go", "pod", ""):
        table.add_column(column, no_wrap=True, min_width=22 if column == "next to go" else 0)
    for entry in document["signals"]:
        for row in entry["next"][:1]:
            table.add_row(entry["signal"], Text(row["pod"], style="bold"), _usage(entry["signal"], row))
    return table


def _signal_row(entry: Document) -> tuple[RenderableType, ...]:
    name = entry["signal"]
    if not entry["observed"]:
        return (Text(name, style="dim"), "", Text("cannot be read", style="red"), "", "")
    met = {threshold["kind"] for threshold in entry["thresholds"] if threshold["met"] or threshold["keptByMinReclaim"]}
    style = "red" if "hard" in met else "yellow" if met else "green"
    return (
        Text(name, style="bold"),
        Text(amount(name, entry["available"]), style=style),
        bar(entry, style),
        amount(name, entry["capacity"]),
        Text("  ").join(_threshold(name, threshold) for threshold in entry["thresholds"]),
    )


def bar(entry: Document, style: str) -> Text:
    """Draw what is left as a part of the capacity, with a tick where each threshold lies."""
    capacity = max(entry["capacity"], 1)
    filled = max(0, min(_BAR, round(entry["available"] / capacity * _BAR)))
    ticks = {min(_BAR - 1, round(t["limit"] / capacity * _BAR)): _TICK[t["kind"]] for t in entry["thresholds"]}
    line = Text()
    for cell in range(_BAR):
        if cell in ticks:
            line.append(ticks[cell], style="bold red" if ticks[cell] == _TICK["hard"] else "bold yellow")
        else:
            line.append("█" if cell < filled else "░", style=style if cell < filled else "dim")
    return line


def _threshold(signal: str, threshold: Document) -> Text:
    text = Text(f"{threshold['kind']} {amount(signal, threshold['limit'])}")
    if threshold["met"] and threshold["graceLeftSeconds"]:
        text.append(f" in {seconds(threshold['graceLeftSeconds'])}", style="yellow")
    elif threshold["met"]:
        text.append(" met", style="bold red")
    elif threshold["keptByMinReclaim"]:
        text.append(" min-reclaim open", style="yellow")
    return text


def _usage(signal: str, row: Document) -> Text:
    used = "usage unknown" if row["usage"] is None else f"uses {amount(signal, row['usage'])}"
    request = f", requests {amount(signal, row['request'])}" if row["request"] else ""
    priority = f", priority {row['priority']}" if row["priority"] else ""
    return Text(f"{used}{request}{priority}", style="dim")


def _conditions(document: Document) -> Text:
    line = Text()
    for condition in document["conditions"]:
        pressed = condition["status"] == "True"
        line.append("● " if pressed else "○ ", style="bold red" if pressed else "green")
        line.append(condition["type"], style="bold" if pressed else "")
        if condition["staysSeconds"] is not None:
            line.append(f" for {seconds(condition['staysSeconds'])} more", style="yellow")
        line.append("    ")
    return line


def _leaving(document: Document) -> Text:
    lines = []
    for row in document["leaving"]:
        how = "gone, its bytes are awaited" if row["gone"] else f"{max(row['gracePeriodSeconds'], 0)}s of grace"
        lines.append(Text(f"leaving: {row['pod']}  {how}", style="yellow"))
    return Text("\n").join(lines)


def _problems(document: Document) -> Text:
    return Text("\n").join(Text(f"! {row['source']}: {row['detail']}", style="red") for row in document["problems"])


def _decisions(document: Document) -> RenderableType:
    return Text("\n").join(_decision_lines(document))


def _decision_lines(document: Document) -> Iterator[Text]:
    yield Text("last decisions", style="dim")
    recent = document["decisions"][-_SHOWN_DECISIONS:]
    if not recent:
        yield Text("  none yet", style="dim")
    for row in reversed(recent):
        line = Text(f"  {row['at'][11:19]}  ", style="dim")
        yield line + Text(row["text"], style="bold red" if row["kind"] == "EvictPod" else "")


def amount(signal: str, value: int) -> str:
    """Write an amount of this signal so that it can be read at a glance: `3.1Gi`, `120k`."""
    if SIGNAL_TO_RESOURCE[Signal(signal)] in {Resource.MEMORY, Resource.EPHEMERAL_STORAGE}:
        exact = str(of_bytes(value))
        return exact if len(exact) <= 5 else _rounded(value, 1024, ("", "Ki", "Mi", "Gi", "Ti", "Pi"))
    return _rounded(value, 1000, ("", "k", "M", "G", "T", "P"))


def _rounded(value: int, step: int, units: tuple[str, ...]) -> str:
    size, power = float(abs(value)), 0
    while size >= step and power < len(units) - 1:
        size, power = size / step, power + 1
    digits = f"{size:.0f}" if size >= 100 or power == 0 else f"{size:.1f}"
    return f"{'-' if value < 0 else ''}{digits}{units[power]}"


def seconds(number: float) -> str:
    """Write seconds as a short duration: `9.5s` below ten, whole ones above."""
    return f"{number:.1f}s" if number < 10 else format_duration(round(number) * SECOND)
