"""Writes who holds what is short, and who took it, as a document and as sentences for `explain`, `status`, `why`, the page."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from evictd.codec.decision import DECISION_FORM, encode_finding
from evictd.codec.times import parse_time, rfc3339
from evictd.core.model.attribution import Attribution, growth_text, holders_text
from evictd.core.model.decision import Decision, EvictPod
from evictd.core.model.finding import Finding, StatsMissing
from evictd.core.model.signal import SIGNALS
from evictd.core.units.quantity import parse_quantity
from evictd.errors import InputError, InvalidValueError
from evictd.render.documents import Document
from evictd.render.little_growth import is_little_growth
from evictd.render.text import capital, clean, first_of

_NAMED = 3
"""How many pods that were not measured are named."""


def attribution_document(held: Attribution | None, wall: int | None) -> Document | None:
    """Make the document; `wall` is the time of the reading in nanoseconds since 1970, `None` where it is not known."""
    if held is None:
        return None
    since = None if wall is None or held.over is None else rfc3339(wall - held.over)
    return {**encode_finding(held), "since": since, "text": list(attribution_lines(held, wall))}


def attribution_lines(held: Attribution, wall: int | None) -> tuple[str, ...]:
    """Write what filled the supply since it became short, and who holds it.

    On a calm disk logs and volumes are not walked, so who holds it is not known there.
    """
    whole = held.over is not None or SIGNALS[held.signal].filesystem is None
    return tuple(filter(None, (_growth(held, wall), holders_text(held) if whole else "")))


class Filled(NamedTuple):
    """Who took what was short: a sentence, and the pod that took most of what the pods took; empty if not known."""

    text: str = ""
    pod: str = ""


def filled_by(findings: Iterable[Finding], wall: int, decisions: Iterable[Decision] = ()) -> Filled:
    """Return who took what was short in a cycle, or who held it where little grew.

    The causes of the evictions among `decisions` say what was missing.
    """
    found = tuple(findings)
    held = next((each for each in found if isinstance(each, Attribution)), None)
    if held is None:
        return Filled()
    causes = [each.because for each in decisions if isinstance(each, EvictPod)]
    missing = [
        each.limit.value() - each.available.value()
        for each in causes
        if each.limit is not None and each.available is not None
    ]
    if held.filled and is_little(held, max(missing, default=0)):
        return Filled(f"{capital(clean(holders_text(held)))}.")
    unmeasured = [each for each in found if isinstance(each, StatsMissing)]
    names = [clean(pod.full_name) for each in unmeasured for pod in each.pods]
    text = _with_unmeasured(filled_sentence(held, wall), held, names)
    return Filled(text, held.main_grower if text else "")


def filled_sentence(held: Attribution, wall: int, *, begun: int | None = None) -> str:
    """Write who took what was short at a time; empty where nothing grew.

    `begun` is a time at which the pod that grew most was not there: where it alone grew, all of that is since then.
    """
    if begun is not None and held.over is not None and held.grower_alone:
        held = replace(held, over=min(held.over, wall - begun))
    text = _growth(held, wall)
    return f"{capital(text)}." if text else ""


def little_grew(held: Attribution, because: Mapping[str, Any]) -> bool:
    """Whether what grew is little beside what was missing at an eviction with this recorded cause, so it is not why."""
    missing = recorded_missing(because)
    return missing is not None and is_little(held, missing)


def recorded_missing(because: Mapping[str, Any]) -> int | None:
    """Return what was missing by the recorded cause of an eviction; `None` for a limit of the pod's own, or a damaged record."""
    try:
        return parse_quantity(str(because.get("limit"))).value() - parse_quantity(str(because.get("available"))).value()
    except InvalidValueError:
        return None


def is_little(held: Attribution, missing: int) -> bool:
    """Whether what grew is little beside what is missing."""
    return is_little_growth(held.filled, missing)


def _growth(held: Attribution, wall: int | None) -> str:
    since = "" if wall is None or held.over is None else clock_text(rfc3339(wall - held.over))
    return clean(growth_text(held, since=since))


def recorded_attribution(findings: Sequence[Mapping[str, Any]]) -> Attribution | None:
    """Return the last attribution among the findings of a record that can be read."""
    for finding in reversed(findings):
        if finding.get("kind") != Attribution.__name__:
            continue
        try:
            held: Attribution = DECISION_FORM.decode(Attribution, finding, "finding")
        except (InputError, InvalidValueError, ArithmeticError, ValueError):  # a damaged record is no error
            continue
        return held
    return None


def recorded_filled_text(
    findings: Sequence[Mapping[str, Any]],
    wall: str,
    because: Mapping[str, Any],
    *,
    before: str = "",
    pods_before: Collection[str] = (),
) -> str:
    """Write who took what was short at a recorded eviction, or who holds it where little grew; empty where that is not known.

    `before` is the time of the record before, and `pods_before` are the full names of the pods that were there then.
    """
    held = recorded_attribution(findings)
    try:
        begun = parse_time(before) if before and held is not None and held.grower not in pods_before else None
        if held is None or not (text := filled_sentence(held, parse_time(wall), begun=begun)):
            return ""
        if little_grew(held, because):
            return f"{capital(clean(holders_text(held)))}."
    except (InvalidValueError, ArithmeticError, ValueError):  # a damaged time
        return ""
    unmeasured = [pod for each in findings if each.get("kind") == StatsMissing.__name__ for pod in each.get("pods", ())]
    names = [clean(f"{pod.get('namespace')}/{pod.get('name')}") for pod in unmeasured if isinstance(pod, Mapping)]
    return _with_unmeasured(text, held, names)


def _with_unmeasured(sentence: str, held: Attribution, pods: Sequence[str]) -> str:
    """Return a sentence with the pods that were not measured, where what grew may be theirs."""
    may_be = bool(sentence and pods) and held.grown_elsewhere * 2 >= held.filled
    return f"{sentence[:-1]} (not measured: {first_of(list(dict.fromkeys(pods)), _NAMED)})." if may_be else sentence


def clock_text(time: str) -> str:
    """Return the time of the day of an RFC 3339 time: `10:02:00`."""
    return time[11:19]
