"""Builds a world from a world file, and reports every fault with its path, value and remedy."""

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any, TypeVar

from evictd.codec.config.evictd_config import decode_evictd
from evictd.codec.pods.pod import RESIZABLE, with_allocated
from evictd.codec.pods.pod_fields import resource_remedy
from evictd.codec.pods.pod_wire import WireContainerStatus, WireResources
from evictd.codec.strict import Amount, Rate, Span, decode, struct_fields
from evictd.codec.world_fields import (
    KIND,
    BehaviourFields,
    ExpectFields,
    NodeFields,
    WorldFields,
    WorldPart,
    WorldPodFields,
)
from evictd.core.frozen import frozen
from evictd.core.model.config import EvictionMethod
from evictd.core.model.finding import NoActionReason, SkipReason
from evictd.core.model.oom import SYSTEM_NODE_CRITICAL, SYSTEM_NODE_CRITICAL_PRIORITY
from evictd.core.model.pod import Pod, PodSource
from evictd.core.model.problem import ConfigProblem
from evictd.core.model.resources import CPU, IN_MEMORY, Container, Volume, VolumeKind
from evictd.core.units.approximate import bytes_text
from evictd.core.units.duration import MINUTE, SECOND, format_duration
from evictd.core.units.quantity import Quantity, of_bytes, of_count
from evictd.errors import InputError, did_you_mean
from evictd.world.behaviours import (
    Behaviour,
    Burst,
    Exits,
    Grow,
    Hold,
    LeakAndRelease,
    Stalls,
    Stops,
    TakeRest,
    Unreadable,
    Usage,
)
from evictd.world.host_memory import too_much_held
from evictd.world.model import (
    ApiServer,
    DeadContainers,
    Disk,
    DisruptionBudget,
    Fault,
    HostUse,
    NodeImage,
    NodeSpec,
    Outage,
    Owner,
    Unread,
    World,
    WorldPod,
    pod_uid,
    within_volumes,
)

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

E = TypeVar("E", bound=Enum)
T = TypeVar("T", bound="DataclassInstance")

FINDINGS = sorted({each.value for each in (*NoActionReason, *SkipReason)})
"""The reasons that `expect.findings` may name."""
LONGEST = 24 * 60 * MINUTE
"""The longest duration: it has a cycle each 10 s, which are all kept, and is played twice."""

LEAST_MEMORY = 16 << 20
"""The least memory of a node: with less no kernel runs pods, and the number lacks its unit."""
_GIB_AT_MOST = 4096
"""Bytes that were meant as GiB, if the number of them has no unit."""


@frozen
class WorldFile:
    """A world with its configuration and what is expected of it."""

    world: World
    config: Mapping[str, Any]
    """KubeletConfiguration fields by their YAML names."""
    evictd: Mapping[str, Any]
    """EvictdConfiguration fields by their YAML names; may be empty."""
    expect: ExpectFields | None = None
    description: str = ""


def decode_world(document: Mapping[str, Any]) -> WorldFile:
    """Decode a world from plain values (parsed JSON or YAML); raises `InputError` with every fault."""
    fields, problems = decode(WorldFields, document)
    reader = _Reader([_placed(each) for each in problems])
    if fields.kind != KIND:
        reader.wrong("kind", fields.kind, "is no world", f"a world has `kind: {KIND}`")
    found = WorldFile(
        world=reader.world(fields),
        config=fields.config,
        evictd=fields.evictd,
        expect=fields.expect,
        description=fields.description,
    )
    if not problems:  # else the rest of a field that was not understood would be reported as well
        reader.check(fields, found.world)
    if reader.problems:
        raise InputError(tuple(str(problem) for problem in reader.problems))
    return found


def _placed(problem: ConfigProblem) -> ConfigProblem:
    """Return the problem of an unknown field; of one of the node with its place."""
    of_node = problem.unknown_field and problem.path in {each.encode_name for each in struct_fields(NodeFields)}
    return (
        dataclasses.replace(problem, remedy=f"it is a field of `node`: `node.{problem.path}`") if of_node else problem
    )


@dataclass(slots=True)
class _Reader:
    problems: list[ConfigProblem] = field(default_factory=list)

    def wrong(self, path: str, value: object, wrong: str, remedy: str) -> None:
        text = format_duration(value) if isinstance(value, Span) else str(value)
        self.problems.append(ConfigProblem(path=path, value=text, wrong=wrong, remedy=remedy))

    # --- from fields to values ----------------------------------------------------------------------------------------

    def world(self, fields: WorldFields) -> World:
        api = fields.api_server
        return _made(
            World,
            fields,
            node=_node(fields.node),
            pods=tuple(pod for index, each in enumerate(fields.pods) for pod in self.pods(each, f"pods[{index}]")),
            owners=tuple(_made(Owner, each) for each in fields.owners),
            host=tuple(
                _made(HostUse, each, behaviours=self.behaviours(each.behaviours, f"host[{index}]"))
                for index, each in enumerate(fields.host)
            ),
            api_server=_made(
                ApiServer,
                api,
                termination=_termination(fields),
                budgets=tuple(_made(DisruptionBudget, each, pods=frozenset(each.pods)) for each in api.budgets),
                outages=tuple(_made(Outage, each) for each in api.outages),
            ),
            faults=tuple(
                _made(Fault, each, unread=self.member(Unread, each.unread, f"faults[{index}].unread"))
                for index, each in enumerate(fields.faults)
            ),
        )

    def pods(self, fields: WorldPodFields, path: str) -> list[WorldPod]:
        if not fields.name:
            self.wrong(f"{path}.name", "", "there is none", "give each pod a name")
        names = [fields.name] if fields.count == 1 else [f"{fields.name}-{number}" for number in range(fields.count)]
        behaviours = self.behaviours(fields.behaviours, path)
        pods = (_pod(fields, name) for name in names)
        return [_made(WorldPod, fields, pod=each, behaviours=within_volumes(behaviours, each)) for each in pods]

    def behaviours(self, fields: Iterable[BehaviourFields], path: str) -> tuple[Behaviour, ...]:
        found = (self.behaviour(each, f"{path}.behaviours[{index}]") for index, each in enumerate(fields))
        return tuple(each for each in found if each is not None)

    def behaviour(self, fields: BehaviourFields, path: str) -> Behaviour | None:
        given = [name for name in fields.__struct_fields__ if getattr(fields, name) is not None]
        if len(given) != 1:
            wrong = "names no behaviour" if not given else "names more than one behaviour"
            self.wrong(path, ", ".join(given) or "{}", wrong, "write one to an entry, as in `- hold: {...}`")
            return None
        kind = getattr(fields, given[0])
        values = kind.values()
        path = f"{path}.{dict(zip(fields.__struct_fields__, fields.__struct_encode_fields__, strict=True))[given[0]]}"
        if "of" in values:
            usage = self.member(Usage, values["of"], f"{path}.of")
            if usage is None:
                return None
            values["of"] = usage
        if values.get("rate") == 0 and not any(each.path == f"{path}.rate" for each in self.problems):
            self.wrong(f"{path}.rate", 0, "nothing changes at this rate", "give a rate above zero, such as 50Mi")
            return None
        if given[0] == "leak_and_release" and values["peak"] - values["low"] < values["rate"]:
            wrong, remedy = "is reached from `low` in less than 1s", "give a higher peak, or a lower rate"
            self.wrong(f"{path}.peak", values["peak"], wrong, remedy)
            return None
        if values.get("every") is not None and values["every"] <= max(values["duration"] or 0, SECOND - 1):
            wrong = "is no longer than `duration`, or less than 1s"
            self.wrong(f"{path}.every", values["every"], wrong, "give a longer time")
            return None
        made: Behaviour = _BEHAVIOURS[given[0]](**values)
        return made

    def member(self, kind: type[E], value: str, path: str) -> E | None:
        known = [str(each.value) for each in kind]
        if value in known:
            return kind(value)
        self.wrong(path, value or '""', "is not known", _nearest(value, known))
        return None

    # --- what does not fit together -----------------------------------------------------------------------------------

    def check(self, fields: WorldFields, world: World) -> None:
        names = [each.pod.full_name for each in world.pods]
        if twice := next((name for name in names if names.count(name) > 1), None):
            self.wrong("pods", twice, "is there twice", "give each pod a name of its own")
        images = {each.name for each in fields.node.images}
        self.check_owners(fields)
        for index, pod in enumerate(fields.pods):
            self.check_pod(pod, f"pods[{index}]", images)
        for index, budget in enumerate(fields.api_server.budgets):
            for name in sorted(set(budget.pods) - set(names)):
                self.wrong(
                    f"apiServer.budgets[{index}].pods", name, "is no pod of this world", "name it `namespace/name`"
                )
        self.check_times(fields)
        self.check_memory(fields)
        self.check_disks(fields)
        if fields.node.split_layout and fields.node.imagefs is None:
            self.wrong("node.splitLayout", "true", "needs `imagefs`", "add the disk of the images")
        if fields.expect is not None:
            self.check_expect(fields.expect, names)

    def check_owners(self, fields: WorldFields) -> None:
        owned = {each.owner for each in fields.pods}
        for index, owner in enumerate(fields.owners):
            path = f"owners[{index}]"
            if owner.name not in owned:
                self.wrong(f"{path}.name", owner.name, "owns no pod", "name it as `owner` of a pod, or remove it")

    def check_expect(self, expect: ExpectFields, names: list[str]) -> None:
        for index, name in enumerate(expect.findings):
            if name not in FINDINGS:
                self.wrong(f"expect.findings[{index}]", name, "is no reason of a finding", _nearest(name, FINDINGS))
        for name in sorted(set(expect.evicted or ()) - set(names)):
            self.wrong("expect.evicted", name, "is no pod of this world", "name it `namespace/name`")

    def check_pod(self, pod: WorldPodFields, path: str, images: set[str]) -> None:
        if pod.deleted_at is not None and pod.deleted_at < pod.start:
            self.wrong(f"{path}.deletedAt", pod.deleted_at, "is before `start`", "give a later time")
        for name in sorted(set(pod.allocated) - RESIZABLE):
            self.wrong(f"{path}.allocated.{name}", pod.allocated[name], "cannot be resized", "give cpu or memory")
        for kind, amounts in (("requests", pod.requests), ("limits", pod.limits)):
            for name in sorted(amounts):
                if remedy := resource_remedy(name):
                    self.wrong(f"{path}.{kind}.{name}", amounts[name], "is an unknown resource", remedy)
        for name in sorted(pod.requests.keys() & pod.limits.keys()):
            if pod.requests[name] > pod.limits[name]:
                remedy = "the API server refuses such a pod; give at most the limit"
                self.wrong(f"{path}.requests.{name}", pod.requests[name], f"is above limits.{name}", remedy)
        if pod.image and pod.image not in images:
            self.wrong(f"{path}.image", pod.image, "is no image of the node", "add it to `node.images`")
        writes = any(
            each.of in {"volume", "volumeInodes"}
            for behaviour in pod.behaviours
            for each in (behaviour.hold, behaviour.grow, behaviour.leak_and_release, behaviour.burst)
            if each is not None
        )
        if writes and not any(volume.medium == "" for volume in pod.volumes):
            self.wrong(
                f"{path}.volumes", "[]", "a behaviour writes to a volume, and there is none", "add `- name: data`"
            )

    def check_memory(self, fields: WorldFields) -> None:
        memory, unusable = fields.node.memory, fields.node.unusable_memory
        if memory < LEAST_MEMORY:
            remedy = (
                f"did you mean {memory}Gi?" if 0 < memory <= _GIB_AT_MOST else "give the memory of a node, such as 8Gi"
            )
            self.wrong("node.memory", memory, f"is less than {bytes_text(LEAST_MEMORY)}", remedy)
        elif unusable >= memory:
            self.wrong("node.unusableMemory", unusable, "is all of `node.memory`", "give less")
        elif (found := too_much_held(fields)) is not None:
            self.wrong(*found, "with it the host holds more than all memory and swap", "give less")

    def check_disks(self, fields: WorldFields) -> None:
        for path, disk in (("node.nodefs", fields.node.nodefs), ("node.imagefs", fields.node.imagefs)):
            if disk is not None and disk.used > disk.capacity:
                self.wrong(f"{path}.used", disk.used, f"is above `{path}.capacity`", "give at most that")
            if disk is not None and disk.inodes_used > disk.inodes:
                self.wrong(f"{path}.inodesUsed", disk.inodes_used, f"is above `{path}.inodes`", "give at most that")

    def check_times(self, fields: WorldFields) -> None:
        if fields.duration == 0:
            self.wrong("duration", fields.duration, "nothing happens in no time", "give a duration such as 10m")
        if fields.duration > LONGEST:
            self.wrong("duration", fields.duration, f"is longer than {format_duration(LONGEST)}", "give a shorter one")
        times = [
            *((f"pods[{i}].start", each.start) for i, each in enumerate(fields.pods)),
            *((f"apiServer.outages[{i}].start", each.start) for i, each in enumerate(fields.api_server.outages)),
            *((f"faults[{i}].start", each.start) for i, each in enumerate(fields.faults)),
        ]
        for path, at in times:
            if at > fields.duration:
                self.wrong(path, at, "is after the end of the world", "give an earlier time, or a longer `duration`")


_BEHAVIOURS: Mapping[str, type[Any] | Any] = {
    "hold": Hold,
    "grow": Grow,
    "leak_and_release": LeakAndRelease,
    "burst": Burst,
    "take_rest": TakeRest,
    "stops": Stops,
    "ignores_term": lambda: Stops(after=None),
    "exits": Exits,
    "unreadable": Unreadable,
    "stalls": Stalls,
}
"""By the field of `BehaviourFields`."""


def _made(kind: type[T], fields: WorldPart, /, **parts: Any) -> T:
    """Make a value of the fields of a file that have its names, and of the parts that differ from what is written."""
    given = {name: _plain(value) for name, value in fields.values().items()} | parts
    return kind(**{each.name: given[each.name] for each in dataclasses.fields(kind) if each.name in given})


def _plain(value: object) -> object:
    """Return an amount, a time or a rate as the `int` that it is: a journal of the world has plain numbers."""
    return int(value) if isinstance(value, Amount | Rate | Span) else value


def _termination(fields: WorldFields) -> EvictionMethod:
    """Return how pods are ended: as the configuration of the world says, or else its API server."""
    cluster = fields.evictd.get("cluster")
    said = isinstance(cluster, Mapping) and "podTermination" in cluster
    return decode_evictd(fields.evictd)[0].cluster.pod_termination if said else fields.api_server.pod_termination


def _nearest(name: str, known: Sequence[str]) -> str:
    return did_you_mean(name, known) or f"give one of {', '.join(known)}"


def _node(fields: NodeFields) -> NodeSpec:
    return _made(
        NodeSpec,
        fields,
        nodefs=_made(Disk, fields.nodefs),
        imagefs=None if fields.imagefs is None else _made(Disk, fields.imagefs),
        images=tuple(_made(NodeImage, each) for each in fields.images),
        dead_containers=_made(DeadContainers, fields.dead_containers),
    )


def _pod(fields: WorldPodFields, name: str) -> Pod:
    spec = Container(name="main", requests=_resources(fields.requests), limits=_resources(fields.limits))
    (container,) = with_allocated((spec,), _statuses(fields))
    return _made(
        Pod,
        fields,
        name=name,
        uid=pod_uid(f"{fields.namespace}/{name}"),
        priority_class_name=SYSTEM_NODE_CRITICAL if fields.priority == SYSTEM_NODE_CRITICAL_PRIORITY else "",
        source=PodSource.STATIC if fields.static else PodSource.API,
        containers=(container,),
        volumes=tuple(
            Volume(
                name=each.name,
                kind=VolumeKind.EMPTY_DIR,
                medium=each.medium,
                size_limit=None if each.size_limit is None else of_bytes(each.size_limit),
            )
            for each in fields.volumes
        )
        + tuple(_volumes_written(fields)),
    )


def _volumes_written(fields: WorldPodFields) -> Iterator[Volume]:
    """Yield the volumes that the pod writes to and that need not be declared."""
    if _takes(fields, Usage.HOST_PATH, Usage.HOST_PATH_INODES):
        yield Volume(name="host", kind=VolumeKind.HOST_PATH)
    if _takes(fields, Usage.MEMORY_VOLUME) and not any(each.medium == IN_MEMORY for each in fields.volumes):
        yield Volume(name="memory", kind=VolumeKind.EMPTY_DIR, medium=IN_MEMORY)


def _takes(fields: WorldPodFields, *usages: Usage) -> bool:
    kinds = {each.value for each in usages}
    parts = (part for each in fields.behaviours for part in (each.hold, each.grow, each.leak_and_release, each.burst))
    return any(getattr(part, "of", "") in kinds for part in parts)


def _statuses(fields: WorldPodFields) -> tuple[WireContainerStatus, ...]:
    """Return the container status of a pod whose resize in place has not been granted (KEP-1287); none for other pods."""
    if not fields.allocated:
        return ()
    allocated = _resources(fields.requests | fields.allocated)
    amounts: WireResources = {name: str(each) for name, each in allocated.items()}
    return (WireContainerStatus(name="main", allocated_resources=amounts),)


def _resources(amounts: Mapping[str, int]) -> dict[str, Quantity]:
    return {name: of_count(each) if name == CPU else of_bytes(each) for name, each in amounts.items()}
