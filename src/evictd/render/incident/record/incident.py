"""One eviction and what is around it: the incident that `evictd incident` shows, and what follows from it.

It has the signal around the eviction, the ranking at that moment, the reclaimed bytes before, the bytes and pods that came back,
and the events. `collect` reads all of it from a journal; what is decided again, as the verdict, is added by the command.
"""

from collections.abc import Mapping
from dataclasses import field

from evictd.core.frozen import frozen
from evictd.core.model.signal import DISKS, SIGNALS, WITH_REQUEST, Resource, Signal
from evictd.core.model.threshold import Origin
from evictd.core.units.duration import MINUTE, SECOND
from evictd.render.history.cause.recorded import IncidentRow
from evictd.render.history.history import EventKind, HistoryEvent
from evictd.render.incident.record.aftermath import AFTER, MetAfter, time_of
from evictd.render.incident.record.arrivals import NewPods
from evictd.render.incident.record.earlier import Earlier
from evictd.render.incident.record.grows_on import GrowsOn
from evictd.render.incident.record.overcommit import Overcommit
from evictd.render.incident.record.readings import later_fall, recent_fall
from evictd.render.incident.record.step_before import StepBefore
from evictd.render.incident.record.verdict import EvictionVerdict, Grower, Need, NotJudged
from evictd.render.text import incident_id

SETTLED = 10
"""Seconds after the end of a pod in which its bytes show up in a reading."""
CONTAINER_LOGS = "container logs"
"""The part of a pod's disk use that the kubelet rotates."""


@frozen
class Incident:
    """One eviction and what is around it. Seconds count from the eviction; amounts are in the signal's unit."""

    event: HistoryEvent
    signal: Signal | None
    """`None` where the pod exceeded a limit of its own."""
    available: int | None = None
    capacity: int | None = None
    levels: tuple[tuple[str, int], ...] = ()
    """Kind and limit of each threshold of the signal."""
    soft: int | None = None
    """Its highest soft threshold as it is configured."""
    soft_grace: int | None = None
    """The grace period of that."""
    grace_left: int | None = None
    """What was left of it; `None` where that threshold was not met."""
    points: tuple[tuple[float, int], ...] = ()
    """Seconds and available amount."""
    step: StepBefore | None = None
    """What came at once before the minute of which growth is measured, and belongs to no pod."""
    arrivals: NewPods = NewPods()
    """Pods that came around it."""
    ranking: tuple[IncidentRow, ...] = ()
    pods: int = 0
    """Number of ranked pods; the journal keeps the first twenty."""
    before: tuple[HistoryEvent, ...] = ()
    earlier: tuple[Earlier, ...] = ()
    """The evictions, however long before, that growth caused which went on until this one."""
    after: tuple[HistoryEvent, ...] = ()
    evicted_later: tuple[HistoryEvent, ...] = ()
    """The evictions for the same resource that came later than those of `after`."""
    gone_after: float | None = None
    """Seconds until nothing of the pod ran; `None` where the journal does not say."""
    leaves: bool = False
    """Whether it still ends: the last record has it, and none its end."""
    successors: tuple[tuple[str, float], ...] = ()
    """New pods of its owner on this node, and after how many seconds they were first seen."""
    events: tuple[tuple[str, str], ...] = ()
    """Reason and message of the events that evictd wrote with it."""
    node: str = ""
    met: MetAfter = MetAfter()
    clear: float | None = None
    """Seconds until no threshold of the supply was met; `None` where no later record knows."""
    freed: int = 0
    """By how much the signal rose at most, as evictd measured it; 0 where no later record says."""
    next_eviction: float = AFTER / SECOND
    """Seconds to the next eviction before which its bytes were read, at most `AFTER`."""
    beside: int | None = None
    """What other pods held whose bytes on the disk came back together with its own; `None` without any (`read_together`)."""
    known_for: float = 0
    """Seconds from the eviction to the journal's last record."""
    stalled: int = 0
    """Hundredths of a percent of the last 10 s in which a task of the node stalled for memory."""
    allocatable_met: Origin | None = None
    """Origin of a threshold of `allocatableMemory.available`, which counts page cache by every formula, met as well."""
    measured: bool = True
    """Whether its usage was measured in that cycle; else it is what was known of it before."""
    siblings: frozenset[str] = frozenset()
    """`namespace/name` of the pods that its owner had here, without itself."""
    owners: Mapping[str, str] = field(default_factory=dict)
    """By `namespace/name`, the owner, `Kind/name`, of each pod that has one."""
    of_owner: int = 0
    """How many pods of its owner were evicted in the whole journal; 0 without an owner."""
    first: "Incident | None" = None
    """The earlier eviction of a pod of its owner that growth of others caused, where this pod only came back (`with_first`)."""
    min_reclaim: int = 0
    """The minimum reclaim of the threshold: once met it stays met until so much more than its limit is available."""
    verdict: EvictionVerdict | None = None
    """Whether its end was needed; `None` where that is not known."""
    not_judged: NotJudged = NotJudged.UNREADABLE
    """Why not, where it is not known."""
    with_request: str | None = None
    """The pod that would have gone then had this one requested what it used, `namespace/name`; empty for none, `None` unknown."""
    with_more: str | None = None
    """The same with a tenth more, where this one would have gone all the same with what it used."""
    with_owner_request: str | None = None
    """The same had all pods of its owner requested what they used, where `with_request` is one of these."""
    first_asked: HistoryEvent | None = None
    """The first request to evict it, which was refused; set where `with_request` is the pod that would have gone at that one."""
    past_request: bool = False
    """Where no pod would have gone: whether this one would have, a second later, by its own growth past that request."""
    asked: int = 0
    """The request of a resize that was not granted; 0 without one."""
    in_memory: bool = False
    """Whether it has an emptyDir in memory, whose files a restart of its containers keeps."""
    host_filled: bool = False
    """Whether at least half of what filled the supply belongs to no pod, and all pods were measured."""
    outside: int | None = None
    """What belonged to no pod, where what grew is little beside what was missing."""
    elsewhere: int | None = None
    """What belonged to no pod, where all pods were measured."""
    unallocatable: int = 0
    """What no process can allocate, which is a part of that."""
    host_suspect: str = ""
    """What is no pod and gave memory back when the kernel killed it, anywhere in the journal, as a clause (`host_suspect`)."""
    suspects: Mapping[str, str] = field(default_factory=dict)
    """Pods whose hostPath volumes, which are not measured, may have filled the disk, with their owners (`suspects_of`)."""
    pods_filled: bool = False
    """Whether the pods took at least half of it."""
    main_grower: str = ""
    """`namespace/name` of the pod that took most of what the pods took; empty where none did."""
    filled_by: str = ""
    """`Kind/name` of the owner whose pods took nearly all of what the pods took; empty where none is."""
    most_in: str = ""
    """The part of the pod's disk use that holds most of it: `container logs`."""
    grower_in: str = ""
    """The same of the pod that made most of the growth."""
    deleted: int = 0
    """Bytes of deleted files that its processes kept open."""
    swapped: int = 0
    """Bytes of its usage that were in swap."""
    swap: bool = False
    """Whether the node has swap, which a memory limit does not bound."""
    pressed: bool = False
    """Whether the node condition of what was short stood at the end of the journal."""
    also_short: str = ""
    """What else the node was short of at the end of the journal, as a clause; empty for nothing."""
    still_met: bool = False
    """Whether a threshold of what was short was met in the last record: the condition stands for minutes longer."""
    answered: bool = False
    """Whether that is what the daemon answered (`read_now`)."""
    ends_before_relief: bool = False
    """Whether the journal ends before what the last eviction gave back was read (`ends_before_relief`)."""
    clear_text: str = ""
    """Since when no threshold of its signal was met at the end of the journal, as a clause; empty where one was."""
    paused: str = ""
    """Until when evictions paused at the end of the journal, as a clause; empty where they did not."""
    running: frozenset[str] = frozenset()
    """`namespace/name` of the pods that ran at the end of the journal."""
    steady: frozenset[str] = frozenset()
    """Of the pods that grew before, those that ran at the end of the journal and had not grown in the minute before it."""
    quiet: bool = False
    """Whether nothing had grown for a minute or more at the end of the journal, though something did before."""
    grows_on: GrowsOn | None = None
    """What grew before and then; `None` where that does not make the node short soon (`growth_on`)."""
    overcommit: Overcommit | None = None
    """The pods of its owner, where more of them were here than fit and nothing else is the cause (`overcommit`)."""

    @property
    def id(self) -> str:
        """The name for the command line."""
        return incident_id(self.event.uid)

    @property
    def on_disk(self) -> bool:
        """Whether bytes or inodes of a disk were short."""
        return self.resource in DISKS

    @property
    def refusals(self) -> int:
        """How often a disruption budget refused the eviction in the minutes before."""
        return sum(each.kind is EventKind.REFUSED and each.uid == self.event.uid for each in self.before)

    @property
    def resource(self) -> Resource | None:
        """The resource that was short."""
        return None if self.signal is None else SIGNALS[self.signal].resource

    @property
    def victim(self) -> IncidentRow | None:
        """The evicted pod's row of the ranking."""
        return next((row for row in self.ranking if row.chosen), None)

    @property
    def came_back(self) -> int | None:
        """By how much the signal rose at most, until a threshold was met again or the next eviction; `None` without a reading.

        A supply that was clear in a cycle without a record got back at least what was missing. Of what came
        back with the bytes of other pods it is at most what this one held.
        """
        before = self.available
        if before is None:
            return None
        end = self.next_eviction if self.met.again is None else min(self.next_eviction, self.met.again)
        found = [amount - before for seconds, amount in self.points if 0 < seconds <= end]
        found += [each for each in (self.missing if self.was_clear else None, self.freed or None) if each is not None]
        most = max(*found, 0) if found else None
        if most is None or self.beside is None:
            return most
        held = 0 if self.victim is None else self.victim.usage or 0
        return max(min(most - self.beside, held), 0)

    @property
    def growers(self) -> tuple[Grower, ...]:
        """What grew in the minute before the eviction, the fastest first; empty where that is not known."""
        return () if self.verdict is None else self.verdict.growers

    @property
    def grower(self) -> Grower | None:
        """What made more than half of all growth; `None` where nothing did."""
        return None if self.verdict is None else self.verdict.grower

    @property
    def pod_grew(self) -> bool:
        """Whether the evicted pod grew, by at least a tenth of all growth."""
        return self.verdict is not None and self.verdict.grew

    def highest_limit(self, kind: str = "") -> int:
        """Return the limit of the highest threshold of the signal, of this kind where one is given; 0 without one."""
        return max((limit for each, limit in self.levels if kind in {"", each}), default=0)

    @property
    def for_soft(self) -> bool:
        """Whether the pod went for a soft threshold."""
        return bool((self.event.because.get("threshold") or {}).get("gracePeriodNanoseconds"))

    @property
    def within_request(self) -> IncidentRow | None:
        """Another pod that made most of the growth within its request, while the evicted pod exceeded its own."""
        grower, victim = self.grower, self.victim
        if grower is None or victim is None:
            return None
        row = next((each for each in self.ranking if each.pod == grower.pod and not each.chosen), None)
        grew_within = row is not None and row.usage is not None and row.usage <= row.request
        return row if grew_within and (victim.usage or 0) > victim.request else None

    @property
    def own_cause(self) -> bool:
        """Whether the evicted pod made the node short by its own growth, and not within its request."""
        verdict, victim, pod = self.verdict, self.victim, self.event.pod
        if verdict is None or verdict.need is not Need.NEEDED or victim is None:
            return False
        if self.host_filled or not self.measured:
            return False
        if self.resource in WITH_REQUEST and (victim.usage or 0) <= victim.request:
            return False
        grew = verdict.grower is not None and verdict.grower.pod == pod
        filled = not verdict.growers and self.pods_filled and self.main_grower == pod
        return grew or filled or verdict.brought_forward_by is not None

    @property
    def held_unmeasured(self) -> bool:
        """Whether the pod was not measured, and its end relieved the node, which no end of a measured pod would have."""
        no_pod = self.verdict is not None and self.verdict.need is Need.NO_POD_HELPS
        return no_pod and self.relieved and not self.measured and self.signal is not None

    @property
    def exceeded_unmeasured(self) -> bool:
        """Whether such a pod used more than it requested when it was measured before."""
        victim = self.victim
        if victim is None or victim.usage is None or not self.held_unmeasured:
            return False
        return self.resource in WITH_REQUEST and victim.usage > victim.request

    @property
    def protected_grower(self) -> str:
        """`namespace/name` of the pod that made most of the growth and is never evicted; empty where none did."""
        grower = self.grower
        return next((row.pod for row in self.ranking if row.protected and grower and row.pod == grower.pod), "")

    @property
    def outgrown(self) -> bool:
        """Whether something else than the pod grew in the minute before its eviction."""
        return any(each.pod != self.event.pod for each in self.growers)

    @property
    def full_since(self) -> float | None:
        """Since how many seconds before the eviction nothing at all was available; `None` where something was."""
        before = [each for each in self.points if each[0] <= 0]
        last = max((place for place, each in enumerate(before) if each[1]), default=-1) + 1
        return -before[last][0] if self.available == 0 and last < len(before) else None

    @property
    def need(self) -> Need | None:
        """Whether its end was needed; for a time only where what belongs to no pod goes on."""
        if self.verdict is None:
            return None
        only = self.verdict.need in {Need.NEEDED, Need.ANOTHER_POD} and self.host_filled
        return Need.FOR_A_TIME if (only or self.pods_grew_too) and not self.relieved else self.verdict.need

    @property
    def pods_grew_too(self) -> bool:
        """Whether no end of any pod relieves the node, although pods that may go grew beside something else."""
        if self.verdict is None or self.verdict.need is not Need.NO_POD_HELPS or self.host_filled:
            return False
        may_go = {row.pod for row in self.ranking if not row.protected}
        return len(self.growers) > 1 and any(each.pod in may_go for each in self.verdict.notable)

    @property
    def settled(self) -> bool:
        """Whether what its end gave back has been read: the journal goes on for a while, or another pod was chosen since."""
        if self.gone_after is None:
            return False
        return self.known_for >= self.gone_after + SETTLED or self.next_eviction < AFTER / SECOND

    @property
    def was_clear(self) -> bool:
        """Whether no threshold of the supply was met before the next eviction, as a later record knows."""
        return self.clear is not None and self.clear <= self.next_eviction

    @property
    def short_of(self) -> tuple[str, int, int] | None:
        """Kind and amount of the highest limit that was not reached, and the amount missing to it.

        Where all are reached, the minimum reclaim kept a threshold met: then its limit with that.
        """
        if self.available is None:
            return None
        short = [(kind, limit) for kind, limit in self.levels if limit > self.available]
        if not short and self.min_reclaim:
            kept = ((kind, limit + self.min_reclaim) for kind, limit in self.levels)
            short = [(f"minimum reclaim of the {kind}", limit) for kind, limit in kept if limit > self.available]
        kind, limit = max(short, key=lambda each: each[1], default=("", 0))
        return (kind, limit, limit - self.available) if short else None

    @property
    def relieved(self) -> bool:
        """Whether enough came back, and no threshold of the signal was met again for a minute or more."""
        if self.missing is None or self.came_back is None or self.gone_after is None or self.met != MetAfter():
            return False
        return self.came_back >= self.missing and self.known_for >= self.gone_after + MINUTE // SECOND

    @property
    def relieved_as_judged(self) -> bool:
        """Whether its end relieved the node, also if only for as long as the verdict looks ahead."""
        again = self.met.again
        if self.verdict is None or again is None or again * SECOND < self.verdict.played or self.met.still is not None:
            return self.relieved
        return self.missing is not None and (self.came_back or 0) >= self.missing

    @property
    def stands_still(self) -> bool:
        """Whether readings show that nothing fills the supply: the threshold is above its normal level.

        Where those before the eviction are too few, those before a later one count.
        """
        growers = self.growers
        rate = self._later_rate if self.rate is None else self.rate
        return rate is not None and rate <= 0 and not growers and not self.event.filled

    @property
    def _later_rate(self) -> int | None:
        """By how much a second the signal fell before the last later eviction of which that is known."""
        at = time_of(self.event.at)
        evicted = (each for each in self.after if each.kind is EventKind.EVICTED)
        return later_fall(self.points, [(time_of(each.at) - at) / SECOND for each in evicted])

    @property
    def kept_by_min_reclaim(self) -> bool:
        """Whether the threshold was clear already, and its minimum reclaim alone kept it met."""
        return self.missing is not None and not any(limit > (self.available or 0) for _, limit in self.levels)

    @property
    def met_by_itself(self) -> float | None:
        """Seconds until a threshold that only its minimum reclaim kept met is met by itself, at the rate of the fall.

        `None` where that is more than a minute, and where it does not fall.
        """
        if not self.kept_by_min_reclaim or not self.rate or self.rate <= 0:
            return None
        seconds = ((self.available or 0) - self.highest_limit()) / self.rate
        return seconds if seconds <= MINUTE // SECOND else None

    @property
    def missing(self) -> int | None:
        """The amount missing to that limit."""
        return None if self.short_of is None else self.short_of[2]

    @property
    def rate(self) -> int | None:
        """By how much a second the signal fell before (`recent_fall`); `None` where it is not known."""
        return recent_fall(self.points)
