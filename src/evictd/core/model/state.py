"""Defines the state that one cycle leaves to the next.

Everything the kubelet keeps in fields of its `managerImpl`, as one value, so that it can be written down, read back after a
restart and compared. Policy Standard keeps a ledger: victims with what they owe, collections, back-offs
(`core.eviction.standard`). Policy Kubelet is in a phase, because its decision spans two readings with the node-level reclaim
between them (`core.eviction.kubelet`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from evictd.core.frozen import frozen
from evictd.core.model.attribution import Crossing
from evictd.core.model.decision import Decision, PodCondition
from evictd.core.model.finding import Finding, NoActionReason
from evictd.core.model.holdings import Effect, Pause, SupplyHoldings
from evictd.core.model.observation import Filesystems, Observation, SignalObservation
from evictd.core.model.signal import Filesystem, NodeCondition, Resource, Signal
from evictd.core.model.threshold import Threshold

IMMEDIATE_EVICTION_GRACE_PERIOD_SECONDS = 1
"""The grace period that a hard threshold gives (kubelet `immediateEvictionGracePeriodSeconds`)."""


class PhaseName(Enum):
    """Activity on a node, for metrics and pages (`State.activity`); the phases of policy Kubelet have the same names."""

    WATCHING = "Watching"
    """Neither a reclaim nor an eviction is under way; a threshold may be met all the same."""
    RECLAIMING = "Reclaiming"
    """Dead containers, unused images or other things that no pod needs are being removed."""
    CLEANING_UP = "CleaningUp"
    """An evicted pod is ending; no other pod is evicted for the same resource until it is gone or its time is up."""


@frozen
class Watching:
    """Neither a reclaim nor an eviction is under way."""

    name = PhaseName.WATCHING


@frozen
class Reclaiming:
    """Collectors are at work; the reading that follows them decides whether a pod must be evicted."""

    threshold: Threshold
    due: tuple[Threshold, ...]
    before: Observation
    """The observation with which the threshold was met; the kubelet ranks with its numbers."""

    name = PhaseName.RECLAIMING


@frozen
class CleaningUp:
    """Victims are ending; `until` is when waiting for them is over."""

    until: int

    name = PhaseName.CLEANING_UP


Phase = Watching | Reclaiming | CleaningUp


@frozen
class Victim:
    """A chosen pod, from the decision until it is gone and its bytes have come back, or its time is over.

    Amounts are kept by supply: the first signal that observes it (`core.eviction.accounts.ledger.supply_of`), in that signal's
    unit.
    """

    uid: str
    full_name: str = ""
    owner: str = ""
    """`namespace/Kind/name` of its controlling owner, if it has one."""
    siblings: frozenset[str] = frozenset()
    """Uids of all the owner's pods that were here when it was chosen, its own included: none of them is a recreation of it."""
    cause: Signal | None = None
    """The supply that it was chosen for; `None`: it exceeded a local-storage limit of its own."""
    chosen_at: int = 0
    since: int = 0
    """`now` at which its present grace period began."""
    grace_period_seconds: int = 0
    until: int = 0
    """`now` until which evictd waits for its end. After that it is overdue: it owes nothing any more, and cannot be chosen."""
    owed: Mapping[Signal, int] = field(default_factory=dict)
    """Its usage as measured when it was chosen; 0 once it has given back all of it. A missing supply is unknown, not 0."""
    available_before: Mapping[Signal, int] = field(default_factory=dict)
    """The available amounts when it was chosen."""
    freed: int = 0
    """The largest rise of its supply's available amount since then, before it was seen gone."""
    has_volumes_in_memory: bool = False
    """Whether memory comes back after its last process as well: when a volume in memory is unmounted, or emptied."""
    gone_at: int | None = None
    """`now` at which it was first seen gone; its bytes may become available later."""
    stopped_at: int | None = None
    """`now` at which its last process was first seen gone; removing a large volume may take a minute longer."""
    volumes_at: int | None = None
    """`now` at which a volume of it was last seen on nodefs after its end; `None`: none was."""
    counted: bool = False
    """Whether its eviction was counted against its owner, which happens once the eviction is certain."""
    withdrawn: bool = False
    """Whether its eviction was withdrawn before the API server agreed; it stays in flight until the shell confirms that."""
    missing: int = 0
    """The amount that was missing to its supply's target when it was chosen, minimum reclaim included."""
    elsewhere_grew: bool = False
    """Whether growth elsewhere was more than twice that of the pods then."""
    message: str = ""
    """Message and condition of the eviction, to write the status of a stopped victim after a restart."""
    condition: PodCondition | None = None

    @property
    def is_hard(self) -> bool:
        """Whether it goes without the API server's consent: only a soft threshold gives more grace than a hard one."""
        return self.grace_period_seconds <= IMMEDIATE_EVICTION_GRACE_PERIOD_SECONDS

    def is_leaving(self, now: int) -> bool:
        """Whether it is not gone yet, and still within its time."""
        return self.gone_at is None and now < self.until

    def is_overdue(self, now: int) -> bool:
        """Whether it should have ended and lives on."""
        return self.gone_at is None and now >= self.until

    def can_shorten(self, grace_period_seconds: int) -> bool:
        """Whether this grace period would end before the present one."""
        return self.gone_at is None and self.grace_period_seconds > grace_period_seconds


@frozen
class Collection:
    """One round of node-level reclaim for a device."""

    begun: int
    until: int
    """`now` until which evictd waits for it, whatever the collectors do; a repeated collection keeps this time."""
    available_before: int | None = None
    """Bytes available on the device when it was begun."""
    ended_at: int | None = None
    freed: int = 0
    """Bytes that its collectors say they freed on this device."""
    removed: int = 0
    """Containers and images that its collectors have removed."""
    tried: frozenset[Signal] = frozenset()
    """The supplies of the device for which it was tried: its bytes, its inodes or both."""

    def is_under_way(self, now: int) -> bool:
        """Whether its collectors are waited for."""
        return self.ended_at is None and now < self.until


@frozen
class OwnerBackoff:
    """The evictions of one owner's pods on this node."""

    level: int
    """Number of evictions in a row of recreated pods; 0 after a first eviction."""
    evicted_at: int
    until: int
    """`now` until which the owner's recreated pods are skipped."""
    siblings: frozenset[str] = frozenset()
    """Uids of the owner's pods that were here when the eviction was noted: none of them is a recreation."""


@frozen
class BudgetRefusal:
    """The refusals of one pod's eviction by a PodDisruptionBudget."""

    first_at: int
    last_at: int
    until: int
    """`now` from which the server may be asked again."""
    held_until: int
    """`now` until which soft thresholds evict other pods first."""


@frozen
class Backoff:
    """Which pods are skipped for a while (`core.eviction.refusals.backoff` has the rules)."""

    owners: Mapping[str, OwnerBackoff] = field(default_factory=dict)
    """By `namespace/Kind/name` of the controlling owner."""
    budgets: Mapping[str, BudgetRefusal] = field(default_factory=dict)
    """By pod uid."""


@frozen
class Comeback:
    """The evictions of one owner's pods for one condition; all but the first are of pods that came after it had ended.

    `core.eviction.refusals.keep_away` has the rules.
    """

    owner: str
    """`namespace/Kind/name` of the controlling owner."""
    condition: NodeCondition
    evicted_at: tuple[int, ...]
    """`now` of the last evictions, at most three."""
    evictions: int = 1
    """Number of evictions."""
    present: frozenset[str] = frozenset()
    """Uids of the owner's pods that were here at the last of these evictions: none of them came back."""
    known: frozenset[str] = frozenset()
    """The pods of `present`, and those that came while the condition was not reported."""
    ended: bool = False
    """Whether the condition has ended since the last of these evictions."""
    period: int = 0
    """Nanoseconds that the condition stays because of this owner after its threshold was last met; 0: as configured."""


@dataclass(frozen=True, kw_only=True)
class State:
    """The state that is kept between two cycles. Times are `now` values in nanoseconds.

    It has a `__dict__` and no slots, so that a copy is made at once and not field by field (`with_fields`).
    """

    phase: Phase = Watching()  # noqa: RUF009 - it cannot be changed
    """Policy Kubelet: where its loop stands. Policy Standard stays in `Watching`; its ledger is what follows."""
    in_flight: tuple[Victim, ...] = ()
    """The victims that are leaving, and those that are gone and still owe something."""
    collections: Mapping[Filesystem, Collection] = field(default_factory=dict)
    """Policy Standard: the last collection of each device that is short. A device without one may be collected."""
    page_cache: Collection | None = None
    """Policy Standard, with `reclaim.pageCache`: the last reclaim of page cache, for as long as it rules out another one."""
    backoff: Backoff = field(default_factory=Backoff)
    leaving: tuple[Victim, ...] = ()
    """Policy Standard: pods that end because another component deleted them, with what they owe until their deadline."""
    holdings: Mapping[Signal, SupplyHoldings] = field(default_factory=dict)
    """Policy Standard: who holds what, by supply."""
    crossings: Mapping[Signal, Crossing] = field(default_factory=dict)
    """Policy Standard: what everything held of each supply that is short, when it became so."""
    noticed: Mapping[Signal, tuple[NoActionReason, ...]] = field(default_factory=dict)
    """Policy Standard: for each supply that is short, the reasons not to evict that an event was recorded for."""
    effects: Mapping[Signal, tuple[Effect, ...]] = field(default_factory=dict)
    """Policy Standard: what came of the last evictions for each supply, oldest first."""
    pauses: Mapping[Signal, Pause] = field(default_factory=dict)
    """Policy Standard: the supplies for which evictions are paused, because the last ones did not help."""
    clear_since: Mapping[Signal, int] = field(default_factory=dict)
    """Policy Standard: since when no threshold of a supply has been met; absent while one is."""
    evicted_at: tuple[int, ...] = ()
    """Policy Standard, with `evictionLimit`: when pods were evicted for pressure within its time, but not in a dry run."""
    once_clear: tuple[Threshold, ...] = ()
    """Policy Standard: the configured thresholds that have not been met at least once."""
    filesystems: Filesystems | None = None
    """The layout as last detected; `None` before the first cycle."""
    thresholds_first_observed_at: Mapping[Threshold, int] = field(default_factory=dict)
    thresholds_met: tuple[Threshold, ...] = ()
    """The ones that were due last time; they stay met until their minimum reclaim is reached."""
    announced: tuple[Resource, ...] = ()
    """Policy Standard: the resources whose event was recorded since one of their thresholds became due."""
    node_conditions: tuple[NodeCondition, ...] = ()
    """The conditions that the node reports, transition period included."""
    node_conditions_last_observed_at: Mapping[NodeCondition, int] = field(default_factory=dict)
    comebacks: tuple[Comeback, ...] = ()
    """Policy Standard: the owners whose pods were evicted and may come back when the condition has ended."""
    last_seen: Mapping[Signal, SignalObservation] = field(default_factory=dict)
    """The last observation of each signal (policy Kubelet: of the last cycle), to tell new numbers from repeated ones."""
    last_cycle_at: int | None = None
    """`now` of the last cycle; `None` before the first."""
    started_at: int | None = None
    """`now` at which this run of the daemon began; after restarts in quick succession, the first of them."""
    reported: bool = False
    """Whether the node's conditions were reported, and not only in a dry run."""
    dry_run: bool = False
    """Whether the last cycle's decisions were not carried out."""

    @property
    def disks(self) -> Filesystems:
        """The layout of the filesystems; one filesystem for all of them before it was detected."""
        return self.filesystems or Filesystems()

    @property
    def victims(self) -> tuple[Victim, ...]:
        """The pods that leave: those that evictd chose, and those that another component deleted."""
        return (*self.in_flight, *self.leaving)

    @property
    def collecting(self) -> frozenset[Filesystem]:
        """The devices whose collection has not ended."""
        return frozenset(device for device, each in self.collections.items() if each.ended_at is None)

    @property
    def drops_page_cache(self) -> bool:
        """Whether evictd waits for a reclaim of page cache."""
        return self.page_cache is not None and self.page_cache.ended_at is None

    @property
    def activity(self) -> PhaseName:
        """The present activity: policy Kubelet's phase, or under Standard (phase always `Watching`) the ledger's work."""
        if not isinstance(self.phase, Watching):
            return self.phase.name
        if self.collecting:
            return PhaseName.RECLAIMING
        return PhaseName.CLEANING_UP if any(each.gone_at is None for each in self.in_flight) else PhaseName.WATCHING


def with_fields(state: State, **changes: Any) -> State:
    """Return a copy of the state with new values for the named fields.

    `dataclasses.replace` gives the same result, but sets thirty fields one by one.
    """
    copy = object.__new__(State)
    copy.__dict__.update(state.__dict__)
    copy.__dict__.update(changes)
    if len(copy.__dict__) != len(state.__dict__):
        raise AssertionError("a state has no such field")
    return copy


@frozen
class Step:
    """The result of one call of `synchronize`."""

    state: State
    decisions: tuple[Decision, ...]
    findings: tuple[Finding, ...]
