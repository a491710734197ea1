"""Lists the last decisions for the page, with what became of each eviction."""

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from evictd.core.model.signal import Signal
from evictd.render.status.page_chart import seconds_ago
from evictd.render.text import seconds_text, signal_amount

Document = Mapping[str, Any]

_USE = re.compile(r"; it (?:uses|stalls) [^;(]+(?=;|$)")
"""What the pod used, in the text of an eviction."""
_RELIEF_SECONDS = 60
"""Time after the end of a pod within which what it gave back shows."""


def page_decisions(
    status: Document, said: Collection[str], trends: Mapping[str, Sequence[tuple[float, int]]]
) -> list[dict[str, Any]]:
    """Return the decisions, newest first; the newest one of each incident has an anchor, to which the marks of a line lead.

    `said` are the sentences that stand above already: reasons, with the leaving pods, and who took what is short. Beside a
    reason the decision's text leaves out what the pod used: the reason has it.
    """
    found: list[dict[str, Any]] = []
    anchors: set[str] = set()
    for decision in reversed(status["decisions"]):
        incident = decision.get("incident", "")
        anchor = f"incident-{incident}" if incident and incident not in anchors else ""
        anchors.add(incident)
        text = _USE.sub("", decision["text"]) if decision["why"] else decision["text"]
        text += _end(decision, status, trends.get(decision["signal"], ()))
        why = "" if decision["why"] in said else decision["why"]
        filled = "" if decision["filled"] in said else decision["filled"]
        found.append({**decision, "why": why, "filled": filled, "text": text, "incident": incident, "anchor": anchor})
    return found


def _end(decision: Document, status: Document, trend: Sequence[tuple[float, int]]) -> str:
    """Write when an evicted pod ended, and how much was left within a minute, or by now; empty where it has not ended."""
    if not decision["ended"]:
        return ""
    begun, ended = seconds_ago(status, decision["at"]), seconds_ago(status, decision["ended"])
    if begun is None or ended is None:
        return ""
    text = f"; it ended {seconds_text(max(begun - ended, 0))} later"
    after = [(ended - ago, amount) for ago, amount in trend if ended - _RELIEF_SECONDS <= ago < ended]
    if not after:
        return text
    passed, amount = after[-1]
    when = "within a minute of that" if ended >= _RELIEF_SECONDS else f"{seconds_text(passed)} after that"
    return f"{text}, and {signal_amount(amount, Signal(decision['signal']))} were left {when}"
