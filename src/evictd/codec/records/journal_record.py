"""Decodes the events of a journal line, without the arguments of `synchronize`.

`decode_entry` rebuilds the whole cycle, to decide it again. A history reads thousands of lines and needs their decisions, the
evidence of the shell and a few fields of state and observation; everything else of a line is skipped by the parser.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from evictd.codec.records.journal import KIND, not_a_line
from evictd.codec.records.journaled import RecordedPoint
from evictd.codec.records.recorded_pod import RecordedPod
from evictd.core.units.quantity import parse_quantity
from evictd.errors import InputError, InvalidValueError

Plain = dict[str, Any]


class _Part(msgspec.Struct, frozen=True, rename="camel"):
    """A part of a line; fields that are not declared are skipped."""


class RecordedVictim(_Part, frozen=True):
    """A pod on its way out before the cycle."""

    uid: str
    full_name: str = ""


class RecordedCollection(_Part, frozen=True):
    """A collection before the cycle; `ended_at` is `None` while it ran."""

    ended_at: int | None = None


class RecordedPhase(_Part, frozen=True):
    """The phase before the cycle."""

    name: str = ""


class RecordedEffect(_Part, frozen=True):
    """What the end of a victim has given back until the cycle."""

    uid: str
    freed: int = 0
    held: int = 0
    missing: int = 0


class RecordedThreshold(_Part, frozen=True):
    """A threshold of the configuration."""

    signal: str = ""
    value: dict[str, Any] = {}
    """`quantity`, or the `fraction` of the capacity as a hexadecimal number."""

    def amount(self, capacity: int) -> int:
        """Return the amount on a node of this capacity; 0 where it is not recorded, or damaged."""
        try:
            if "fraction" in self.value:
                return int(capacity * float.fromhex(str(self.value["fraction"])))
            return parse_quantity(str(self.value.get("quantity", 0))).value()
        except (InvalidValueError, ValueError, OverflowError):
            return 0


class RecordedSeen(_Part, frozen=True):
    """The last reading of a signal."""

    time: int | None = None


class RecordedState(_Part, frozen=True):
    """The state before the cycle."""

    phase: RecordedPhase = RecordedPhase()
    in_flight: tuple[RecordedVictim, ...] = ()
    collections: dict[str, RecordedCollection] = {}
    node_conditions: tuple[str, ...] = ()
    node_conditions_last_observed_at: dict[str, int] = {}
    """By type: `now` at which a threshold of it was last met."""
    clear_since: dict[str, int] = {}
    """By supply: `now` since when no threshold of it is met."""
    thresholds_first_observed_at: tuple[tuple[RecordedThreshold, int], ...] = ()
    """The thresholds that are met, and `now` since when."""
    effects: dict[str, tuple[RecordedEffect, ...]] = {}
    """By supply."""
    last_seen: dict[str, RecordedSeen] = {}
    """By signal."""
    last_cycle_at: int | None = None


class RecordedOutcome(_Part, frozen=True):
    """What one collector freed."""

    action: str
    freed_bytes: int = 0
    removed: int = 0
    error: str = ""
    device: str | None = None
    unused_bytes: int | None = None


class RecordedMemory(_Part, frozen=True):
    """Memory of the node or of a pod; `stalled` in hundredths of a percent of the last 10 s in which a task stalled for it."""

    stalled: int | None = None
    available_bytes: int | None = None
    working_set_bytes: int | None = None
    unallocatable_bytes: int | None = None


class RecordedNode(_Part, frozen=True):
    """The node's own part of the statistics."""

    node_name: str = ""
    memory: RecordedMemory | None = None


class RecordedReference(_Part, frozen=True):
    """Which pod statistics are of."""

    uid: str = ""


class RecordedDisk(_Part, frozen=True):
    """What a pod holds on the disks."""

    used_bytes: int | None = None


class RecordedUsage(_Part, frozen=True):
    """The statistics of a pod."""

    pod_ref: RecordedReference = RecordedReference()
    memory: RecordedMemory | None = None
    disk: RecordedDisk | None = msgspec.field(default=None, name="ephemeral-storage")


class RecordedSummary(_Part, frozen=True):
    """The statistics of the node and its pods."""

    node: RecordedNode = RecordedNode()
    pods: tuple[RecordedUsage, ...] = ()


class RecordedObservation(_Part, frozen=True):
    """The node, the active pods, and the outcomes of earlier decisions."""

    summary: RecordedSummary | None = None
    pods: tuple[RecordedPod, ...] = ()
    reclaimed: tuple[RecordedOutcome, ...] = ()
    cleaned_up: tuple[str, ...] = ()

    @property
    def stalled(self) -> int:
        """How long tasks stalled for memory, in hundredths of a percent of the last 10 s; 0 where that was not read."""
        memory = None if self.summary is None else self.summary.node.memory
        return 0 if memory is None else memory.stalled or 0

    @property
    def memory(self) -> Mapping[str, int]:
        """By uid: the memory that each measured pod used, in bytes."""
        measured = () if self.summary is None else self.summary.pods
        amounts = ((each.pod_ref.uid, each.memory.working_set_bytes) for each in measured if each.memory is not None)
        return {uid: amount for uid, amount in amounts if amount is not None}

    @property
    def disk(self) -> Mapping[str, int]:
        """By uid: what each measured pod held on the disks, in bytes."""
        measured = () if self.summary is None else self.summary.pods
        amounts = ((each.pod_ref.uid, each.disk.used_bytes) for each in measured if each.disk is not None)
        return {uid: amount for uid, amount in amounts if amount is not None}

    @property
    def whole_memory(self) -> int:
        """The memory of the node in bytes; 0 where it was not read."""
        memory = None if self.summary is None else self.summary.node.memory
        return 0 if memory is None else (memory.available_bytes or 0) + (memory.working_set_bytes or 0)

    @property
    def unallocatable(self) -> int:
        """The bytes that count as used because no process can allocate them; 0 where none are known."""
        memory = None if self.summary is None else self.summary.node.memory
        return 0 if memory is None else memory.unallocatable_bytes or 0

    @property
    def node_name(self) -> str:
        """The node's name; empty where nothing was read."""
        return "" if self.summary is None else self.summary.node.node_name


class RecordedRefusal(_Part, frozen=True):
    """An eviction that a disruption budget refused."""

    pod: str
    uid: str = ""
    detail: str = ""


class RecordedKubeletEviction(_Part, frozen=True):
    """A pod that the kubelet evicted; `at` is an RFC 3339 time."""

    pod: str
    uid: str = ""
    at: str = ""
    message: str = ""
    earlier: bool = False


class RecordedKill(_Part, frozen=True):
    """Processes that the kernel killed for want of memory of the node, of a pod (`namespace/name`) or of another cgroup."""

    where: str
    uid: str = ""
    count: int = 1


class RecordedExtra(_Part, frozen=True):
    """The fields that the shell added."""

    dry_run: bool = False
    refused: tuple[RecordedRefusal, ...] = ()
    kubelet_evicted: tuple[RecordedKubeletEviction, ...] = ()
    kernel_killed: tuple[RecordedKill, ...] = ()
    last_words: dict[str, Plain] = {}
    """Usage and the end of the logs of each new victim, by uid."""
    trend: dict[str, tuple[RecordedPoint, ...]] = {}
    """By signal: readings of the minutes before, each how many seconds before and what was available."""


class RecordedConfig(_Part, frozen=True):
    """The configuration of the cycle."""

    eviction_timeout: int | None = None
    pressure_transition_period: int | None = None
    thresholds: tuple[RecordedThreshold, ...] = ()
    memory_lead: str = ""


class RecordedLevel(_Part, frozen=True):
    """An amount, and the lowest that it was in the two halves of about the minute before; the first half began at `since`."""

    used: int
    lowest: int
    lowest_before: int
    since: int

    @property
    def lowest_of_both(self) -> int:
        """The lowest of the minute."""
        return min(self.lowest, self.lowest_before)


class RecordedHoldings(_Part, frozen=True):
    """What each pod held of a supply before the cycle, by uid, and what belongs to no pod."""

    used: dict[str, int] = {}
    lowest: dict[str, int] = {}
    lowest_before: dict[str, int] = {}
    since: int = 0
    arrived: dict[str, int] = {}
    unmeasured: RecordedLevel | None = None
    elsewhere: RecordedLevel | None = None

    def lowest_of_both(self, uid: str) -> int:
        """Return the lowest amount of a pod in about the minute before."""
        known = [each[uid] for each in (self.lowest, self.lowest_before) if uid in each]
        return min(known, default=self.used[uid])

    def read_again(self, used: dict[str, int], elsewhere: int | None) -> "RecordedHoldings":
        """Return it with newer amounts of the same pods, and of what belongs to no pod; `None`: that is not known."""
        lowest, before = (
            {uid: min(amount, used[uid]) for uid, amount in each.items() if uid in used}
            for each in (self.lowest, self.lowest_before)
        )
        level = self.elsewhere
        if level is not None and elsewhere is not None:
            level = msgspec.structs.replace(level, used=elsewhere, lowest=min(level.lowest, elsewhere))
        return msgspec.structs.replace(self, used=used, lowest=lowest, lowest_before=before, elsewhere=level)


class _StateWithHoldings(_Part, frozen=True):
    holdings: dict[str, RecordedHoldings] = {}


class _WithHoldings(_Part, frozen=True):
    state: _StateWithHoldings


class JournalRecord(_Part, frozen=True):
    """One line: `wall` is an RFC 3339 time, `now` nanoseconds of the boot-time clock."""

    kind: str
    wall: str
    now: int
    decisions: tuple[Plain, ...]
    state: RecordedState
    observation: RecordedObservation
    findings: tuple[Plain, ...] = ()
    extra: RecordedExtra = RecordedExtra()
    config: RecordedConfig = RecordedConfig()
    holdings: dict[str, RecordedHoldings] = {}
    """By supply, of the state before the cycle; read only where node conditions are reported, since it has every pod."""


_LINE = msgspec.json.Decoder(JournalRecord)
_HOLDINGS = msgspec.json.Decoder(_WithHoldings)


def recorded_evictions(decisions: Iterable[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """Yield the recorded evictions that begin; one that only shortens the grace period of a leaving pod is none."""
    return (each for each in decisions if each.get("kind") == "EvictPod" and not each.get("shortens"))


def uid_of(plain: Mapping[str, Any]) -> str:
    """Return the uid of the pod of a recorded decision or finding; empty where it is damaged."""
    pod = plain.get("pod")
    return str(pod.get("uid", "")) if isinstance(pod, Mapping) else ""


def name_of(plain: Mapping[str, Any]) -> str:
    """Return `namespace/name` of the pod of a recorded decision or finding; what is damaged of it is left out."""
    pod = plain.get("pod")
    named = pod if isinstance(pod, Mapping) else {}
    return "/".join(str(named[part]) for part in ("namespace", "name") if named.get(part))


def decode_record(line: bytes) -> JournalRecord:
    """Decode one line; raises `InputError` if it is cut short, damaged, or no journal line."""
    try:
        record = _LINE.decode(line)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise InputError(f"journal: {error}; the line is cut short, damaged or not of a journal") from error
    if record.kind != KIND:
        raise not_a_line(record.kind)
    if any(each.get("kind") == "ReportConditions" and each.get("conditions") for each in record.decisions):
        return msgspec.structs.replace(record, holdings=_holdings(line))
    return record


def _holdings(line: bytes) -> dict[str, RecordedHoldings]:
    """Return who held what before the cycle; empty for a damaged part or that of another version."""
    try:
        return _HOLDINGS.decode(line).state.holdings
    except msgspec.MsgspecError:
        return {}
