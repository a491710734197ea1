"""Folds the findings that the page lists: one line for all signals, and for all pods, of which it says the same."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from evictd.render.text import counted, first_of

Document = Mapping[str, Any]

_SHOWN = 3
_OF_A_POD = re.compile(r"(?P<pod>\S+/\S+) is (?P<what>skipped: .*)")
"""A finding about one pod, without its signal."""


def folded_notes(notes: Sequence[str], status: Document) -> list[str]:
    """Return the notes, one for all signals of which it says the same, and one for all pods that are skipped for one reason."""
    known = {entry["signal"] for entry in status["signals"]}
    found: dict[str, list[str]] = {}
    for note in notes:
        signal, colon, text = note.partition(": ")
        named, text = (signal, text) if colon and signal in known else ("", note)
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
