"""Finds the owner whose pods filled what was short, from the state after the cycle of an eviction."""

from collections.abc import Iterable

from evictd.commands.incident_holdings import grown_since_crossing
from evictd.core.model.pod import Pod
from evictd.core.model.signal import Signal
from evictd.core.model.state import State
from evictd.render.text import clean

_NEARLY = 10
"""The owner's pods took all but this part of what pods took."""
_FEWEST = 2
"""Fewest pods that grew: of one pod its name says more."""


def filling_owner(pods: Iterable[Pod], state: State | None, signal: Signal | None) -> str:
    """Return `Kind/name` of the owner whose pods took nearly all since the supply became short; empty where there is none."""
    if signal is None or state is None:
        return ""
    grown = grown_since_crossing(state, signal)
    of_owner: dict[tuple[str, str], list[int]] = {}
    for pod in pods:
        if grown.get(pod.uid, 0) > 0:
            of_owner.setdefault((pod.namespace, pod.owner), []).append(grown[pod.uid])
    (_, owner), amounts = max(of_owner.items(), key=lambda each: sum(each[1]), default=(("", ""), [0]))
    whole = sum(sum(each) for each in of_owner.values())
    return clean(owner) if len(amounts) >= _FEWEST and (whole - sum(amounts)) * _NEARLY <= whole else ""
