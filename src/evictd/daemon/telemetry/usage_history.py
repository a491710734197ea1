"""Keeps what each pod held of a supply over the last hour, so that a slow growth is attributed to the pods that grew.

The core keeps about a minute of it, which is enough to choose a pod. One sample of a supply is kept every `SPACING`, and shares
its mapping with the core's state of that cycle.
"""

from collections.abc import Iterable, Mapping, Sequence

from evictd.core.frozen import frozen
from evictd.core.model.holdings import SupplyHoldings
from evictd.core.model.pod import Pod
from evictd.core.model.signal import Signal
from evictd.core.units.duration import HOUR, MINUTE

SPACING = 2 * MINUTE
LENGTH = HOUR
_STEADY_PART = 8
"""What a pod holds is about the most that it held where less than this part of that is missing."""


@frozen
class UsageSample:
    """What pods held of a supply at one reading, at `at` of the boot-time clock."""

    at: int
    used: Mapping[str, int]
    """By uid."""
    elsewhere: int | None
    """The amount that belongs to no pod; `None` where it is not known."""
    unmeasured: frozenset[str] = frozenset()
    """The uids of the pods that were there and not measured."""

    @property
    def held(self) -> int | None:
        """The amount that was used, but for pods that were not measured; `None` where it is not known."""
        return None if self.elsewhere is None else sum(self.used.values()) + self.elsewhere

    def grown(self, used: Mapping[str, int]) -> dict[str, int]:
        """Return by how much pods grew since then: one that came later by all that it holds; one unmeasured then is left out."""
        return {uid: now - self.used.get(uid, 0) for uid, now in used.items() if uid not in self.unmeasured}


UsageHistory = Mapping[Signal, tuple[UsageSample, ...]]


def usage_recorded(
    history: UsageHistory, holdings: Mapping[Signal, SupplyHoldings], pods: Iterable[Pod]
) -> UsageHistory:
    """Add what was read now of each supply, unless the last sample is younger than `SPACING`; `pods` are all that are listed.

    A supply without holdings is forgotten.
    """
    return {supply: _added(history.get(supply, ()), each, pods) for supply, each in holdings.items()}


def _added(samples: tuple[UsageSample, ...], read: SupplyHoldings, pods: Iterable[Pod]) -> tuple[UsageSample, ...]:
    if samples and read.at - samples[-1].at < SPACING:
        return samples
    elsewhere = None if read.elsewhere is None else read.elsewhere.used
    kept = (each for each in samples if each.at > read.at - LENGTH)
    unmeasured = frozenset(pod.uid for pod in pods if pod.uid not in read.used)
    return (*kept, UsageSample(at=read.at, used=read.used, elsewhere=elsewhere, unmeasured=unmeasured))


def most_held(samples: Iterable[UsageSample], uid: str) -> tuple[int, bool]:
    """Return the most that a pod held, and whether it held about as much in most samples that are not 0: then it did not leak."""
    held = [used for each in samples if (used := each.used.get(uid, 0)) > 0]
    most = max(held, default=0)
    near = sum(used * _STEADY_PART >= most * (_STEADY_PART - 1) for used in held)
    return most, near > 1 and near * 2 > len(held)


def sample_before(samples: Sequence[UsageSample], at: int, held: int | None = None) -> UsageSample | None:
    """Return the last sample that is not after the begin of a fall, or else the first one; `None` where there is none.

    If the next one is nearer to that begin, it is returned: what a pod gave back between the two would hide what it took since.
    Of one with as much as is held now the next is returned: what had it was given back before this fall began.
    """
    earlier = [each for each in samples if each.at <= at]
    found = (*earlier[-1:], *samples[len(earlier) :])
    if earlier and len(found) > 1 and found[1].at - at < at - found[0].at:
        found = found[1:]
    return next((each for each in found if held is None or each.held is None or each.held < held), None)
