"""Writes the result of `evictd check`: a table for people, JSON or YAML for programs."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from pathlib import Path

from evictd.config.lint_model import LintFinding, Severity, limit_on
from evictd.core.frozen import frozen
from evictd.core.model.signal import Signal
from evictd.core.model.threshold import Origin, Threshold
from evictd.core.units.duration import format_duration
from evictd.core.units.quantity import Quantity
from evictd.render.console import make_console, print_line
from evictd.render.documents import API_VERSION
from evictd.render.output import TABLE, write_document
from evictd.render.text import clean, signal_amount, signal_quantity, threshold_text

_HEAD = {"apiVersion": API_VERSION, "kind": "Check"}


@frozen
class CheckReport:
    """The result of `evictd check`; the thresholds include those derived for containerfs."""

    source: Path | None
    thresholds: tuple[Threshold, ...]
    capacities: Mapping[Signal, Quantity]
    available: Mapping[Signal, Quantity]
    """Available amount of each signal now; unknown ones are absent."""
    warnings: tuple[str, ...]
    findings: tuple[LintFinding, ...]
    dry_run: bool
    """Whether `evictd run` would only decide."""
    given: frozenset[Signal] = frozenset()
    """The signals with a capacity that was given and is not this node's."""
    compared_with: str | None = None
    """The kubelet that the thresholds were compared with; `None` without one."""
    drop_ins: tuple[Path, ...] = ()
    """The files that were merged over the main one, in this order."""
    set_by: Mapping[Threshold, str] = field(default_factory=dict)
    """The file or flag of each threshold that is set."""


def write_report(report: CheckReport, output: str) -> None:
    """Print the report to standard output as `table`, `json` or `yaml`."""
    if output == TABLE:
        _print_table(report)
    else:
        write_document(as_data(report), output, sys.stdout)


def write_problems(problems: Sequence[str], output: str) -> None:
    """Write the document of a check that had no result, as a file is unusable; people read the problems on standard error."""
    if output != TABLE:
        write_document({**_HEAD, "problems": list(problems)}, output, sys.stdout)


def as_data(report: CheckReport) -> dict[str, object]:
    """Return the report as plain data: amounts in bytes or counts, `null` where the node could not be read."""
    return {
        **_HEAD,
        "problems": [],
        "file": str(report.source) if report.source else None,
        "dryRun": report.dry_run,
        "comparedWith": report.compared_with,
        "thresholds": [_row_data(threshold, report) for threshold in report.thresholds],
        "warnings": list(report.warnings),
        "findings": [
            {
                "lint": one.lint.value,
                "severity": one.severity.value,
                "signal": None if one.signal is None else one.signal.value,
                "message": one.message,
                "remedy": one.remedy,
            }
            for one in report.findings
        ],
    }


def _row_data(threshold: Threshold, report: CheckReport) -> dict[str, object]:
    limit, available = limit_on(threshold, report.capacities), report.available.get(threshold.signal)
    reclaim = threshold.min_reclaim
    return {
        "signal": threshold.signal.value,
        "kind": "hard" if threshold.hard else "soft",
        "value": threshold.bound.removeprefix("<"),
        "amount": None if limit is None or limit.nano < 0 else limit.value(),
        "available": None if available is None else available.value(),
        "gracePeriod": format_duration(threshold.grace_period),
        "minimumReclaim": None if reclaim is None else str(reclaim),
        "given": threshold.signal in report.given,
        "origin": threshold.origin.value,
        "setBy": report.set_by.get(threshold),
    }


# --- the table --------------------------------------------------------------------------------------------------------

_HEADINGS = ("SIGNAL", "KIND", "BELOW", "ON THIS\nNODE", "AVAILABLE\nNOW", "GRACE", "RECLAIM", "FROM")
_TO_THE_RIGHT = {"BELOW", "ON THIS\nNODE", "AVAILABLE\nNOW"}
_WIDE = 90
"""Terminal width from which columns are separated by two spaces."""


def _print_table(report: CheckReport) -> None:
    from rich.table import Table  # noqa: PLC0415 - only people need it

    console = make_console(sys.stdout)
    gap = 2 if console.width >= _WIDE else 1
    table = Table(box=None, pad_edge=False, padding=(0, gap, 0, 0), header_style="bold")
    for heading in _HEADINGS:
        table.add_column(heading, no_wrap=True, justify="right" if heading in _TO_THE_RIGHT else "left")
    for threshold in report.thresholds:
        table.add_row(*_row(threshold, report))
    console.print(table if report.thresholds else "no thresholds")
    if report.drop_ins:
        names = ", ".join(clean(str(each)) for each in report.drop_ins)
        print_line(console, "", f"drop-ins, merged in this order: {names}")
    for line in _set_lines(report):
        print_line(console, "", line)
    if report.given:
        print_line(console, "", _whose_amounts(report))
    errors = [each for each in report.findings if each.severity is Severity.ERROR]
    for error in errors:
        print_line(console, "error: ", _finding_text(error), "red")
    for warning in report.warnings:
        print_line(console, "warning: ", warning, "yellow")
    for finding in report.findings:
        if finding not in errors:
            style = None if finding.severity is Severity.NOTE else "yellow"
            print_line(console, f"{finding.severity.value}: ", _finding_text(finding), style)
    of_node = (each for each in report.findings if not (each.severity is Severity.NOTE and each.signal is None))
    if not report.warnings and not any(of_node):
        console.print("no findings", style="green")
    if report.compared_with is not None:
        print_line(console, "", f"compared with {report.compared_with}")
    runs = (
        "true: evictd decides and changes nothing"
        if report.dry_run
        else "false: `evictd run` evicts pods; this check changed nothing"
        if report.source
        else "false: a file with these thresholds and without `dryRun: true` evicts pods; this check changed nothing"
    )
    print_line(console, "", f"dryRun: {runs}")


def _set_lines(report: CheckReport) -> Iterator[str]:
    """Yield which thresholds each file or flag sets, where there are several of these."""
    names = dict.fromkeys(report.set_by.values())
    for name in names if len(names) > 1 else ():
        found = ", ".join(threshold_text(each) for each, of in report.set_by.items() if of == name)
        yield f"set by {clean(name)}: {found}"


def _whose_amounts(report: CheckReport) -> str:
    """Write which rows go by a given capacity; derived ones are as those they follow."""
    signals = dict.fromkeys(each.signal for each in report.thresholds if each.origin is not Origin.DERIVED)
    given = ", ".join(each.value for each in signals if each in report.given)
    return f"sizes as given: {given or 'none of these'}; all others are unknown"


def _finding_text(finding: LintFinding) -> str:
    about = "" if finding.signal is None else f"{finding.signal.value}: "
    return f"{about}{finding.message}; {finding.remedy} ({finding.lint.value})"


def _row(threshold: Threshold, report: CheckReport) -> tuple[str, ...]:
    limit, available = limit_on(threshold, report.capacities), report.available.get(threshold.signal)
    return (
        threshold.signal.value,
        "hard" if threshold.hard else "soft",
        threshold.bound.removeprefix("<"),
        "-" if limit is None or limit.nano < 0 else signal_amount(limit.value(), threshold.signal),
        signal_amount(None if available is None else available.value(), threshold.signal),
        format_duration(threshold.grace_period) if threshold.grace_period else "-",
        _reclaim(threshold, report),
        _from(threshold, report),
    )


def _reclaim(threshold: Threshold, report: CheckReport) -> str:
    """Return the minimum reclaim on this node, and a percentage as it is set where it has no amount here."""
    reclaim, capacity = threshold.min_reclaim, report.capacities.get(threshold.signal)
    if reclaim is None:
        return "-"
    amount = None if capacity is None else reclaim.resolve(capacity)
    return str(reclaim) if amount is None or amount.nano < 0 else signal_quantity(amount, threshold.signal)


def _from(threshold: Threshold, report: CheckReport) -> str:
    """Return where a threshold is from; of those that are set the file or flag, where these are several."""
    name = report.set_by.get(threshold)
    if name is None or len({*report.set_by.values()}) == 1:
        return threshold.origin.value
    return clean(Path(name).name)
