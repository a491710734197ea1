"""What is worth a line in the log, and when?

The core finds the same things cycle after cycle; a log wants the moments when something begins and ends. Each finding
is given a key, and only keys that come or go are told. So a calm node logs nothing, and a node under pressure does
not repeat itself.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, assert_never

from evictd.core.decision import (
    ContainerFsIgnored,
    Finding,
    Ranking,
    SignalUnobserved,
    Silence,
    Silent,
    Spared,
    StatsMissing,
    ThresholdFinding,
)
from evictd.core.duration import format_duration
from evictd.core.observation import Problem
from evictd.core.pod import Pod

_SHOWN_PODS = 5

_LOUD = {Silence.PROTECTED_CULPRIT, Silence.NOTHING_EVICTABLE, Silence.NO_STATS, Silence.LAYOUT_UNKNOWN}
"""Silences that somebody should look into; the others are the normal course of an eviction."""


class Line(NamedTuple):
    """One line to log."""

    level: str
    event: str
    fields: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """Something that lasts for a while: what to say when it begins, and when it ends (if anything)."""

    begins: Line
    ends: Line | None = None


Topics = Mapping[tuple[str, ...], Topic]


def changes(before: Topics, after: Topics) -> list[Line]:
    """List what to log: topics that ended, then topics that began."""
    ended = [topic.ends for key, topic in before.items() if key not in after and topic.ends is not None]
    return ended + [topic.begins for key, topic in after.items() if key not in before]


def topics(findings: Iterable[Finding], problems: Iterable[Problem]) -> dict[tuple[str, ...], Topic]:
    """Give every lasting thing of a cycle, by a key that is the same while it lasts."""
    found: dict[tuple[str, ...], Topic] = {}
    for finding in findings:
        found.update(_of_finding(finding))
    for problem in problems:
        found["problem", problem.source] = Topic(
            begins=Line("warning", "cannot be read", {"source": problem.source, "detail": problem.detail}),
            ends=Line("info", "can be read again", {"source": problem.source}),
        )
    return found


def _of_finding(finding: Finding) -> dict[tuple[str, ...], Topic]:
    match finding:
        case ThresholdFinding():
            return _threshold(finding)
        case SignalUnobserved():
            fields = {"signal": finding.signal.value}
            topic = Topic(
                begins=Line("warning", "signal has a threshold but no observation", fields),
                ends=Line("info", "signal is observed again", fields),
            )
            return {("unobserved", finding.signal.value): topic}
        case Silent():
            return _silent(finding)
        case StatsMissing():
            names = sorted(pod.full_name for pod in finding.pods)
            line = Line("info", "pods without stats", {"pods": names[:_SHOWN_PODS], "count": len(names)})
            return {("missing", *names[:_SHOWN_PODS], str(len(names))): Topic(begins=line)}
        case Spared():
            line = Line("info", "protected pod passed over", {"pod": finding.pod.full_name})
            return {("spared", finding.pod.uid): Topic(begins=line)}
        case ContainerFsIgnored():
            signal = finding.threshold.signal.value
            line = Line("warning", "containerfs threshold ignored: it is derived from the others", {"signal": signal})
            return {("ignored", signal): Topic(begins=line)}
        case Ranking():
            return {}  # who was ranked how is in the journal, not in the log
        case _:
            assert_never(finding)


def _threshold(finding: ThresholdFinding) -> dict[tuple[str, ...], Topic]:
    if not finding.met and not finding.kept_by_min_reclaim:
        return {}
    signal, kind = finding.threshold.signal.value, "hard" if finding.threshold.hard else "soft"
    numbers = {"signal": signal, "kind": kind, "threshold": str(finding.limit), "available": str(finding.available)}
    if finding.grace_left:
        numbers["grace_left"] = format_duration(finding.grace_left)
    return {
        ("met", signal, kind, str(finding.limit)): Topic(
            begins=Line("warning", "threshold met", numbers),
            ends=Line("info", "threshold no longer met", {"signal": signal, "kind": kind}),
        )
    }


def _silent(finding: Silent) -> dict[tuple[str, ...], Topic]:
    signal = finding.threshold.signal.value if finding.threshold is not None else ""
    fields = {
        "signal": signal,
        "pod": _name(finding.pod),
        "needed": "" if finding.needed is None else str(finding.needed),
        "reachable": "" if finding.reachable is None else str(finding.reachable),
        "detail": finding.detail,
    }
    level = "warning" if finding.why in _LOUD else "info"
    line = Line(level, finding.why.value, {name: value for name, value in fields.items() if value})
    return {("silent", finding.why.value, signal, fields["pod"]): Topic(begins=line)}


def _name(pod: Pod | None) -> str:
    return "" if pod is None else pod.full_name
