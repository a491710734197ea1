"""Lists the last decisions for the page, with what became of each eviction."""

import re
from collections.abc import Collection, Mapping, Sequence
from itertools import groupby
from typing import Any

from evictd.core.model.signal import Signal
from evictd.render.status.last_action import freed_text
from evictd.render.status.owners import seconds_ago
from evictd.render.text import clean, seconds_text, signal_amount

Document = Mapping[str, Any]

_USE = re.compile(r"; it (?:uses|stalls) [^;(]+(?=;|$)")
"""What the pod used, in the text of an eviction."""
_SHOWN = 3
_LEAST_HIDDEN = 2
"""Fewest evictions that are folded: in place of one alone there would be a line that says so."""


def page_decisions(status: Document, said: Collection[str]) -> list[dict[str, Any]]:
    """Return the decisions, newest first; the newest one of each incident has an anchor, to which the marks of a line lead.

    `said` are the sentences that stand above already: reasons, with the leaving pods, and who took what is short. Beside a
    reason the decision's text leaves out what the pod used: the reason has it. What filled a supply is said to be of that time:
    what the pod took went with it.
    """
    found: list[dict[str, Any]] = []
    anchors: set[str] = set()
    for decision in reversed(status["decisions"]):
        incident = decision.get("incident", "")
        anchor = f"incident-{incident}" if incident and incident not in anchors else ""
        anchors.add(incident)
        text = _USE.sub("", decision["text"]) if decision["why"] else decision["text"]
        text += _end(decision, status) + (f"; {freed}" if (freed := freed_text(decision)) else "")
        why = "" if decision["why"] in said else decision["why"]
        filled = decision["filled"]
        filled = "" if not filled or filled in said else f"At this eviction, {filled[:1].lower()}{filled[1:]}"
        found.append({**decision, "why": why, "filled": filled, "text": text, "incident": incident, "anchor": anchor})
    return found


def _end(decision: Document, status: Document) -> str:
    """Write when an evicted pod ended, and how much was left when, within a minute; empty where it has not ended."""
    if not decision["ended"]:
        return ""
    begun, ended = seconds_ago(status, decision["at"]), seconds_ago(status, decision["ended"])
    if begun is None or ended is None:
        return ""
    after = seconds_text(begun - ended).replace(".0s", "s") if begun - ended >= 1 else "less than 1s"  # whole seconds
    text = f"; it ended {after} later"
    if (amount := decision["left"]) is None:
        return text
    left = signal_amount(amount, Signal(decision["signal"]))
    return f"{text}, and {left} were left {seconds_text(decision['leftAfterSeconds'])} after that"


def folded_decisions(decisions: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return groups of decisions in their order: `rows`, and of those that are folded the `title`.

    Folded are the evictions of one owner that follow one another, but for the newest ones: each tells the same.
    """
    found: list[dict[str, Any]] = []
    for owner, group in groupby(decisions, key=lambda each: each.get("owner", "") if each["pod"] else ""):
        rows = list(group)
        if not owner or len(rows) < _SHOWN + _LEAST_HIDDEN:
            found.append({"title": "", "rows": rows})
            continue
        hidden = rows[_SHOWN:]
        name = clean(owner.partition("/")[2])
        title = f"{len(hidden)} earlier evictions of pods of {name}, from {_clock(hidden[-1])} to {_clock(hidden[0])}"
        found += ({"title": "", "rows": rows[:_SHOWN]}, {"title": title, "rows": hidden})
    return found


def _clock(decision: Document) -> str:
    return str(decision["at"][11:19])
