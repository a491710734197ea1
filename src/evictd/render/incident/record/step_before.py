"""Finds what filled a disk at one time in the minutes before an eviction and belongs to no pod, as the image of a new pod.

The growth of the last minute does not have it, though it may be most of what is missing.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from evictd.codec.records.journal_record import JournalRecord
from evictd.core.model.signal import SIGNALS, Resource, Signal
from evictd.core.units.duration import MINUTE, SECOND
from evictd.render.incident.record.aftermath import seconds_between

_NOTABLE = 20
"""A step is named from this part of the disk on."""
_GIVEN_BACK = 2
"""It counts no more where this part of it was free again since."""


class StepBefore(NamedTuple):
    """A fall of the signal from one reading to the next, before the minute of which growth is measured."""

    at: float
    """Seconds from the eviction to the reading after it; negative."""
    of_no_pod: int
    """What of it belongs to no pod, at least."""


def step_before(
    records: Sequence[JournalRecord], signal: Signal | None, points: Sequence[tuple[float, int]], capacity: int | None
) -> StepBefore | None:
    """Return the largest step before the eviction of the last record, most of it of no pod; `None` without one.

    It counts where it is larger than the fall since. What pods took between the last record before it and the
    eviction is theirs; without such a record all that they hold.
    """
    if signal is None or SIGNALS[signal].resource is not Resource.EPHEMERAL_STORAGE or not records or not capacity:
        return None
    before = [each for each in points if each[0] <= 0]
    steps = [(one[1] - two[1], one[0], two) for one, two in pairwise(before) if two[0] * SECOND <= -MINUTE]
    fell, began, (at, left) = max(steps, default=(0, 0.0, (0.0, 0)))
    after = [amount for seconds, amount in before if seconds >= at]
    if fell * _NOTABLE < capacity or left - after[-1] >= fell or (max(after) - left) * _GIVEN_BACK >= fell:
        return None
    then = [each.observation.disk for each in records if seconds_between(records[-1], each) <= began]
    known, now = next((each for each in reversed(then) if each), {}), records[-1].observation.disk
    of_pods = sum(max(used - known.get(uid, 0), 0) for uid, used in now.items())
    of_no_pod = fell - of_pods
    return StepBefore(at, of_no_pod) if of_no_pod * 2 >= fell else None
