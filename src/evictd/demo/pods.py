"""What a pod of a disposable node is, and how it is written down as a v1.Pod.

A recipe says what a test or a demonstration needs of a pod: its containers' scripts, requests and limits, priority
and volumes. The manifest is what `staticPodPath` would hold, so that requests and priority are known without an API
server.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from evictd.core.qos import QOSClass
from evictd.core.quantity import Quantity, parse_quantity
from evictd.core.resources import MEMORY
from evictd.demo.images import BUSYBOX
from evictd.errors import InvalidValueError

EMPTY_DIR_FOLDER = "kubernetes.io~empty-dir"
CONFIG_SOURCE = "kubernetes.io/config.source"

READY = "echo ready"
"""A script with this in it is waited for: before its trap is set, the first process of a container ignores SIGTERM."""
WAIT_FOR_TERM = f"trap 'exit 0' TERM; {READY}; sleep 100000 & wait"
"""A script that does nothing and ends at once when it is asked to."""
IGNORE_TERM = f"trap '' TERM; {READY}; while true; do sleep 1; done"
"""A script that only SIGKILL ends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VolumeRecipe:
    """An emptyDir, mounted at /NAME in every container; `medium` is "" or `Memory`."""

    name: str
    medium: str = ""
    size_limit: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerRecipe:
    """A container that runs a busybox shell script; requests and limits as in a manifest (`{"memory": "64Mi"}`)."""

    name: str = "main"
    script: str = WAIT_FOR_TERM
    image: str = BUSYBOX
    requests: Mapping[str, str] = field(default_factory=dict)
    limits: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class PodRecipe:
    """A pod to run; `source` is the kubelet's `config.source`: `api`, or `file` for a static pod."""

    name: str
    namespace: str = "default"
    uid: str = ""
    containers: tuple[ContainerRecipe, ...] = (ContainerRecipe(),)
    volumes: tuple[VolumeRecipe, ...] = ()
    priority: int | None = None
    priority_class: str = ""
    grace_period_seconds: int = 30
    source: str = "api"
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    manifest: bool = True

    def __post_init__(self) -> None:
        for text in (self.name, self.namespace, self.uid, *(volume.name for volume in self.volumes)):
            if "/" in text or text in {".", ".."}:
                raise InvalidValueError(f"{text!r} cannot be part of a path")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningPod:
    """A pod that was started: its ids and where its things are on the host."""

    name: str
    namespace: str
    uid: str
    sandbox_id: str
    containers: Mapping[str, str]
    """Container ids by name."""
    volumes: Mapping[str, Path]
    log_directory: Path
    cgroup_parent: str
    recipe: PodRecipe

    @property
    def container_id(self) -> str:
        """The id of its first container."""
        return next(iter(self.containers.values()))

    def log(self, container: str = "", attempt: int = 0) -> str:
        """Give what a container wrote so far."""
        name = container or next(iter(self.containers))
        return (self.log_directory / name / f"{attempt}.log").read_text(encoding="utf-8", errors="replace")


def qos_class(recipe: PodRecipe) -> QOSClass:
    """Give the QoS class that these requests and limits make (kubelet `ComputePodQOS`)."""
    containers = recipe.containers
    if not any(container.requests or container.limits for container in containers):
        return QOSClass.BEST_EFFORT
    guaranteed = all(
        {"cpu", MEMORY} <= container.limits.keys()
        and all(container.requests.get(name, limit) == limit for name, limit in container.limits.items())
        for container in containers
    )
    return QOSClass.GUARANTEED if guaranteed else QOSClass.BURSTABLE


def cgroup_parent(node: str, uid: str, qos: QOSClass) -> str:
    """Give the pod's cgroup below the node's, as the kubelet's cgroupfs driver names it."""
    level = "" if qos is QOSClass.GUARANTEED else f"/{qos.value.lower()}"
    return f"{node}/kubepods{level}/pod{uid}"


def memory_bytes(container: ContainerRecipe) -> int:
    """Give the container's memory limit; 0 is none."""
    limit: Quantity = parse_quantity(container.limits.get(MEMORY, "0"))
    return limit.value()


def oom_score_adj(container: ContainerRecipe, qos: QOSClass, priority: int | None) -> int:
    """Give a plain score of the class; the exact documented policy is another module's to check."""
    if qos is QOSClass.GUARANTEED or (priority or 0) >= 2_000_000_000:
        return -997
    return 1000 if qos is QOSClass.BEST_EFFORT or MEMORY not in container.requests else 900


def manifest(recipe: PodRecipe, uid: str) -> dict[str, object]:
    """Write the recipe as a v1.Pod."""
    metadata = {
        "name": recipe.name,
        "namespace": recipe.namespace,
        "uid": uid,
        "labels": dict(recipe.labels),
        "annotations": {CONFIG_SOURCE: recipe.source, **recipe.annotations},
    }
    spec: dict[str, object] = {
        "containers": [_container(recipe, container) for container in recipe.containers],
        "volumes": [_volume(volume) for volume in recipe.volumes],
        "hostNetwork": True,
        "terminationGracePeriodSeconds": recipe.grace_period_seconds,
    }
    if recipe.priority is not None:
        spec["priority"] = recipe.priority
    if recipe.priority_class:
        spec["priorityClassName"] = recipe.priority_class
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def _container(recipe: PodRecipe, container: ContainerRecipe) -> dict[str, object]:
    return {
        "name": container.name,
        "image": container.image,
        "command": ["/bin/sh", "-c", container.script],
        "resources": {"requests": dict(container.requests), "limits": dict(container.limits)},
        "volumeMounts": [{"name": volume.name, "mountPath": f"/{volume.name}"} for volume in recipe.volumes],
    }


def _volume(volume: VolumeRecipe) -> dict[str, object]:
    empty_dir = {key: text for key, text in (("medium", volume.medium), ("sizeLimit", volume.size_limit)) if text}
    return {"name": volume.name, "emptyDir": empty_dir}
