"""Says what a world is before its timeline: what it shows, the sizes of its node, and what its pods and the host take."""

import re
from collections.abc import Iterable, Iterator, Sequence

from evictd.core.units.approximate import bytes_text, count_text
from evictd.core.units.duration import format_duration
from evictd.render.text import clean, clock, counted
from evictd.world.behaviours import Behaviour, Burst, Grow, Hold, LeakAndRelease, TakeRest, Usage
from evictd.world.model import NodeSpec, Outage, World, WorldPod

_NAMED = 3
"""How many kinds of pods are named."""
_SENTENCE_ENDS = re.compile(r"(?<=[.!?])\s")
_INODES = {Usage.LAYER_INODES, Usage.VOLUME_INODES, Usage.HOST_PATH_INODES}
_ON_DISK = {Usage.LAYER, Usage.LOGS, Usage.VOLUME, Usage.HOST_PATH, Usage.UNLINKED, Usage.IMAGE_DISK, *_INODES}
_OF = {
    Usage.MEMORY: "of memory",
    Usage.MEMORY_VOLUME: "of files in memory",
    Usage.PAGE_CACHE: "of page cache",
    Usage.PROCESSES: "processes",
    Usage.LAYER: "in writable layers",
    Usage.LOGS: "of logs",
    Usage.VOLUME: "in volumes",
    Usage.HOST_PATH: "of files on the host",
    Usage.UNLINKED: "of deleted open files",
    Usage.IMAGE_DISK: "on the disk of images",
} | dict.fromkeys(_INODES, "inodes")


def head_texts(world: World, description: str) -> list[str]:
    """Return the first sentence of the description, and one each for the node, its pods, and a host that takes more and more."""
    pods = _kinds(world.pods)
    texts = [clean(_SENTENCE_ENDS.split(" ".join(description.split()), maxsplit=1)[0])] if description.strip() else []
    texts.append(
        f"Node: {_node_text(world)}; {counted(len(world.pods), 'pod')}; played for {format_duration(world.duration)}."
    )
    if pods:
        named = [_pods_text(each) for each in pods[:_NAMED]]
        others = sum(len(each) for each in pods[_NAMED:])
        texts.append("; ".join([*named, *([f"{others} more"] if others else [])]) + ".")
    growing = [each for each in world.host if any(map(_changes, each.behaviours))]
    if growing:
        hosts = (f"{clean(each.name)} {_does(each.behaviours)}" for each in growing[:_NAMED])
        texts.append(f"On the host: {'; '.join(hosts)}.")
    if outages := [*map(_outage_text, world.api_server.outages[:_NAMED])]:
        texts.append(f"The API server {', and '.join(outages)}.")
    return texts


def _outage_text(outage: Outage) -> str:
    what = f"answers with status {outage.status}" if outage.status else "cannot be reached"
    return f"{what} from {clock(outage.start)} to {clock(outage.start + outage.duration)}"


def _kinds(pods: Iterable[WorldPod]) -> list[Sequence[WorldPod]]:
    """Return the pods that do the same with the same priority, in groups: those first that take more and more."""
    groups: dict[object, list[WorldPod]] = {}
    for each in pods:
        groups.setdefault((each.behaviours, each.pod.priority, each.start), []).append(each)
    return sorted(groups.values(), key=lambda each: not any(map(_changes, each[0].behaviours)))


def _changes(behaviour: Behaviour) -> bool:
    return isinstance(behaviour, Grow | LeakAndRelease | Burst | TakeRest)


def _pods_text(pods: Sequence[WorldPod]) -> str:
    first, more = pods[0], len(pods) - 1
    name = clean(first.pod.full_name) + (f" and {more} like it" if more else "")
    priority = f"priority {first.pod.priority}" if first.pod.priority else ""
    begin = f"from {clock(first.start)} on" if first.start else ""
    about = ", ".join(each for each in (priority, begin) if each)
    return f"{name} {f'({about}) ' if about else ''}{_does(first.behaviours, each=bool(more))}"


def _does(behaviours: Iterable[Behaviour], *, each: bool = False) -> str:
    texts = list(_verbs(behaviours))
    many = " each" if each and texts else ""
    if each:  # several pods
        texts = [re.sub(r"^(\w+)s ", r"\1 ", text) for text in texts]
    return (" and ".join(texts) or ("take nothing" if each else "takes nothing")) + many


def _verbs(behaviours: Iterable[Behaviour]) -> Iterator[str]:
    for each in behaviours:
        match each:
            case Hold():
                yield f"holds {_amount(each.amount, each.of)}"
            case Grow(bound=None):
                yield f"takes {_amount(each.rate, each.of)} more a second"
            case Grow(bound=int(bound)):
                yield f"takes {_amount(each.rate, each.of)} more a second, up to {_amount(bound, each.of, bare=True)}"
            case LeakAndRelease():
                most = _amount(each.peak, each.of, bare=True)
                yield f"takes {_amount(each.rate, each.of)} more a second, and gives it back at {most}"
            case Burst():
                yield f"takes {_amount(each.amount, each.of)} for {format_duration(each.duration)}"
            case TakeRest():
                yield f"takes {bytes_text(each.rate)} of memory more a second, until {bytes_text(each.leave)} are left"
            case _:
                pass


def _amount(amount: int, of: Usage, *, bare: bool = False) -> str:
    text = count_text(amount) if of in _INODES or of is Usage.PROCESSES else bytes_text(amount)
    return text if bare else f"{text} {_OF[of]}"


def _node_text(world: World) -> str:
    """Write the sizes of the node: of disks and processes where something takes of them."""
    node = world.node
    taken = [*(one.behaviours for one in world.pods), *(one.behaviours for one in world.host)]
    behaviours = [each for one in taken for each in one]
    used = {of for each in behaviours if (of := getattr(each, "of", None)) is not None}
    texts = [f"{bytes_text(node.memory)} of memory"]
    if node.swap:
        texts.append(f"{bytes_text(node.swap)} of swap")
    if used & _ON_DISK or node.images:
        texts += _disks(node, inodes=bool(used & _INODES))
    if Usage.PROCESSES in used:
        texts.append(f"{count_text(node.pids)} process IDs")
    return ", ".join(texts)


def _disks(node: NodeSpec, *, inodes: bool) -> Iterator[str]:
    for disk, name in ((node.nodefs, "a disk"), (node.imagefs, "a disk of images")):
        if disk is not None:
            files = f" with {count_text(disk.inodes)} inodes" if inodes else ""
            yield f"{name} of {bytes_text(disk.capacity)}{files}"
