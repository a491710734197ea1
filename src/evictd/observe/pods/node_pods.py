"""Derives the pods of a node without an API server from the runtime's sandboxes and the static manifests.

A pod is a group of sandboxes with one uid. Its requests, priority and volumes come from the manifests of
`staticPodPath`. Without a manifest, QoS class and limits are deduced from cgroup and containers, and the pod has
`spec_known=False`.

Of such a pod the memory requests are deduced as well, because a pod whose requests count as none goes before all that keep to
theirs: those of a Guaranteed pod are its limits, and a Burstable container's follow from the `oom_score_adj` that the kubelet
gave it, to a thousandth of the node's memory. They are at least the true ones.

Which inputs are trusted: a sandbox's annotation `kubernetes.io/config.source` decides whether its pod is static, before the
manifest does, because the kubelet overwrites any value of the pod's author. In pods of the API server all other annotations are
the author's, so a mirror annotation or a config hash there is ignored, and their names match no manifest.

A sandbox whose uid has two names, or whose name is not a valid Kubernetes name, is left out with one problem: it is better to
evict no pod than a wrong one.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace

from evictd.clients.cri.values import (
    DELETION_GRACE_PERIOD_ANNOTATION,
    GRACE_PERIOD_ANNOTATION,
    ContainerStatus,
    CriSandbox,
    LinuxResources,
    SandboxState,
)
from evictd.clients.cri.values import CriContainer as RuntimeContainer
from evictd.codec.pods.manifest import CONFIG_HASH, Manifest
from evictd.codec.pods.mirrors import KnownSandboxes
from evictd.codec.pods.pod import CONFIG_SOURCE
from evictd.core.frozen import frozen
from evictd.core.gc.container_gc import ContainerState, PodLifecycle, PodLifecycles
from evictd.core.model.observation import Problem
from evictd.core.model.oom import BEST_EFFORT_OOM_SCORE_ADJ, LEAST_BURSTABLE_OOM_SCORE_ADJ, greatest_memory_request
from evictd.core.model.pod import SYSTEM_CRITICAL_PRIORITY, Pod, PodSource
from evictd.core.model.resources import MEMORY, Container, QOSClass
from evictd.core.units.quantity import Quantity, of_bytes
from evictd.errors import SourceKind
from evictd.observe.pods.manifests import Manifests
from evictd.observe.runtime.runtime_view import RuntimeView

_CRITICAL_OOM_SCORE_ADJ = -997
"""The score of containers of critical and Guaranteed pods; that of the pause container is -998 (kubelet `qos/policy.go`)."""
_SYSTEM_NAMESPACE = "kube-system"
_HIGHEST_USER_PRIORITY = 1_000_000_000
"""Kubernetes `scheduling.HighestUserDefinablePriority`."""
FROM_API = "api"
"""The `kubernetes.io/config.source` of a pod that the API server bound to the node."""

API_PODS_STANDALONE = Problem(
    source=SourceKind.STANDALONE.value,
    detail="the runtime runs pods of an API server (kubernetes.io/config.source=api), but `cluster.kubeconfig` is empty: evictd "
    "only reports; set `cluster.kubeconfig`, or `allowApiPodsStandalone: true` to act all the same",
)
"""Why evictd does not act; see `core.eviction.synchronize`."""

_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,251}[A-Za-z0-9])?", re.ASCII)


@frozen
class NodePods:
    """The active pods, the lifecycle of every known pod for garbage collection, and the problems found."""

    active: tuple[Pod, ...]
    lifecycles: PodLifecycles
    problems: tuple[Problem, ...] = ()
    of_api_server: bool = False
    """Whether an API server has bound a pod with a ready sandbox to this node, as the kubelet's annotation says."""


def node_pods(
    view: RuntimeView,
    manifests: Manifests,
    *,
    node_name: str = "",
    evicted: Collection[str] = (),
    memory_capacity: int | None = None,
) -> NodePods:
    """Derive the pods from one listing.

    `evicted` are the uids of pods that evictd has evicted, `memory_capacity` is MemTotal in bytes, `None` where it is not known.
    """
    groups, problems = _group(view)
    lookup = _Lookup(manifests.found, node_name)
    active, lifecycles = [], dict.fromkeys(evicted, PodLifecycle.REMOVED)
    for group in groups:
        manifest = lookup.find(group.sandbox)
        if group.active(manifest):
            active.append(_pod(group, manifest, view, memory_capacity))
        # An evicted pod whose containers still or again run is active, and they are not collected.
        if group.lifecycle(manifest) is PodLifecycle.ACTIVE or group.uid not in lifecycles:
            lifecycles[group.uid] = group.lifecycle(manifest)
    for sandbox in view.sandboxes:
        # Sandboxes without a valid identity are in no group; nothing of them may be collected.
        lifecycles.setdefault(sandbox.uid, PodLifecycle.ACTIVE)
    for uid in lookup.uids:
        # A static pod without a sandbox is about to be started by the kubelet.
        lifecycles.setdefault(uid, PodLifecycle.ACTIVE)
    running = {
        (group.sandbox.namespace, group.sandbox.name)
        for group in groups
        if group.ready and group.sandbox.annotations.get(CONFIG_SOURCE) != FROM_API
    }
    return NodePods(
        active=tuple(sorted(active, key=lambda pod: (pod.namespace, pod.name, pod.uid))),
        lifecycles=PodLifecycles(
            by_uid=lifecycles, all_sources_ready=manifests.complete, awaited=lookup.awaited(running)
        ),
        problems=(*problems, *lookup.problems),
        of_api_server=any(group.ready and group.sandbox.annotations.get(CONFIG_SOURCE) == FROM_API for group in groups),
    )


def known_sandboxes(view: RuntimeView | None) -> KnownSandboxes:
    """Return the uids and static pods in the runtime, by which mirror pods among the API server's objects are recognized."""
    rows = () if view is None else view.sandboxes
    static = (row for row in rows if row.annotations.get(CONFIG_SOURCE, FROM_API) != FROM_API)
    return KnownSandboxes(
        uids=frozenset(row.uid for row in rows), static={row.uid: f"{row.namespace}/{row.name}" for row in static}
    )


def described_by(manifests: Manifests, node_name: str = "") -> Callable[[CriSandbox], bool]:
    """Return a predicate: whether one of these manifests describes a sandbox's pod (for `RuntimeReader.read`)."""
    lookup = _Lookup(manifests.found, node_name)
    return lambda sandbox: lookup.find(sandbox) is not None


@frozen
class _Group:
    """The sandboxes of one pod, and the containers in any of them."""

    sandboxes: tuple[CriSandbox, ...]
    """All of one uid; ready ones last, and the newest last among them."""
    containers: tuple[RuntimeContainer, ...]

    @property
    def sandbox(self) -> CriSandbox:
        return self.sandboxes[-1]

    @property
    def uid(self) -> str:
        return self.sandbox.uid

    @property
    def ready(self) -> bool:
        return any(sandbox.state is SandboxState.READY for sandbox in self.sandboxes)

    @property
    def running(self) -> bool:
        return any(container.state.may_run for container in self.containers)

    def active(self, manifest: Manifest | None) -> bool:
        """Whether a container runs or is about to: one was only created, or a ready sandbox has none yet."""
        return self.running or (self.ready and not self._completed(manifest) and not self._all_exited)

    def lifecycle(self, manifest: Manifest | None) -> PodLifecycle:
        terminated = not self.running and (not self.ready or self._completed(manifest))
        return PodLifecycle.TERMINATED if terminated else PodLifecycle.ACTIVE

    def _completed(self, manifest: Manifest | None) -> bool:
        """Whether all containers have exited and the kubelet will not restart them (`restartPolicy: Never`)."""
        return manifest is not None and manifest.restart_policy == "Never" and self._all_exited

    @property
    def _all_exited(self) -> bool:
        states = {container.state for container in self.containers}
        return states == {ContainerState.EXITED}


def _group(view: RuntimeView) -> tuple[list[_Group], list[Problem]]:
    """Group the sandboxes by pod uid; those without a valid identity become problems."""
    rows, problems = _with_identity(view.sandboxes)
    members: dict[str, list[RuntimeContainer]] = {}
    for container in view.containers:
        members.setdefault(container.sandbox_id, []).append(container)
    by_uid: dict[str, list[CriSandbox]] = {}
    for row in rows:
        by_uid.setdefault(row.uid, []).append(row)
    groups = []
    for sandboxes in by_uid.values():
        sandboxes.sort(key=lambda row: (row.state is SandboxState.READY, row.created_at, row.id))
        containers = (container for row in sandboxes for container in members.get(row.id, ()))
        groups.append(_Group(sandboxes=tuple(sandboxes), containers=tuple(containers)))
    return groups, problems


def _with_identity(sandboxes: Iterable[CriSandbox]) -> tuple[list[CriSandbox], list[Problem]]:
    valid, problems = [], []
    names = Counter(uid for uid, _, _ in {(row.uid, row.namespace, row.name) for row in sandboxes})
    for row in sandboxes:
        fault = _fault(row) or (f"uid {row.uid!r} belongs to {names[row.uid]} pods" if names[row.uid] > 1 else "")
        if fault:
            source = f"pod identity of sandbox {row.id[:12]!r}"
            problems.append(Problem(source=source, detail=f"{fault}; it is ignored"))
        else:
            valid.append(row)
    return valid, problems


def _fault(sandbox: CriSandbox) -> str:
    parts = {"name": sandbox.name, "namespace": sandbox.namespace, "uid": sandbox.uid}
    return next((f"{what} {text[:60]!r} is invalid" for what, text in parts.items() if not _NAME.fullmatch(text)), "")


class _Lookup:
    """Finds a sandbox's manifest by the uid or config hash if the manifest has one, else by namespace and name."""

    def __init__(self, manifests: Iterable[Manifest], node_name: str) -> None:
        self._by_uid: dict[str, Manifest] = {}
        self._by_name: dict[tuple[str, str], Manifest] = {}
        self.problems: list[Problem] = []
        suffix = f"-{node_name.lower()}" if node_name else ""
        for manifest in manifests:
            pod = manifest.pod
            names = {(pod.namespace, pod.name), (pod.namespace, pod.name + suffix)}
            if pod.uid or manifest.config_hash:
                self._by_uid.setdefault(pod.uid or manifest.config_hash, manifest)
            elif names & self._by_name.keys():
                detail = f"more than one manifest describes {pod.full_name}; the first one is used"
                self.problems.append(Problem(source=f"manifests of {pod.full_name}", detail=detail))
            else:
                self._by_name.update(dict.fromkeys(names, manifest))

    @property
    def uids(self) -> Collection[str]:
        """The uids (or config hashes) in the manifests."""
        return self._by_uid.keys()

    def awaited(self, running: Collection[tuple[str, str]]) -> frozenset[tuple[str, str]]:
        """Return the names of static pods without uid that have no ready sandbox yet.

        `running` are the names with a ready sandbox: other sandboxes of those names are of earlier instances.
        """
        described = {id(self._by_name[name]) for name in running if name in self._by_name}
        return frozenset(name for name, manifest in self._by_name.items() if id(manifest) not in described)

    def find(self, sandbox: CriSandbox) -> Manifest | None:
        """Return the manifest of a sandbox's pod, or `None`."""
        known = self._by_uid.get(sandbox.uid)
        if known is not None or sandbox.annotations.get(CONFIG_SOURCE) == FROM_API:
            return known
        return self._by_uid.get(sandbox.annotations.get(CONFIG_HASH, "")) or self._by_name.get(
            (sandbox.namespace, sandbox.name)
        )


def _pod(group: _Group, manifest: Manifest | None, view: RuntimeView, memory_capacity: int | None) -> Pod:
    sandbox = group.sandbox
    source = _source(sandbox.annotations, manifest)
    phase = "Running" if group.running else "Pending"
    if manifest is None:
        return _deduced(group, source, phase, view, memory_capacity)
    return replace(
        manifest.pod, name=sandbox.name, namespace=sandbox.namespace, uid=sandbox.uid, source=source, phase=phase
    )


def _source(annotations: Mapping[str, str], manifest: Manifest | None) -> PodSource:
    if CONFIG_SOURCE in annotations:
        return PodSource.API if annotations[CONFIG_SOURCE] == FROM_API else PodSource.STATIC
    return PodSource.API if manifest is None else manifest.pod.source


def _deduced(group: _Group, source: PodSource, phase: str, view: RuntimeView, memory_capacity: int | None) -> Pod:
    """Build a pod from the runtime's data alone; its requests but for memory, its priority and volumes stay unknown.

    The volumes are looked for in the kubelet's directories afterwards (`kubelet_folder`).

    Of the priority only `_deduced_priority` can be said.
    """
    alive = [container for container in group.containers if container.state is not ContainerState.EXITED]
    statuses = [view.statuses[container.id] for container in alive if container.id in view.statuses]
    qos = qos_class_of(view.pod_cgroups.get(group.uid, ""))
    shielded = any(s.resources is not None and s.resources.oom_score_adj <= _CRITICAL_OOM_SCORE_ADJ for s in statuses)
    return Pod(
        name=group.sandbox.name,
        namespace=group.sandbox.namespace,
        uid=group.uid,
        priority=_deduced_priority(qos, group.sandbox.namespace) if shielded else 0,
        source=source,
        phase=phase,
        status_qos_class=qos,
        termination_grace_period_seconds=_seconds(alive, GRACE_PERIOD_ANNOTATION),
        deletion_grace_period_seconds=_seconds(alive, DELETION_GRACE_PERIOD_ANNOTATION),
        containers=tuple(
            _deduced_container(container, view.statuses.get(container.id), qos, memory_capacity) for container in alive
        ),
        labels=group.sandbox.labels,
        spec_known=False,
        volumes_known=False,
    )


def _deduced_priority(qos: str, namespace: str) -> int:
    """Return the priority of a pod whose containers have the `oom_score_adj` of critical pods.

    The kubelet gives it to those of Guaranteed pods too, and that class is written by a pod's author: it must not exempt a pod.
    So a Guaranteed pod outside kube-system has the highest priority that a user can give, and goes after all others like it.
    """
    if qos == QOSClass.GUARANTEED.value and namespace != _SYSTEM_NAMESPACE:
        return _HIGHEST_USER_PRIORITY
    return SYSTEM_CRITICAL_PRIORITY


def _deduced_container(
    container: RuntimeContainer, status: ContainerStatus | None, qos: str, memory_capacity: int | None
) -> Container:
    linux = (None if status is None else status.resources) or LinuxResources()
    limits = {MEMORY: of_bytes(linux.memory_limit_bytes)} if linux.memory_limit_bytes > 0 else {}
    requests: Mapping[str, Quantity] = {}
    if qos == QOSClass.GUARANTEED.value:
        requests = limits
    elif qos == QOSClass.BURSTABLE.value and memory_capacity and _set_by_the_kubelet(linux.oom_score_adj):
        requests = {MEMORY: of_bytes(greatest_memory_request(linux.oom_score_adj, memory_capacity))}
    return Container(name=container.name, requests=requests, limits=limits)


def _set_by_the_kubelet(score: int) -> bool:
    """Whether the kubelet gives this score to a Burstable container; another creator leaves it at 0."""
    return LEAST_BURSTABLE_OOM_SCORE_ADJ <= score < BEST_EFFORT_OOM_SCORE_ADJ


def _seconds(containers: Iterable[RuntimeContainer], annotation: str) -> int | None:
    """Read a grace period from the kubelet's annotation on the containers, in seconds; the longest where they differ."""
    texts = (container.annotations.get(annotation, "") for container in containers)
    return max((int(text) for text in texts if text.isdecimal() and len(text) < 10), default=None)


def qos_class_of(cgroup: str) -> str:
    """Read the QoS class from the path of a pod's cgroup below `kubepods`; empty for another path.

    With the systemd driver each slice's name begins with the names of `cgroupRoot`: `my_root-kubepods-burstable.slice`.
    """
    parts = [part.removesuffix(".slice") for part in cgroup.split("/")]
    stem = "kubepods" if "kubepods" in parts else next((part for part in parts if part.endswith("-kubepods")), "")
    if not stem:
        return ""
    level = parts[parts.index(stem) + 1 :][:1]
    for qos in (QOSClass.BURSTABLE, QOSClass.BEST_EFFORT):
        if level in ([qos.value.lower()], [f"{stem}-{qos.value.lower()}"]):
            return str(qos.value)
    return str(QOSClass.GUARANTEED.value)
