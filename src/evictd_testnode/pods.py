"""Defines the pods of a disposable node, and writes them as v1.Pod manifests.

A recipe has what a test or a demonstration needs of a pod: its containers' scripts, requests and limits, its priority and its
volumes. The manifest goes to `staticPodPath`, so that evictd knows requests and priority without an API server.
"""

from collections.abc import Mapping
from dataclasses import field
from pathlib import Path

from evictd.core.frozen import frozen
from evictd.core.model.resources import MEMORY, QOSClass
from evictd.core.units.quantity import Quantity, parse_quantity
from evictd.errors import InvalidValueError
from evictd_testnode.images import BUSYBOX

EMPTY_DIR_FOLDER = "kubernetes.io~empty-dir"
CONFIG_SOURCE = "kubernetes.io/config.source"

READY = "echo ready"
"""Part of a script, after its trap. `run_container` waits for it: before the trap, process 1 of a container ignores SIGTERM."""
WAIT_FOR_TERM = f"trap 'exit 0' TERM; {READY}; sleep 100000 & wait"
"""A script that does nothing, and ends at once on SIGTERM."""
IGNORE_TERM = f"trap '' TERM; {READY}; while true; do sleep 1; done"
"""A script that ignores SIGTERM."""


@frozen
class VolumeRecipe:
    """An emptyDir, mounted at /NAME in every container; `medium` is "" or `Memory`."""

    name: str
    medium: str = ""
    size_limit: str = ""


@frozen
class ContainerRecipe:
    """A container that runs a busybox shell script; requests and limits as in a manifest (`{"memory": "64Mi"}`)."""

    name: str = "main"
    script: str = WAIT_FOR_TERM
    image: str = BUSYBOX
    image_volumes: Mapping[str, str] = field(default_factory=dict)
    """Images mounted as volumes, by the path in the container."""
    requests: Mapping[str, str] = field(default_factory=dict)
    limits: Mapping[str, str] = field(default_factory=dict)


@frozen
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
    host_users: bool = True
    """False: a user namespace of its own (`hostUsers: false`)."""

    def __post_init__(self) -> None:
        for text in (self.name, self.namespace, self.uid, *(volume.name for volume in self.volumes)):
            if "/" in text or text in {".", ".."}:
                raise InvalidValueError(f"{text!r} cannot be part of a path")


@frozen
class RunningPod:
    """A started pod: its ids and its directories on the host."""

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
        """The id of the pod's first container."""
        return next(iter(self.containers.values()))

    def log(self, container: str = "", attempt: int = 0) -> str:
        """Return the output of a container so far."""
        name = container or next(iter(self.containers))
        return (self.log_directory / name / f"{attempt}.log").read_text(encoding="utf-8", errors="replace")


def qos_class(recipe: PodRecipe) -> QOSClass:
    """Compute the QoS class from requests and limits (kubelet `ComputePodQOS`)."""
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
    """Return the path of the pod's cgroup below the node's, as the kubelet's cgroupfs driver names it."""
    level = "" if qos is QOSClass.GUARANTEED else f"/{qos.value.lower()}"
    return f"{node}/kubepods{level}/pod{uid}"


def memory_bytes(container: ContainerRecipe) -> int:
    """Return the container's memory limit in bytes; 0 if it has none."""
    limit: Quantity = parse_quantity(container.limits.get(MEMORY, "0"))
    return limit.value()


def recipe_oom_score_adj(container: ContainerRecipe, qos: QOSClass, priority: int | None) -> int:
    """Return a typical score of the QoS class; `core.model.oom` has the exact documented rule."""
    if qos is QOSClass.GUARANTEED or (priority or 0) >= 2_000_000_000:
        return -997
    return 1000 if qos is QOSClass.BEST_EFFORT or MEMORY not in container.requests else 900


def manifest(recipe: PodRecipe, uid: str) -> dict[str, object]:
    """Return the recipe as a v1.Pod."""
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
