"""Decodes what a journal line says of the node's signals and of the evictions for them, for `evictd advise`.

A day of a thousand nodes is read for it, so everything else of a line is skipped by the parser. The amounts are those of the
cycle's own findings: what was available of each signal, and its thresholds as absolute amounts on that node.
"""

from collections.abc import Iterator, Mapping
from dataclasses import field, replace

import msgspec

from evictd.codec.records.journal import KIND, not_a_line
from evictd.codec.records.journal_record import RecordedKill
from evictd.codec.records.journaled import RecordedPoint
from evictd.codec.records.ranked_row import Overtaken, RankedRow, overtaken, uid_behind
from evictd.codec.records.recorded_amounts import RecordedAmounts
from evictd.codec.records.recorded_pod import RecordedMetadata
from evictd.core.frozen import frozen
from evictd.core.model.config import MONITORING_PERIOD, FastFill
from evictd.core.model.finding import NoActionReason
from evictd.core.model.observation import Reclaim
from evictd.core.model.signal import Resource, Signal, signal_named
from evictd.core.model.threshold import Origin
from evictd.core.units.quantity import parse_quantity
from evictd.errors import InputError, InvalidValueError


@frozen
class SignalLevel:
    """One signal in one cycle, in its own unit."""

    available: int
    capacity: int
    hard: int | None = None
    """The hard threshold as an absolute amount; `None` if there is none."""
    derived: bool = False
    """Whether that is derived from the threshold of another signal, so that no configuration names it."""
    soft: int | None = None
    """The soft threshold as an absolute amount; `None` if there is none."""
    soft_derived: bool = False
    """The same as `derived`, of the soft threshold."""


@frozen
class Chosen:
    """A pod that was evicted for a signal; `fill_rate` in units a second, 0 where it was not measured."""

    uid: str
    pod: str
    signal: Signal
    hard: bool
    fill_rate: int = 0
    stays: bool = False
    """Whether the pod was not stopped: the decision is one of a dry run."""
    fitted: bool = False
    """Whether it had no grace period because what was left did not last for it."""
    next_uid: str = ""
    """The pod behind it in the ranking; empty where there is none."""
    owner: str = ""
    """Namespace and `Kind/name` of the pod's controlling owner; empty without one."""
    overtaken: Overtaken = Overtaken()
    grace: int | None = None
    """The grace period in seconds that it was given; `None` where that was not recorded."""
    own_grace: int | None = None
    """Its `terminationGracePeriodSeconds`; `None` where that was not recorded."""


@frozen
class RecordedCycle:
    """One cycle; `at` is nanoseconds of the boot-time clock, `wall` an RFC 3339 time."""

    at: int
    wall: str
    node: str = ""
    """Name of the node; empty if it was not read."""
    levels: dict[Signal, SignalLevel] = field(default_factory=dict)
    uncovered: dict[Signal, SignalLevel] = field(default_factory=dict)
    """Signals that were measured and have no threshold; imagefs only as a disk of its own."""
    chosen: tuple[Chosen, ...] = ()
    gone: frozenset[str] = frozenset()
    """Uids of victims that have ended."""
    refused: frozenset[str] = frozenset()
    """Uids of pods whose last eviction a disruption budget has refused since the cycle before."""
    awaited: frozenset[Signal] = frozenset()
    """Signals with a decision that was held back until pods were measured (`WaitingForMeasurement`)."""
    shortened: frozenset[str] = frozenset()
    """Uids of victims whose grace period was shortened in this cycle."""
    outside_pods: dict[Resource, int] = field(default_factory=dict)
    """Used memory, disk space and PIDs that belong to no pod; only if the node and every pod were measured."""
    unused_images: int | None = None
    """Bytes of the images that may be removed; `None` where that was not recorded."""
    freed_images: int = 0
    """Bytes of images that the last collection removed."""
    capacity: dict[Resource, int] = field(default_factory=dict)
    """Capacity of the node for each of these."""
    unallocatable: int = 0
    """Memory that soft thresholds count as available although no process can allocate it."""
    overcounted: int = 0
    """The same of hard thresholds of memory: 0 where the kernel's estimate is their formula."""
    in_vain: frozenset[Signal] = frozenset()
    """Signals for which evictions were paused, because the last ones did not help."""
    rates: dict[Signal, int] = field(default_factory=dict)
    """Fall of the available amount in units a second in the readings just before; only of signals of which they are recorded."""
    earlier: Mapping[Signal, tuple[RecordedPoint, ...]] = field(default_factory=dict)
    """The readings before this cycle, most of them without a record: how many seconds before, and what was available."""
    conditions: frozenset[str] | None = None
    """The types of the node conditions that this cycle reported; `None` where it reported no change."""
    longest_grace: tuple[int, str] = (0, "")
    """The greatest `terminationGracePeriodSeconds` of the pods that it lists, and that pod."""
    memory_lead: bool = False
    """Whether `memory.lead` was `Auto`."""
    disk_lead: bool = False
    """Whether `disk.lead` was `Auto`."""
    max_pod_grace: int = 0
    """`evictionMaxPodGracePeriod` in seconds."""
    period: int = MONITORING_PERIOD
    """`housekeepingInterval` in nanoseconds."""
    killed: Mapping[str, int] = field(default_factory=dict)
    """How many processes the kernel killed for want of memory of the node, by pod (`namespace/name`) or cgroup."""


class _Part(msgspec.Struct, frozen=True, rename="camel"):
    """A part of a line; fields that are not declared are skipped."""


class _Threshold(_Part, frozen=True):
    signal: str
    grace_period_nanoseconds: int = 0
    origin: str = ""

    @property
    def hard(self) -> bool:
        return self.grace_period_nanoseconds == 0


class _Finding(_Part, frozen=True):
    kind: str
    signal: str | None = None
    rows: tuple[RankedRow, ...] = ()
    threshold: _Threshold | None = None
    limit: str = ""
    available: str = ""
    capacity: str = ""
    why: str = ""


class _Pod(_Part, frozen=True):
    namespace: str
    name: str
    uid: str


class _Because(_Part, frozen=True):
    threshold: _Threshold | None = None
    fill_rate: int | None = None
    grace_fitted: bool = False


class _Decision(_Part, frozen=True):
    kind: str
    pod: _Pod | None = None
    because: _Because = _Because()
    shortens: bool = False
    grace_period_seconds: int | None = None
    conditions: tuple[str, ...] = ()


class _Spec(_Part, frozen=True):
    termination_grace_period_seconds: int | None = None


class _OwnedPod(_Part, frozen=True):
    metadata: RecordedMetadata = RecordedMetadata()
    spec: _Spec = _Spec()


class _Reclaimed(_Part, frozen=True):
    action: str = ""
    freed_bytes: int = 0


class _Observation(_Part, frozen=True):
    summary: RecordedAmounts = RecordedAmounts()
    unused_images: int | None = None
    reclaimed: tuple[_Reclaimed, ...] = ()
    pods: tuple[_OwnedPod, ...] = ()
    cleaned_up: tuple[str, ...] = ()


class _Refusal(_Part, frozen=True):
    uid: str = ""


class _Extra(_Part, frozen=True):
    dry_run: bool = False
    refused: tuple[_Refusal, ...] = ()
    trend: dict[str, tuple[RecordedPoint, ...]] = {}  # a newer daemon may have other signals
    kernel_killed: tuple[RecordedKill, ...] = ()


class _Config(_Part, frozen=True):
    memory_lead: str = FastFill.OFF.value
    disk_lead: str = FastFill.OFF.value
    max_pod_grace_period_seconds: int = 0
    monitoring_period: int = MONITORING_PERIOD


class _Line(_Part, frozen=True):
    kind: str
    wall: str
    now: int
    config: _Config = _Config()
    decisions: tuple[_Decision, ...] = ()
    findings: tuple[_Finding, ...] = ()
    observation: _Observation = _Observation()
    extra: _Extra = _Extra()


_IN_VAIN = NoActionReason.EVICTIONS_DO_NOT_HELP.value
_JUST_BEFORE = 15
"""Seconds before a cycle in which its readings give a rate: of older ones the growth can be over."""
_UNREAD = SignalLevel(available=0, capacity=0)
_DERIVED = Origin.DERIVED.value
_LINE = msgspec.json.Decoder(_Line)


def decode_reading(line: bytes) -> RecordedCycle:
    """Decode one line; raises `InputError` if it is cut short, damaged, or no journal line."""
    try:
        wire = _LINE.decode(line)
        if wire.kind != KIND:
            raise not_a_line(wire.kind)
        levels, earlier = _levels(wire.findings), _earlier(wire.extra.trend)
        amounts = wire.observation.summary
        return RecordedCycle(
            at=wire.now,
            wall=wire.wall,
            node=amounts.node.node_name,
            levels=levels,
            # Without a finding the cycle compared nothing, which says nothing of the configuration.
            uncovered=_uncovered(amounts, levels) if levels else {},
            chosen=tuple(_chosen(wire)),
            gone=frozenset(wire.observation.cleaned_up),
            refused=frozenset(each.uid for each in wire.extra.refused),
            shortened=frozenset(each.pod.uid for each in wire.decisions if each.shortens and each.pod),
            outside_pods=amounts.outside_pods,
            unused_images=wire.observation.unused_images,
            freed_images=sum(e.freed_bytes for e in wire.observation.reclaimed if e.action == Reclaim.IMAGES.value),
            capacity=amounts.capacity,
            unallocatable=amounts.unallocatable,
            overcounted=amounts.overcounted,
            in_vain=frozenset(_in_vain(wire.findings)),
            rates=_rates(earlier, levels),
            earlier=earlier,
            conditions=next(
                (frozenset(each.conditions) for each in wire.decisions if each.kind == "ReportConditions"), None
            ),
            awaited=_awaited(wire.findings),
            memory_lead=wire.config.memory_lead == FastFill.AUTO.value,
            disk_lead=wire.config.disk_lead == FastFill.AUTO.value,
            max_pod_grace=wire.config.max_pod_grace_period_seconds,
            longest_grace=max(map(_own_grace, wire.observation.pods), default=(0, "")),
            period=wire.config.monitoring_period,
            killed=_killed(wire.extra.kernel_killed),
        )
    except (msgspec.MsgspecError, InvalidValueError, ValueError, RecursionError) as error:
        raise InputError(f"journal: {error}; the line is cut short, damaged or not of a journal") from error


def _levels(findings: tuple[_Finding, ...]) -> dict[Signal, SignalLevel]:
    """Return each signal with its thresholds; a signal has a finding for the hard and one for the soft threshold."""
    levels: dict[Signal, SignalLevel] = {}
    for found in findings:
        if found.kind != "Threshold" or found.threshold is None:
            continue
        if (signal := signal_named(found.threshold.signal)) is None:
            continue
        limit, derived = parse_quantity(found.limit).value(), found.threshold.origin == _DERIVED
        level = replace(
            levels.get(signal, _UNREAD),
            available=parse_quantity(found.available).value(),
            capacity=parse_quantity(found.capacity).value(),
        )
        if found.threshold.hard:
            levels[signal] = replace(level, hard=limit, derived=derived)
        else:
            levels[signal] = replace(level, soft=limit, soft_derived=derived)
    return levels


def _awaited(findings: tuple[_Finding, ...]) -> frozenset[Signal]:
    waits = (each.threshold for each in findings if each.kind == "WaitingForMeasurement")
    return frozenset(signal for each in waits if each is not None and (signal := signal_named(each.signal)) is not None)


def _killed(kills: tuple[RecordedKill, ...]) -> dict[str, int]:
    killed: dict[str, int] = {}
    for each in kills:
        killed[each.where] = killed.get(each.where, 0) + each.count
    return killed


def _in_vain(findings: tuple[_Finding, ...]) -> Iterator[Signal]:
    paused = (signal_named(each.signal) for each in findings if each.why == _IN_VAIN and each.signal)
    return (each for each in paused if each is not None)


def _earlier(trend: Mapping[str, tuple[RecordedPoint, ...]]) -> dict[Signal, tuple[RecordedPoint, ...]]:
    return {signal: found for name, found in trend.items() if (signal := signal_named(name)) is not None}


def _rates(
    earlier: Mapping[Signal, tuple[RecordedPoint, ...]], levels: Mapping[Signal, SignalLevel]
) -> dict[Signal, int]:
    """Return by how much a second each signal fell from the oldest reading just before a cycle to that of the cycle."""
    rates: dict[Signal, int] = {}
    for signal, found in earlier.items():
        own = [(0.0, levels[signal].available)] if signal in levels else []
        near = sorted([*own, *(each for each in found if each[0] <= _JUST_BEFORE and (each[0] > 0 or not own))])
        if len(near) >= 2 and near[-1][0] > near[0][0]:
            (now, left), (then, before) = near[0], near[-1]
            rates[signal] = max(0, int((before - left) / (then - now)))
    return rates


def _uncovered(amounts: RecordedAmounts, levels: dict[Signal, SignalLevel]) -> dict[Signal, SignalLevel]:
    return {
        signal: SignalLevel(available=available, capacity=capacity)
        for signal, (available, capacity) in amounts.available.items()
        if signal not in levels
    }


def _chosen(wire: _Line) -> Iterator[Chosen]:
    """Yield the evictions for pressure that begin in this cycle."""
    for each in wire.decisions:
        pod, threshold = each.pod, each.because.threshold
        if each.kind != "EvictPod" or each.shortens or pod is None or threshold is None:
            continue
        rows = _ranked(wire.findings, threshold.signal)
        recorded = _recorded(wire.observation.pods, pod)
        yield Chosen(
            uid=pod.uid,
            pod=f"{pod.namespace}/{pod.name}",
            signal=Signal(threshold.signal),
            hard=threshold.hard,
            fill_rate=each.because.fill_rate or 0,
            stays=wire.extra.dry_run,
            fitted=each.because.grace_fitted,
            next_uid=uid_behind(rows, pod.uid),
            overtaken=overtaken(rows, pod.uid),
            owner=f"{pod.namespace}/{recorded.metadata.owner}" if recorded.metadata.owner else "",
            grace=each.grace_period_seconds,
            own_grace=recorded.spec.termination_grace_period_seconds,
        )


def _recorded(pods: tuple[_OwnedPod, ...], pod: _Pod) -> _OwnedPod:
    return next((each for each in pods if each.metadata.uid == pod.uid), _OwnedPod())


def _own_grace(pod: _OwnedPod) -> tuple[int, str]:
    return pod.spec.termination_grace_period_seconds or 0, f"{pod.metadata.namespace}/{pod.metadata.name}"


def _ranked(findings: tuple[_Finding, ...], signal: str) -> list[RankedRow]:
    return [row for each in findings if each.kind == "Ranking" and each.signal == signal for row in each.rows]
