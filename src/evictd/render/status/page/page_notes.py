"""Folds the findings that the page lists: one line for all signals, and for all pods, of which it says the same."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from evictd.render.text import clean, counted, first_of

Document = Mapping[str, Any]

_SHOWN = 3
_SKIPPED = "skipped"
_REFUSED = "a disruption budget refused its eviction"
"""Why a pod is skipped whose eviction the API server refused."""
_OF_A_POD = re.compile(r"(?P<pod>\S+/\S+) is (?P<what>skipped(?: now for \S+)?: .*)")
"""A finding about one pod, without its signal."""


def folded_notes(notes: Sequence[str], status: Document) -> list[str]:
    """Return the notes, one for all signals of which it says the same, and one for all pods that are skipped for one reason.

    Where the API server is asked for another pod of the same signal, it is skipped for that one; the asked pod itself is not.
    The headline counts the pods that the API server refused before that: here would be only those that rank before the asked one.
    """
    known = {entry["signal"] for entry in status["signals"]}
    asked = {row["signal"]: clean(row["pod"]) for row in status["asked"]}
    found: dict[str, list[str]] = {}
    for note in notes:
        signal, colon, text = note.partition(": ")
        named, text = (signal, text) if colon and signal in known else ("", note)
        if (pod := asked.get(named)) is not None:
            if text.startswith(f"{pod} is {_SKIPPED}: ") or text.endswith(f" is {_SKIPPED}: {_REFUSED}"):
                continue
            text = text.replace(f" is {_SKIPPED}: ", f" is {_SKIPPED} now for {pod}: ", 1)
        if named not in found.setdefault(text, []):
            found[text].append(named)
    skipped: dict[tuple[str, str], list[str]] = {}
    for text, names in found.items():
        before = f"{', '.join(names)}: " if all(names) else ""
        of_pod = _OF_A_POD.fullmatch(text)
        pod, what = ("", text) if of_pod is None else (of_pod["pod"], of_pod["what"])
        skipped.setdefault((before, what), []).append(pod)
    return [f"{before}{_who(pods)}{what}" for (before, what), pods in skipped.items()]


def _who(pods: Sequence[str]) -> str:
    if not pods[0]:
        return ""
    of = "" if len(pods) <= _SHOWN else f" ({counted(len(pods), 'pod')})"
    return f"{first_of(pods, _SHOWN)}{of} {'is' if len(pods) == 1 else 'are each'} "  # the reason is that of one pod
