"""Computes how to remove what evictd left on a node's object: its conditions, the built-in ones it wrote, its taints.

A condition that evictd wrote as True says until when it holds unless renewed (`conditions`). A taint, in which the API has no
place for a time, holds as long as the condition of its kind. What does not hold any more was left behind by an evictd that
crashed or was removed, and any later evictd or `evictd cleanup` recognises it by that.
"""

from collections.abc import Mapping

from evictd.act.cluster.conditions import BY_EVICTD, TAINTS, ConditionReport, condition_type, holds_until
from evictd.act.cluster.taints import changed, is_own, pair_of
from evictd.clients.kube.nodes import Condition, NodeObject, Taint
from evictd.config.settings import ConditionTypes
from evictd.core.frozen import frozen
from evictd.core.model.signal import NodeCondition

OWN_TYPES = {condition_type(ConditionTypes.OWN, condition): condition for condition in NodeCondition}
BUILT_IN_TYPES = {condition.value: condition for condition in NodeCondition}


@frozen
class Removal:
    """The changes to write to one node."""

    withdrawn: tuple[Condition, ...] = ()
    """Built-in conditions that evictd wrote as True, as False: the types belong to Kubernetes and stay."""
    removed: tuple[str, ...] = ()
    """Types of evictd's own conditions, whose entries go."""
    taints: tuple[Taint, ...] | None = None
    """The whole list without those of evictd; None where it has none."""
    taint_names: tuple[str, ...] = ()
    """The taints that go, as `key:effect`."""

    @property
    def names(self) -> tuple[str, ...]:
        """A description of what is removed, for people."""
        return (*(each.type for each in self.withdrawn), *self.removed, *self.taint_names)


def removal(node: NodeObject, wall: int, *, expired: bool = False) -> Removal:
    """Return evictd's conditions and taints on a node; with `expired` only those that have expired at `wall`, ns since 1970."""
    valid = _valid(node.conditions, wall) if expired else frozenset()
    known = node.conditions
    removed = tuple(name for name, kind in OWN_TYPES.items() if name in known and kind not in valid)
    if expired:  # a running evictd reports False without a time
        removed = tuple(name for name in removed if known[name].status == "True")
    marked = {
        name
        for name, kind in BUILT_IN_TYPES.items()
        if name in known and known[name].status == "True" and BY_EVICTD in known[name].message and kind not in valid
    }
    calm = ConditionReport(types=ConditionTypes.BUILT_IN, active=frozenset()).conditions(known, wall)
    kept = {TAINTS[kind] for kind in valid}
    there = {pair_of(taint) for taint in node.taints if is_own(taint)}
    held = {each for each in there if each[0] in kept}
    return Removal(
        withdrawn=tuple(each for each in calm if each.type in marked),
        removed=removed,
        taints=changed(node.taints, held),
        taint_names=tuple(sorted(":".join(each) for each in there - held)),
    )


def _valid(known: Mapping[str, Condition], wall: int) -> frozenset[NodeCondition]:
    """Return the kinds of pressure that a condition of evictd reports, and that hold at `wall`."""
    every = (*OWN_TYPES.items(), *BUILT_IN_TYPES.items())
    return frozenset(kind for name, kind in every if name in known and holds_until(known[name]) >= wall)
