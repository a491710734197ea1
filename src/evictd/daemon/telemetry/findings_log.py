"""Selects what is logged of a cycle's findings and problems: what began and what ended since the last cycle.

The core finds the same things cycle after cycle. Each finding has a key, and only keys that are new or gone are logged. So a calm
node logs nothing, and a node under pressure does not repeat its lines.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple, assert_never

from evictd.core.frozen import frozen
from evictd.core.model.attribution import Attribution, growth_text, holders_text
from evictd.core.model.finding import (
    ContainerFsIgnored,
    Finding,
    KeptAway,
    NoAction,
    NoActionReason,
    NodeFinding,
    PodSkipped,
    PreferenceApplied,
    ProtectedPodSkipped,
    Ranking,
    ReclaimWouldHelp,
    SignalUnobserved,
    StatsMissing,
    ThresholdFinding,
    WaitingForMeasurement,
)
from evictd.core.model.observation import Problem
from evictd.core.model.pod import Pod
from evictd.core.model.signal import SIGNALS, STALLS
from evictd.core.model.threshold import Origin, Threshold
from evictd.core.units.duration import format_duration
from evictd.core.units.quantity import Quantity
from evictd.errors import SourceKind
from evictd.render.sentences import kept_away_text
from evictd.render.stop_reason import no_action_text
from evictd.render.text import limit_text, quantity_text, signal_quantity

_SHOWN_PODS = 5

_LOUD = {
    NoActionReason.PROTECTED_CULPRIT,
    NoActionReason.UNMEASURED_CULPRIT,
    NoActionReason.EVICTIONS_DO_NOT_HELP,
    NoActionReason.THRESHOLD_NEVER_CLEAR,
    NoActionReason.EVICTION_LIMIT_REACHED,
    NoActionReason.NOTHING_EVICTABLE,
    NoActionReason.NO_POD_MEASURED,
    NoActionReason.NOTHING_HELPS,
    NoActionReason.API_PODS_STANDALONE,
    NoActionReason.FILESYSTEM_READ_ONLY,
    NoActionReason.NO_STATS,
    NoActionReason.LAYOUT_UNKNOWN,
}
"""Reasons for no action that are logged as warnings; the others are the normal course of an eviction."""


_ABSENT = "signal has a threshold but does not exist on this node"
_UNOBSERVED = "signal has a threshold but no observation"
_OBSERVED = "signal is observed again"
_UNREADABLE = "cannot be read"
_NOT_MET = "threshold no longer met"
_NOT_COMPARED = "threshold no longer applies"
_WITHOUT_THRESHOLDS = {NoActionReason.WAITING_FOR_VICTIM, NoActionReason.NO_STATS, NoActionReason.LAYOUT_UNKNOWN}
"""Reasons for no action of a cycle that compares no threshold."""
_OF_THRESHOLDS = {"met", "unobserved"}
"""First parts of the keys of topics that only a cycle which compares thresholds has."""


class Line(NamedTuple):
    """One line to log."""

    level: str
    event: str
    fields: Mapping[str, Any]


@frozen
class Topic:
    """Something that lasts: the line for its beginning, and the line for its end, if any."""

    begins: Line | None
    """`None` where the error was logged when it occurred."""
    ends: Line | None = None


_PROBLEMS = {
    SourceKind.MEMORY_THRESHOLD.value: ("threshold cannot be met", "threshold can be met"),
    SourceKind.SYSTEMD_OOMD.value: ("systemd-oomd may kill pods", "systemd-oomd kills no pods"),
    SourceKind.STOPPING_POD.value: ("pod cannot be stopped", "pod no longer resists being stopped"),
    SourceKind.KILLING_POD.value: ("pod cannot be killed", "pod no longer resists being killed"),
}
"""The log texts of problems that are no failure to read something, at its begin and at its end, by the kind of its source."""

_LOGGED = {SourceKind.STATE, SourceKind.JOURNAL, SourceKind.CONDITIONS_JSON}
"""Files that could not be written: the writer logs and counts the error at once, also before the first cycle."""

Topics = Mapping[tuple[str, ...], Topic]


def changes(before: Topics, after: Topics) -> list[Line]:
    """List what to log: topics that ended, then topics that began. Signals without a reading share a line.

    A threshold that was met and is compared no more, as after a reload, may still be below its limit: it does not end as not met.
    """
    ended = [
        topic.ends._replace(event=_NOT_COMPARED)
        if key[0] == "met" and ("compared", *key[1:]) not in after
        else topic.ends
        for key, topic in before.items()
        if key not in after and topic.ends is not None
    ]
    began = [topic.begins for key, topic in after.items() if key not in before and topic.begins is not None]
    return [*_of_one_kind(ended), *_of_one_kind(began)]


def _of_one_kind(lines: Iterable[Line]) -> Iterator[Line]:
    """Yield the lines; those that say the same of several signals are one, with what cannot be read since then."""
    kinds: dict[object, list[Line]] = {}
    for line in lines:
        shared = line.event in {_UNOBSERVED, _ABSENT, _OBSERVED}
        kinds.setdefault(line.event if shared else id(line), []).append(line)
    causes = [each.fields["source"] for (each, *_) in kinds.values() if each.event == _UNREADABLE]
    for same in kinds.values():
        fields = dict(same[0].fields)
        if len(same) > 1:
            fields["signal"] = ", ".join(line.fields["signal"] for line in same)
        if same[0].event == _UNOBSERVED and causes:
            fields["unreadable"] = ", ".join(causes)
        yield same[0]._replace(fields=fields)


def topics(
    findings: Iterable[Finding], problems: Iterable[Problem], before: Topics | None = None
) -> dict[tuple[str, ...], Topic]:
    """Return the topics of a cycle, by a key that is the same as long as the topic lasts.

    A cycle that compares no threshold, as while policy Kubelet waits for its victim, keeps the topics of thresholds `before`; a
    threshold whose signal was not read stays met.
    """
    seen, before = tuple(findings), before or {}
    unread = {each.signal.value for each in seen if isinstance(each, SignalUnobserved) and not each.absent}
    found = {key: topic for key, topic in before.items() if key[0] == "met" and key[1] in unread}
    if seen and all(isinstance(each, NoAction) and each.why in _WITHOUT_THRESHOLDS for each in seen):
        found.update((key, topic) for key, topic in before.items() if key[0] in _OF_THRESHOLDS)
    for finding in _without_repetitions(seen):
        found.update(_of_finding(finding))
    for problem in problems:
        if problem.source in _LOGGED:
            ends = Line("info", "can be written again", {"source": problem.source})
            found["unwritten", problem.source] = Topic(begins=None, ends=ends)
            continue
        kinds = (
            words
            for kind, words in _PROBLEMS.items()
            if problem.source == kind or problem.source.startswith(f"{kind} ")
        )
        began, ended = next(kinds, (_UNREADABLE, "can be read again"))
        found["problem", problem.source] = Topic(
            begins=Line("warning", began, {"source": problem.source, "detail": problem.detail}),
            ends=Line("info", ended, {"source": problem.source}),
        )
    return found


def _without_repetitions(findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """Leave out why nothing was done for a derived containerfs threshold where its source has the same reason.

    Both lie on one device with the same limit, so a second line would say the same under another name. Amounts are not
    compared: the two are read at slightly different times. The journal has both findings.
    """
    configured = {_reason(each) for each in findings if not _is_derived(each)}
    return tuple(each for each in findings if not _is_derived(each) or _reason(each) not in configured)


def _is_derived(finding: Finding) -> bool:
    threshold = finding.threshold if isinstance(finding, NoAction) else None
    return threshold is not None and threshold.origin is Origin.DERIVED


def _reason(finding: Finding) -> tuple[object, ...] | None:
    """Return the key under which a threshold and its derived one count as the same reason for inaction."""
    if not isinstance(finding, NoAction) or finding.threshold is None:
        return None
    resource = SIGNALS[finding.threshold.signal].resource
    return (finding.why, resource, finding.threshold.hard, _name(finding.pod))


def _of_finding(finding: Finding) -> dict[tuple[str, ...], Topic]:
    match finding:
        case ThresholdFinding():
            return _threshold(finding)
        case SignalUnobserved():
            fields = {"signal": finding.signal.value}
            begins = Line("info", _ABSENT, fields) if finding.absent else Line("warning", _UNOBSERVED, fields)
            topic = Topic(
                begins=begins,
                ends=Line("info", _OBSERVED, fields),
            )
            return {("absent" if finding.absent else "unobserved", finding.signal.value): topic}
        case NoAction():
            return _no_action(finding)
        case StatsMissing():
            names = sorted(pod.full_name for pod in finding.pods)
            line = Line("info", "pods without stats", {"pods": names[:_SHOWN_PODS], "count": len(names)})
            return {("missing", *names[:_SHOWN_PODS], str(len(names))): Topic(begins=line)}
        case ProtectedPodSkipped():
            signal = "" if finding.signal is None else finding.signal.value
            line = Line("info", "protected pod passed over", {"pod": finding.pod.full_name, "signal": signal})
            return {("protected", finding.pod.uid, signal): Topic(begins=line)}
        case PodSkipped():
            signal, reason = "" if finding.signal is None else finding.signal.value, finding.reason.value
            line = Line("info", "pod skipped", {"pod": finding.pod.full_name, "signal": signal, "reason": reason})
            return {("skipped", finding.pod.uid, signal, reason): Topic(begins=line)}
        case PreferenceApplied():
            changed = {"pod": finding.pod.full_name, "instead_of": finding.instead_of.full_name}
            return {("preference", finding.pod.uid): Topic(begins=Line("info", "preferred by configuration", changed))}
        case WaitingForMeasurement():
            signal = finding.threshold.signal.value
            waiting = {"signal": signal, "what": list(finding.what), "pods": len(finding.pods)}
            return {("measurement", signal): Topic(begins=Line("info", "waiting for measurements", waiting))}
        case ReclaimWouldHelp() | ContainerFsIgnored():
            return _of_configuration(finding)
        case KeptAway() | Attribution():
            return _of_node(finding)
        case Ranking():
            return {}  # the ranking is in the journal, not in the log
        case _:
            assert_never(finding)


def _of_node(finding: NodeFinding) -> dict[tuple[str, ...], Topic]:
    if isinstance(finding, KeptAway):
        key = ("kept away", finding.condition.value, finding.owner, str(finding.period))
        return {key: Topic(begins=Line("warning", kept_away_text(finding), {"owner": finding.owner}))}
    text = growth_text(finding) or holders_text(finding)
    return {("held", finding.signal.value): Topic(begins=Line("info", text, {"signal": finding.signal.value}))}


def _of_configuration(finding: ReclaimWouldHelp | ContainerFsIgnored) -> dict[tuple[str, ...], Topic]:
    signal = finding.threshold.signal.value
    if isinstance(finding, ContainerFsIgnored):
        line = Line("warning", "containerfs threshold ignored: it is derived from the others", {"signal": signal})
        return {("ignored", signal): Topic(begins=line)}
    option = f"reclaim.{finding.action.value}"
    sizes = {"signal": signal, "option": option, "bytes": finding.size, "missing": finding.missing}
    line = Line("info", "what the configuration keeps would have freed bytes before a pod went", sizes)
    return {("reclaim", signal, option): Topic(begins=line)}


def _threshold(finding: ThresholdFinding) -> dict[tuple[str, ...], Topic]:
    signal, kind = finding.threshold.signal.value, "hard" if finding.threshold.hard else "soft"
    # As configured: the limit of a soft threshold of memory moves with each reading (docs/adr/0017-formula-auto.md).
    key = (signal, kind, str(finding.threshold.value))
    compared: dict[tuple[str, ...], Topic] = {("compared", *key): Topic(begins=None)}
    if not finding.met and not finding.kept_by_min_reclaim:
        return compared
    left = signal_quantity(finding.available, finding.threshold.signal)
    numbers = {
        "signal": signal,
        "kind": kind,
        "threshold": limit_text(finding.limit, finding.threshold),
        "stalled" if finding.threshold.signal in STALLS else "available": left,
    }
    if finding.grace_left:
        numbers["grace_left"] = format_duration(finding.grace_left)
    topic = Topic(
        begins=Line("warning", "threshold met", numbers), ends=Line("info", _NOT_MET, {"signal": signal, "kind": kind})
    )
    return {**compared, ("met", *key): topic}


def _no_action(finding: NoAction) -> dict[tuple[str, ...], Topic]:
    signal = finding.threshold.signal.value if finding.threshold is not None else ""
    fields = {
        "signal": signal,
        "pod": _name(finding.pod),
        "needed": "" if finding.needed is None else _amount(finding.needed, finding.threshold),
        "reachable": "" if finding.reachable is None else _amount(finding.reachable, finding.threshold),
        "detail": finding.detail,
    }
    level = "warning" if finding.why in _LOUD else "info"
    known = {name: value for name, value in fields.items() if value}
    event = finding.why.value if known else f"{finding.why.value}: {no_action_text(finding)}"
    line = Line(level, event, known)
    return {("no action", finding.why.value, signal, fields["pod"]): Topic(begins=line)}


def _amount(quantity: Quantity, threshold: Threshold | None) -> str:
    return str(quantity) if threshold is None else quantity_text(quantity, SIGNALS[threshold.signal].resource)


def _name(pod: Pod | None) -> str:
    return "" if pod is None else pod.full_name
