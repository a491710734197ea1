"""Computes which of evictd's taints to add to a node and to remove, and when to try again.

`spec.taints` is an atomic list (`x-kubernetes-list-type: atomic`): the API server knows no way to write one entry of it. So the
whole list is read, evictd's entries in it are changed, and the whole list is written with the `resourceVersion` that was read.

    look -> write -> 2xx                 done
    ^        |-----> 409                 another writer was faster: look again after a short, growing pause
    |--------|-----> any other refusal   look again after `RENEW`; the conditions go on meanwhile

Taints are never given up: one that could not be removed keeps pods off a healthy node. While a pause lasts, the request queue
serves the sources after the reporter (evictions, events).
"""

from collections.abc import Collection
from dataclasses import dataclass

from evictd.act.cluster.conditions import TAINTS
from evictd.clients.kube.nodes import Taint
from evictd.config.settings import TaintEffect
from evictd.core.units.duration import MILLISECOND, MINUTE, SECOND

FIRST_PAUSE = 250 * MILLISECOND
LONGEST_PAUSE = 2 * SECOND
"""Bounds of the pause after a conflict; it doubles with each conflict in a row."""
AFTER_REFUSAL = MINUTE
OWN_KEYS = frozenset(TAINTS.values())
OWN_EFFECTS = frozenset(effect.value for effect in TaintEffect)


def is_own(taint: Taint) -> bool:
    """Whether evictd may add or remove it: one of its keys and effects. The same key with NoExecute is never evictd's."""
    return taint["key"] in OWN_KEYS and taint["effect"] in OWN_EFFECTS


def pair_of(taint: Taint) -> tuple[str, str]:
    """Return key and effect of a taint, which together name it."""
    return taint["key"], taint["effect"]


def changed(there: Collection[Taint], wanted: Collection[tuple[str, str]]) -> tuple[Taint, ...] | None:
    """Return the whole list with evictd's taints as `wanted` (keys and effects) has them; `None` for nothing to change.

    Every other entry stays as it is and where it is, with all of its fields.
    """
    found = {pair_of(taint) for taint in there if is_own(taint)}
    if found == set(wanted):
        return None
    kept = tuple(taint for taint in there if not is_own(taint) or pair_of(taint) in wanted)
    return kept + tuple({"key": key, "effect": effect} for key, effect in sorted(set(wanted) - found))


@dataclass(slots=True)
class TaintRetry:
    """Time from which the taints may be written, and whether the node must be read again first."""

    not_before: int = 0
    """`now` of the request queue, in nanoseconds."""
    stale: bool = False
    """Whether our copy of the node object is out of date."""
    refused: bool = False
    """The last attempt was refused for a reason that is not a conflict."""
    _pause: int = FIRST_PAUSE

    def node_read(self) -> None:
        """Take note that the node was read."""
        self.stale = False

    def written(self) -> None:
        """Take note of a success."""
        self.stale = self.refused = False
        self.not_before, self._pause = 0, FIRST_PAUSE

    def conflicted(self, now: int) -> None:
        """Take note that another writer was faster."""
        self.stale = True
        self.not_before, self._pause = now + self._pause, min(2 * self._pause, LONGEST_PAUSE)

    def was_refused(self, now: int) -> None:
        """Take note of a refusal."""
        self.stale = self.refused = True
        self.not_before, self._pause = now + AFTER_REFUSAL, FIRST_PAUSE
