"""Declares the fields of a world file. Each field's description goes into docs/reference/worlds.md.

`evictd.world.file` makes a world of them.
"""

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from evictd.codec.strict import Amount, Rate, Span
from evictd.core.model.config import EvictionMethod
from evictd.core.units.duration import MILLISECOND, MINUTE, SECOND

KIND = "World"
GIB = 1 << 30
Percent = Annotated[float, Meta(ge=0, le=100)]


def _about(text: str) -> Meta:
    return Meta(description=text)


class WorldPart(msgspec.Struct, kw_only=True, frozen=True, rename="camel"):
    """A part of a world file."""

    def values(self) -> dict[str, Any]:
        """Return the values by the names of the fields."""
        return msgspec.structs.asdict(self)


# --- the node ---------------------------------------------------------------------------------------------------------


class DiskFields(WorldPart, frozen=True):
    """One device."""

    capacity: Annotated[Amount, _about("Bytes.")] = Amount(100 * GIB)
    inodes: Annotated[Amount, _about("How many inodes it has.")] = Amount(1 << 24)
    used: Annotated[Amount, _about("Bytes of the system, which never change.")] = Amount(0)
    inodes_used: Annotated[Amount, _about("Inodes of the system.")] = Amount(0)
    read_only: Annotated[bool, _about("Whether it is mounted read-only.")] = False


class ImageFields(WorldPart, frozen=True):
    """An image on the node."""

    name: Annotated[str, _about("The name by which pods use it.")] = ""
    size: Annotated[Amount, _about("Bytes that its removal frees.")] = Amount(0)
    inodes: Annotated[Amount, _about("Inodes that its removal frees.")] = Amount(0)
    pinned: Annotated[bool, _about("It is never collected.")] = False


class DeadContainersFields(WorldPart, frozen=True):
    """Layers of dead containers."""

    size: Annotated[Amount, _about("Bytes that the first collection of containers frees.")] = Amount(0)
    inodes: Annotated[Amount, _about("Inodes that it frees.")] = Amount(0)


class NodeFields(WorldPart, frozen=True):
    """The machine and its runtime."""

    memory: Annotated[Amount, _about("Bytes of memory.")] = Amount(8 * GIB)
    allocatable_memory: Annotated[
        Amount | None, _about("Limit of the cgroup of all pods; absent: they have no limit but the node's memory.")
    ] = None
    unusable_memory: Annotated[
        Amount,
        _about(
            "The kernel's watermarks, which processes cannot allocate. By default only soft thresholds count them as available."
        ),
    ] = Amount(0)
    swap: Annotated[Amount, _about("Bytes of swap.")] = Amount(0)
    pids: Annotated[Amount, _about("How many PIDs there are.")] = Amount(32768)
    nodefs: Annotated[DiskFields, _about("The node's own disk.")] = DiskFields()
    imagefs: Annotated[DiskFields | None, _about("The disk of the images; absent: they lie on `nodefs`.")] = None
    split_layout: Annotated[bool, _about("With `imagefs`: the writable layers lie on `nodefs`.")] = False
    images: Annotated[tuple[ImageFields, ...], _about("The images on the node, in the order of collection.")] = ()
    dead_containers: Annotated[DeadContainersFields, _about("What dead containers hold.")] = DeadContainersFields()
    stop_overhead: Annotated[Span, _about("From the end of a process until the runtime says so.")] = Span(
        200 * MILLISECOND
    )
    release_delay: Annotated[Span, _about("From the end of a pod until its bytes on disk are free.")] = Span(SECOND)
    collection_time: Annotated[Span, _about("How long a collection takes.")] = Span(500 * MILLISECOND)
    layers_period: Annotated[Span, _about("How often the runtime reads writable layers.")] = Span(10 * SECOND)
    walk_age: Annotated[Span, _about("How old the measurements of logs and volumes are.")] = Span(100 * MILLISECOND)


# --- behaviours -------------------------------------------------------------------------------------------------------

_OF = (
    "What it takes: memory, memoryVolume, pageCache, processes, layer, logs, volume, hostPath, unlinked, imageDisk, layerInodes, "
    "volumeInodes or hostPathInodes."
)
_RATE = "How much a second, or in a time: `10Mi`, `10Mi/s`, `1Gi/10m`."
_START = "The age at which it begins."


class HoldFields(WorldPart, frozen=True):
    """Holds an amount from the beginning."""

    of: Annotated[str, _about(_OF)] = ""
    amount: Annotated[Amount, _about("How much.")] = Amount(0)


class GrowFields(WorldPart, frozen=True):
    """Grows at a rate."""

    of: Annotated[str, _about(_OF)] = ""
    rate: Annotated[Rate, _about(_RATE)] = Rate(0)
    start: Annotated[Span, _about(_START)] = Span(0)
    bound: Annotated[Amount | None, _about("Up to this amount; absent: without end.")] = None


class LeakAndReleaseFields(WorldPart, frozen=True):
    """Grows at a rate and falls back, again and again."""

    of: Annotated[str, _about(_OF)] = ""
    rate: Annotated[Rate, _about(_RATE)] = Rate(0)
    low: Annotated[Amount, _about("What it falls back to.")] = Amount(0)
    peak: Annotated[Amount, _about("What it grows to.")] = Amount(0)
    start: Annotated[Span, _about(_START)] = Span(0)


class BurstFields(WorldPart, frozen=True):
    """Takes an amount for a time."""

    of: Annotated[str, _about(_OF)] = ""
    amount: Annotated[Amount, _about("How much.")] = Amount(0)
    start: Annotated[Span, _about(_START)] = Span(0)
    duration: Annotated[Span, _about("For how long.")] = Span(0)
    every: Annotated[Span | None, _about("The time from one to the next; absent: once.")] = None
    rate: Annotated[Rate, _about("How fast it takes it.")] = Rate(GIB)


class TakeRestFields(WorldPart, frozen=True):
    """Takes memory as long as there is any."""

    rate: Annotated[Rate, _about(_RATE)] = Rate(0)
    leave: Annotated[Amount, _about("What it leaves.")] = Amount(0)
    start: Annotated[Span, _about(_START)] = Span(0)


class StopsFields(WorldPart, frozen=True):
    """Ends some time after SIGTERM; without this it ends at once."""

    after: Annotated[Span, _about("How long after.")] = Span(0)


class IgnoresTermFields(WorldPart, frozen=True):
    """Ends by SIGKILL only, when its grace period is over."""


class ExitsFields(WorldPart, frozen=True):
    """Ends by itself, with code 0."""

    after: Annotated[Span, _about("At which age.")] = Span(0)


class UnreadableFields(WorldPart, frozen=True):
    """Its statistics cannot be read."""

    start: Annotated[Span, _about("From this age on.")] = Span(0)
    duration: Annotated[Span | None, _about("For how long; absent: ever after.")] = None
    every: Annotated[Span | None, _about("The time from one to the next; absent: once.")] = None


class StallsFields(WorldPart, frozen=True):
    """Its tasks stall (PSI)."""

    memory: Annotated[Percent, _about("Percentage of the time in which they stall for memory.")] = 0.0
    io: Annotated[Percent, _about("Percentage of the time in which they stall for I/O.")] = 0.0
    start: Annotated[Span, _about("From this age on.")] = Span(0)
    duration: Annotated[Span | None, _about("For how long; absent: ever after.")] = None


class BehaviourFields(WorldPart, frozen=True):
    """One behaviour: a map with exactly one of these keys."""

    hold: Annotated[HoldFields | None, _about("Holds an amount from the beginning.")] = None
    grow: Annotated[GrowFields | None, _about("Grows at a rate, with or without a bound.")] = None
    leak_and_release: Annotated[LeakAndReleaseFields | None, _about("Grows and falls back, again and again.")] = None
    burst: Annotated[BurstFields | None, _about("Takes an amount for a time, once or again and again.")] = None
    take_rest: Annotated[TakeRestFields | None, _about("Takes all memory that is left.")] = None
    stops: Annotated[StopsFields | None, _about("Ends some time after SIGTERM.")] = None
    ignores_term: Annotated[IgnoresTermFields | None, _about("Ends by SIGKILL only.")] = None
    exits: Annotated[ExitsFields | None, _about("Ends by itself.")] = None
    unreadable: Annotated[UnreadableFields | None, _about("Its statistics cannot be read at times.")] = None
    stalls: Annotated[StallsFields | None, _about("Its tasks stall.")] = None


# --- pods and what surrounds them -------------------------------------------------------------------------------------


class VolumeFields(WorldPart, frozen=True):
    """An emptyDir."""

    name: Annotated[str, _about("Its name.")] = ""
    medium: Annotated[str, _about("`Memory` for one in memory.")] = ""
    size_limit: Annotated[Amount | None, _about("Its size limit in bytes.")] = None


class WorldPodFields(WorldPart, frozen=True):
    """A pod, or several alike."""

    name: Annotated[str, _about("Its name.")] = ""
    namespace: Annotated[str, _about("Its namespace.")] = "default"
    count: Annotated[Annotated[int, Meta(ge=1, le=1000)], _about("How many there are: `NAME-0`, `NAME-1`, ...")] = 1
    priority: Annotated[
        Annotated[int, Meta(ge=-(2**31), le=2**31 - 1)],
        _about("From 2000000000 on: critical; 2000001000: of the class system-node-critical."),
    ] = 0
    static: Annotated[bool, _about("It comes from a manifest on the node, so it is never evicted.")] = False
    owner: Annotated[str, _about("`Kind/name` of its controlling owner.")] = ""
    requests: Annotated[dict[str, Amount], _about("Of its one container.")] = {}
    limits: Annotated[dict[str, Amount], _about("Of its one container.")] = {}
    allocated: Annotated[
        dict[str, Amount], _about("What the kubelet has granted while a resize in place waits; absent: `requests`.")
    ] = {}
    volumes: Annotated[
        tuple[VolumeFields, ...], _about("Its emptyDirs; `of: volume` writes to the first on disk.")
    ] = ()
    labels: Annotated[dict[str, str], _about("For `ranking`.")] = {}
    termination_grace_period_seconds: Annotated[
        Annotated[int, Meta(ge=0, le=2**31)] | None, _about("Absent: the API's default, 30.")
    ] = None
    image: Annotated[str, _about("The image that it uses, one of `node.images`.")] = ""
    start: Annotated[Span, _about("When it comes.")] = Span(0)
    deleted_at: Annotated[Span | None, _about("When something else than evictd deletes it.")] = None
    culprit: Annotated[
        bool | None, _about("Whether it is a cause; absent: if it grows without bound or takes all that is left.")
    ] = None
    behaviours: Annotated[tuple[BehaviourFields, ...], _about("What it does; they add up.")] = ()


class OwnerFields(WorldPart, frozen=True):
    """What recreates its pods when they were evicted or have exited."""

    name: Annotated[str, _about("`Kind/name`.")] = ""
    delay: Annotated[Span, _about("From the end of a pod to its successor.")] = Span(2 * SECOND)
    here: Annotated[
        Annotated[float, Meta(ge=0, le=1)], _about("The probability that a successor comes to this node.")
    ] = 1.0
    tolerates: Annotated[
        bool,
        _about("Its pods tolerate the taints of pressure. Else a successor stays away while the node has a condition."),
    ] = False


class HostFields(WorldPart, frozen=True):
    """A part of the host that is no pod."""

    name: Annotated[str, _about("Its name.")] = ""
    oom_score_adj: Annotated[
        Annotated[int, Meta(ge=-1000, le=1000)] | None, _about("Absent: memory of the kernel, which cannot be killed.")
    ] = None
    behaviours: Annotated[tuple[BehaviourFields, ...], _about("What it does.")] = ()


class DisruptionBudgetFields(WorldPart, frozen=True):
    """A PodDisruptionBudget."""

    pods: Annotated[tuple[str, ...], _about("`namespace/name` of its pods.")] = ()
    allowed: Annotated[Annotated[int, Meta(ge=0, le=1000)], _about("How many evictions it allows.")] = 0


class OutageFields(WorldPart, frozen=True):
    """A time in which the API server answers nothing, or always the same."""

    start: Annotated[Span, _about("When it begins.")] = Span(0)
    duration: Annotated[Span, _about("How long it lasts.")] = Span(0)
    status: Annotated[Annotated[int, Meta(ge=0, le=599)], _about("403, 429 or 500; 0: it cannot be reached.")] = 0


class ApiServerFields(WorldPart, frozen=True):
    """How pods are ended, and what the API server answers."""

    pod_termination: Annotated[
        EvictionMethod, _about("As `cluster.podTermination`, which decides where a configuration sets it.")
    ] = EvictionMethod.AUTO
    kubelet: Annotated[bool, _about("Whether a kubelet runs the pods.")] = True
    retry_after: Annotated[Span | None, _about("The Retry-After of a refusal.")] = Span(10 * SECOND)
    budgets: Annotated[tuple[DisruptionBudgetFields, ...], _about("PodDisruptionBudgets.")] = ()
    outages: Annotated[tuple[OutageFields, ...], _about("Times in which it does not answer as usual.")] = ()


class FaultFields(WorldPart, frozen=True):
    """A time in which something cannot be read."""

    unread: Annotated[str, _about("everything, memory, podsMemory, disk, pids, swap or pods.")] = ""
    start: Annotated[Span, _about("When it begins.")] = Span(0)
    duration: Annotated[Span, _about("How long it lasts.")] = Span(0)


class ExpectFields(WorldPart, frozen=True):
    """What an operator would want of the configuration that is played; times count from when a threshold is first met."""

    innocents: Annotated[int | None, _about("The most innocent pods that may be evicted.")] = None
    oom_kills: Annotated[int | None, _about("The most kills for want of memory of the node.")] = None
    culprit_gone_within: Annotated[Span | None, _about("By when every culprit is gone.")] = None
    relieved_within: Annotated[Span | None, _about("By when no threshold is met any more, until the end.")] = None
    evicted: Annotated[tuple[str, ...] | None, _about("`namespace/name` of exactly the pods that go.")] = None
    findings: Annotated[tuple[str, ...], _about("Reasons of findings that are named at some time.")] = ()
    fails: Annotated[bool, _about("An assertion fails today; the exit status is 0 all the same.")] = False


class WorldFields(WorldPart, frozen=True):
    """A world."""

    kind: Annotated[str, _about("`World`.")] = ""
    name: Annotated[str, _about("Its name.")] = ""
    source: Annotated[str, _about("The public reports, as `owner/repository#number`, separated by commas.")] = ""
    description: Annotated[str, _about("What it shows.")] = ""
    config: Annotated[dict[str, Any], _about("Fields of KubeletConfiguration.")] = {}
    evictd: Annotated[dict[str, Any], _about("Fields of EvictdConfiguration.")] = {}
    duration: Annotated[Span, _about("How long it is played.")] = Span(10 * MINUTE)
    seed: Annotated[int, _about("Of all that is random.")] = 0
    watch: Annotated[bool, _about("Whether a crossing of memory, PIDs or a disk begins a cycle at once.")] = True
    node: Annotated[NodeFields, _about("The machine and its runtime.")] = NodeFields()
    pods: Annotated[tuple[WorldPodFields, ...], _about("The pods.")] = ()
    owners: Annotated[tuple[OwnerFields, ...], _about("The owners that recreate their pods.")] = ()
    host: Annotated[tuple[HostFields, ...], _about("What takes from the node and is no pod.")] = ()
    api_server: Annotated[ApiServerFields, _about("The API server.")] = ApiServerFields()
    faults: Annotated[tuple[FaultFields, ...], _about("What cannot be read at times.")] = ()
    expect: Annotated[ExpectFields | None, _about("Assertions about its outcome.")] = None
