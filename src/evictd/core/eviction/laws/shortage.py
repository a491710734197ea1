"""Describes one shortage for the rules that weigh evictions: the missing amount, its growth, and its holders.

`need`, `blame`, `prudence` and `effect` use these numbers, which are computed here once for each choice.
"""

from collections.abc import Iterable, Mapping
from dataclasses import field

from evictd.core.eviction.accounts.attribution import grown_lately, grown_since
from evictd.core.eviction.accounts.holdings import growth_elsewhere, growth_of_pods, growth_rate, known_rate
from evictd.core.eviction.accounts.ledger import amounts_owed, supply_of
from evictd.core.eviction.rank import Meter, usage_meter
from evictd.core.eviction.reclaim import Layout
from evictd.core.eviction.refusals.backoff import RECREATED_WITHIN, owner_of
from evictd.core.eviction.time_left import stop_time, target_of
from evictd.core.frozen import frozen
from evictd.core.model.amount_text import amount_with, noun_amount
from evictd.core.model.attribution import Crossing
from evictd.core.model.config import EvictionConfig
from evictd.core.model.finding import NoAction, RankedPod, Standing
from evictd.core.model.holdings import SupplyHoldings
from evictd.core.model.observation import Observation, SignalObservation
from evictd.core.model.signal import SIGNALS, STALLS, WITH_REQUEST, Resource, Signal
from evictd.core.model.state import State
from evictd.core.model.threshold import Threshold
from evictd.core.units.duration import SECOND
from evictd.core.units.quantity import NANO

EVICTION_TIME = 40 * SECOND
"""The least time for which one eviction should relieve the node, at the present rate. With the time of the stop alone, a second
or two, five sidecars of 80 MiB went one by one before a leak of 50 MiB/s; with 10 s eight pods of 250 MiB in the place of a
static pod that grew by 20 MiB/s (config/incidents/15-static-culprit.yaml)."""
SMALL_PART = 2
"""A pod that holds a half of the amount is a victim of its own right; less is small. Between 1 and 10 no incident ends
differently."""
SMALL_PART_ON_DISK = 10
"""On disks images and open files come on top of what was measured of a pod, so a tenth may be more. Between 2 and 50 no incident
ends differently."""
LIKE_THE_LARGEST = 2
"""For a resource that pods do not request, a pod with half the holdings of the largest pod is as much a cause as that pod."""

NOISE = 2
"""Growth of less than a half of what is missing says nothing of the cause (with 1 or 10 no incident ends differently)."""
MOSTLY_OVER = 2
"""A pod with twice its request is the cause again when its owner creates it again. One slightly over its request was evicted 60
times in 70 s beside a pod that grew within its request."""


@frozen
class Shortage:
    """A due threshold and the state of its supply."""

    threshold: Threshold
    supply: Signal
    seen: SignalObservation
    missing: int
    """The amount missing to the target, minimum reclaim included, less the bytes that victims still owe; at least 1."""
    rate: int
    """Fall of the available amount in units per second: as measured just before, or the mean of the last minute."""
    eviction_time: int
    """Nanoseconds that one eviction takes on this node."""
    holdings: SupplyHoldings
    held: Mapping[str, int]
    """By uid: what each measured pod holds of the supply."""
    recreated: frozenset[str]
    """Uids of pods that their owner created anew within a minute after an eviction: their end gives nothing back for long."""
    crossing: Crossing | None = None
    """The holdings when the supply became short; `None`: unknown."""
    growth: int = field(init=False)
    """Growth of about the last minute, of pods and elsewhere; added up once, for every rule asks for it."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "growth", growth_of_pods(self.holdings) + growth_elsewhere(self.holdings))

    @property
    def in_part(self) -> int:
        """The part of an amount below which a pod counts as small: a half, and a tenth on disks.

        Memory, PIDs and swap are measured exactly. On disks images and open files come on top of what was measured of a pod.
        """
        return SMALL_PART_ON_DISK if self.on_disk else SMALL_PART

    @property
    def on_disk(self) -> bool:
        """Whether the supply is of a filesystem."""
        return SIGNALS[self.supply].filesystem is not None

    @property
    def measurable(self) -> bool:
        """Whether it is known how much each pod holds; how much of a stall a pod causes is not."""
        return self.threshold.signal not in STALLS

    @property
    def unexplained_rate(self) -> int:
        """The part of the rate that the growth of measured pods and growth elsewhere do not explain."""
        return max(self.rate - known_rate(self.holdings), 0)

    def is_new(self, uid: str) -> bool:
        """Whether a pod was first measured too lately to know its growth.

        Memory is measured in each cycle, so the second cycle knows. On a disk several cycles take their numbers from one walk, so
        a pod is new for about a minute.
        """
        known = self.holdings.level(uid)
        if known is None:
            return True
        return known.at == known.since or (self.on_disk and uid in self.holdings.arrived)

    def with_growth(self, evictions: int, *, ended: int = 0) -> int:
        """Return what is missing now, plus the growth at the present rate during this number of evictions.

        `ended` is by how much the evicted pods grew in about the last minute: their part of the rate ends with them.
        """
        goes_on = self.growth_in(self.eviction_time * evictions)
        if ended > 0 and self.growth > 0:
            goes_on = goes_on * max(self.growth - ended, 0) // self.growth
        return self.missing + goes_on

    def growth_in(self, nanoseconds: int) -> int:
        """Return what the present rate adds in this time."""
        return self.rate * nanoseconds // SECOND

    def held_by(self, rows: Iterable[RankedPod]) -> int:
        """Return what these pods hold together."""
        held = self.held
        return sum([held.get(row.uid, 0) for row in rows])

    def grown_of(self, uid: str) -> int:
        """Return by how much a pod grew within about the last minute."""
        return grown_lately(uid, self.holdings)

    def taken_by(self, uid: str) -> int:
        """Return by how much a pod grew since the supply became short, and in about the minute before."""
        if self.crossing is None or uid not in self.holdings.used:
            return 0
        return max(grown_since(uid, self.holdings, self.crossing), 0)

    def is_noise(self, growth: int) -> bool:
        """Whether growth is too small beside the missing amount to say anything of the cause."""
        return growth * NOISE < self.missing

    def mostly_grows(self, uid: str) -> bool:
        """Whether a pod makes at least half of all growth."""
        grown = self.grown_of(uid)
        return grown > 0 and grown * 2 >= self.growth

    def exceeds(self, row: RankedPod) -> bool:
        """Whether a pod uses more than it requested; there are no requests for inodes, PIDs and swap."""
        return self.has_requests and row.standing is Standing.EXCEEDS

    def stands_out(self, row: RankedPod) -> bool:
        """Whether a pod exceeds its request; where pods request nothing, whether it holds half of what the largest one does."""
        if self.has_requests:
            return self.exceeds(row)
        held = self.held.get(row.uid, 0)
        return held > 0 and held * LIKE_THE_LARGEST >= max(self.held.values())

    def is_far_over(self, row: RankedPod) -> bool:
        """Whether a pod stands out, and not by a little: it uses twice its request."""
        by_little = self.has_requests and (row.usage or 0) * NANO < row.request * MOSTLY_OVER
        return self.stands_out(row) and not by_little

    def is_leak(self, row: RankedPod) -> bool:
        """Whether a pod is the leak itself: it stands out and makes at least half of all growth."""
        return self.stands_out(row) and self.mostly_grows(row.uid)

    def exceeding(self, rows: Iterable[RankedPod]) -> list[RankedPod]:
        """Return the pods that use more than they requested."""
        if not self.has_requests:
            return []
        return [row for row in rows if row.standing is Standing.EXCEEDS]

    @property
    def has_requests(self) -> bool:
        """Whether pods request what is short."""
        return SIGNALS[self.threshold.signal].resource in WITH_REQUEST


def shortage_of(
    threshold: Threshold,
    seen: SignalObservation,
    observation: Observation,
    state: State,
    config: EvictionConfig,
    *,
    layout: Layout,
    now: int,
) -> Shortage:
    """Return the shortage of a threshold's supply."""
    supply = supply_of(threshold.signal, layout)
    holdings = state.holdings.get(supply, SupplyHoldings())
    target = target_of(threshold, seen, config, with_min_reclaim=True)
    available = seen.available.value()
    victims = (victim for victim in state.victims if victim.cause is not supply)
    owed = sum(amounts_owed((each,), supply, available, now)[each.uid] or 0 for each in victims)
    return Shortage(
        threshold=threshold,
        supply=supply,
        seen=seen,
        missing=max(target.value() - available - owed, 1),
        rate=growth_rate(holdings, seen),
        eviction_time=EVICTION_TIME + stop_time(seen.stop_time),
        holdings=holdings,
        held=_held(observation, holdings, usage_meter(supply, layout)),
        recreated=_recreated(observation, state, now),
        crossing=state.crossings.get(supply),
    )


def _held(observation: Observation, holdings: SupplyHoldings, meter: Meter) -> Mapping[str, int]:
    """Return by uid what each pod holds: as the state knows it, or as measured now where it does not."""
    if len(holdings.used) >= len(observation.pods):
        return holdings.used
    held, stats = dict(holdings.used), observation.pod_stats
    for pod in observation.pods:
        if pod.uid in held or (found := stats.get(pod.uid)) is None:
            continue
        if (used := meter(pod, found)) is not None:
            held[pod.uid] = used
    return held


def _recreated(observation: Observation, state: State, now: int) -> frozenset[str]:
    owners = {name: each for name, each in state.backoff.owners.items() if now - each.evicted_at < RECREATED_WITHIN}
    if not owners:
        return frozenset()
    return frozenset(
        pod.uid
        for pod in observation.pods
        if (owner := owners.get(owner_of(pod))) is not None and pod.uid not in owner.siblings
    )


def needed_with_growth(finding: NoAction, resource: Resource) -> str:
    """Write what is needed, and where it is more than what is missing now, that it is if growth goes on: `6Gi is needed`."""
    needed = f"{amount_with(finding.needed, resource)} needed"
    if not finding.includes_growth:
        return needed
    growth = f"if growth goes on while other pods end ({EVICTION_TIME // SECOND} s or more each)"
    if finding.missing_now is None:
        return f"{needed} {growth}"
    return f"{amount_with(finding.missing_now, resource)} missing now, {noun_amount(finding.needed, resource)} {growth}"
