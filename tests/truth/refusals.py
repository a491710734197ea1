"""Compares which pod is said to go, or that none does, with what a played world then does at its thresholds.

Also that no pod goes at a threshold is something that happens: a cycle in which it is due and a culprit may not go. What follows
growth that begins or ends after the last reading is not judged.
"""

from collections.abc import Iterator
from typing import NamedTuple

from evictd.core.model.decision import EvictPod
from evictd.core.model.finding import NoAction, NoActionReason
from evictd.core.units.duration import SECOND
from evictd.render.history.pod.standing import place_in, standing_lines
from evictd.render.status.signal_entry import is_due
from evictd.render.status.times.timing import approaches, graces
from evictd.world.kernel import OomKill
from evictd.world.loop import Run
from tests.truth.forecasts import SOON, Document, Said, statements

_CULPRITS = {NoActionReason.PROTECTED_CULPRIT, NoActionReason.UNMEASURED_CULPRIT}
_KNOWN = 3
"""Readings from which on growth is known."""
NONE = ""
"""In the place of a pod: none goes."""


class Done(NamedTuple):
    """What is done at a threshold that is due, in seconds of the world; `pod` is empty where a culprit may not go."""

    at: float
    pod: str


def wrong_of(run: Run, changes: list[float]) -> Iterator[str]:
    """Yield each statement about the next pod of memory that is wrong.

    Growth begins or ends at the times of `changes`, and where the kernel kills.
    """
    done = _done(run)
    kills = [each.at / SECOND for each in run.happened if isinstance(each.event, OomKill)]
    changes = [*changes, *kills, *(kill + change for kill in kills for change in changes)]
    for said in statements(run):
        then = next((each for each in done if each.at > said.at), None)
        if then is None or then.at - said.at > SOON or said.document["leaving"] or said.readings < _KNOWN:
            continue
        if any(said.at - SOON < change <= then.at for change in changes):
            continue
        entry = next(each for each in said.document["signals"] if each["signal"] == "memory.available")
        if not _is_near(said.document, entry):
            continue
        for name, text in (("status", said.headline.text), ("why", _why(said))):
            if text is not None and not _says(text, then.pod):
                yield f"at {said.at:.0f}s {name}: {text} | {then.pod or 'none'} goes after {then.at - said.at:.1f}s"


def _is_near(document: Document, entry: Document) -> bool:
    """Whether the headline names the signal, because it is short or will be soon."""
    near = [*(each.entry for each in graces(document)), *(each.entry for each in approaches(document))]
    return is_due(entry) or entry in near


def _says(text: str, pod: str) -> bool:
    none = any(
        each in text.lower() for each in ("no pod would be evicted", "no pod goes", "evicts no pod", "now none would")
    )
    named = any(f"{pod} {verb}" in text for verb in ("would be evicted", "would be", "goes"))
    return none if pod == NONE else named


def _why(said: Said) -> str | None:
    """Return what `evictd why` says of the pod that is first for memory; `None` where no pod may be evicted."""
    for queue in said.explained["queues"]:
        if "memory.available" in queue["signals"]:
            rows = [row for row in queue["rows"] if not row["protected"]]
            names = [f"{row['namespace']}/{row['name']}" for row in rows]
            if (first := place_in(queue, queue["next"] or next(iter(names), ""))) is None:
                return None
            text = "\n".join(standing_lines([first], said.document))
            return f"{queue['next']} would be evicted\n{text}" if queue["next"] else text
    return None


def _done(run: Run) -> list[Done]:
    found = []
    for cycle in run.cycles:
        evictions = [each for each in cycle.step.decisions if isinstance(each, EvictPod) and not each.shortens]
        refused = [each for each in cycle.step.findings if isinstance(each, NoAction) and each.why in _CULPRITS]
        found += [Done(cycle.at / SECOND, each.pod.full_name) for each in evictions]
        found += [Done(cycle.at / SECOND, NONE)] if refused and not evictions else []
    return found
