"""Reads a recorded ranking for `evictd advise`: the pod behind the evicted one, and by how narrow a margin that one was first.

The keys of a ranking are, in order, whether usage exceeds the request, the preference, the priority, and usage above the request
(`core.eviction.rank`). The margin is the least amount, in the unit of the usage, with which less another pod would have been
first.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import msgspec


class RankedRow(msgspec.Struct, frozen=True, rename="camel"):
    """What `advise` reads of a row; fields that are not declared are skipped."""

    uid: str
    namespace: str = ""
    name: str = ""
    exceeds_request: bool | None = None
    preference: int = 0
    priority: int = 0
    usage: int | None = None
    request: int = 0
    protected: bool = False


class Overtaken(NamedTuple):
    """The narrowest margin of an evicted pod: with how much less use of it another one would have gone first, and which."""

    less_use: int = 0
    by: str = ""
    """`namespace/name`; empty where no other one would have."""


def uid_behind(rows: Sequence[RankedRow], uid: str) -> str:
    """Return the uid of the pod behind this one in the ranking; empty where there is none."""
    ranked = [row.uid for row in rows]
    return next((behind for before, behind in pairwise(ranked) if before == uid), "")


def overtaken(rows: Sequence[RankedRow], uid: str) -> Overtaken:
    """Return with how much less use of the pod another one is before it, and that one."""
    index = next((number for number, row in enumerate(rows) if row.uid == uid), len(rows))
    first, behind = rows[index : index + 1], rows[index + 1 :]
    found = [
        Overtaken(less, f"{row.namespace}/{row.name}")
        for each in first
        for row in behind
        if not row.protected and (less := _less_use(each, row)) is not None
    ]
    return min(found, default=Overtaken())


def _less_use(first: RankedRow, other: RankedRow) -> int | None:
    """Return with how much less use of `first` the other is before it; `None` where it is with none, or that is not known."""
    if first.usage is None or other.usage is None:
        return None
    over, other_over = first.usage - first.request, other.usage - other.request
    within = over if first.exceeds_request else 0
    """With so much less use it does not exceed its request."""
    keys, other_keys = (first.preference, first.priority), (other.preference, other.priority)
    equal = max(over - other_over, 0) if keys == other_keys else 0
    if other.exceeds_request:
        return equal if keys == other_keys else within
    return None if keys < other_keys else max(within, equal)
