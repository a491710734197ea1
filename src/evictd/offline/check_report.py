"""How the outcome of `evictd check` is written: a table for people, JSON or YAML for programs."""

import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from evictd.config.lint import LintFinding, limit_on, value_text
from evictd.core.duration import format_duration
from evictd.core.quantity import Quantity
from evictd.core.signal import SIGNAL_TO_RESOURCE, Resource, Signal
from evictd.core.threshold import Threshold, ThresholdValue
from evictd.offline.console import make_console
from evictd.offline.output import TABLE, write_document

_COUNTED = {Resource.INODES, Resource.PIDS}


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What a check came to; the thresholds include those derived for containerfs."""

    source: Path | None
    thresholds: tuple[Threshold, ...]
    capacities: Mapping[Signal, Quantity]
    warnings: tuple[str, ...]
    findings: tuple[LintFinding, ...]


def write_report(report: Report, output: str) -> None:
    """Print the report to standard output as `table`, `json` or `yaml`."""
    if output == TABLE:
        _print_table(report)
    else:
        write_document(as_data(report), output, sys.stdout)


def as_data(report: Report) -> dict[str, object]:
    """Give the report as plain data: amounts in bytes or counts, `null` where the node could not be read."""
    return {
        "file": str(report.source) if report.source else None,
        "thresholds": [_row_data(threshold, report.capacities) for threshold in report.thresholds],
        "warnings": list(report.warnings),
        "findings": [
            {"lint": one.lint.value, "signal": one.signal.value, "message": one.message, "remedy": one.remedy}
            for one in report.findings
        ],
    }


def _row_data(threshold: Threshold, capacities: Mapping[Signal, Quantity]) -> dict[str, object]:
    limit = limit_on(threshold, capacities)
    reclaim = threshold.min_reclaim
    return {
        "signal": threshold.signal.value,
        "kind": "hard" if threshold.hard else "soft",
        "value": _written(threshold.value),
        "amount": None if limit is None or limit.nano < 0 else limit.value(),
        "gracePeriod": format_duration(threshold.grace_period),
        "minimumReclaim": None if reclaim is None else _written(reclaim),
        "origin": threshold.origin.value,
    }


def _written(value: ThresholdValue) -> str:
    return value_text(value.quantity, value.fraction)


# --- the table --------------------------------------------------------------------------------------------------------

_HEADINGS = ("SIGNAL", "KIND", "BELOW", "ON THIS NODE", "GRACE", "RECLAIM", "FROM")


def _print_table(report: Report) -> None:
    from rich.table import Table  # noqa: PLC0415 - only people need it

    console = make_console(sys.stdout)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for heading in _HEADINGS:
        table.add_column(heading, no_wrap=True, justify="right" if heading in {"BELOW", "ON THIS NODE"} else "left")
    for threshold in report.thresholds:
        table.add_row(*_row(threshold, report.capacities))
    if report.thresholds:
        console.print(table)
    else:
        console.print("no thresholds")
    for warning in report.warnings:
        console.print(f"warning: {warning}", style="yellow", soft_wrap=True)
    for finding in report.findings:
        text = f"{finding.lint.value}: {finding.signal.value}: {finding.message}; {finding.remedy}"
        console.print(text, style="red", soft_wrap=True)
    if not report.findings:
        console.print("nothing to object to", style="green")


def _row(threshold: Threshold, capacities: Mapping[Signal, Quantity]) -> tuple[str, ...]:
    limit = limit_on(threshold, capacities)
    reclaim = threshold.min_reclaim
    return (
        threshold.signal.value,
        "hard" if threshold.hard else "soft",
        _written(threshold.value),
        "-" if limit is None or limit.nano < 0 else amount_text(threshold.signal, limit.value()),
        "-" if threshold.hard else format_duration(threshold.grace_period),
        "-" if reclaim is None else _written(reclaim),
        threshold.origin.value,
    )


def amount_text(signal: Signal, amount: int) -> str:
    """Write an amount for people: bytes in the largest binary unit with one decimal, counts in full."""
    if SIGNAL_TO_RESOURCE[signal] in _COUNTED:
        return str(amount)
    step = min(int(math.log2(amount) // 10), 6) if amount > 0 else 0
    return f"{amount / 1024**step:.4g}{('', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei')[step]}"
