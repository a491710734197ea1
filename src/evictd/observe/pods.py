"""Which pods there are on a node without an API server, and what has become of the others.

Pods are the runtime's sandboxes (spec 3.6), their requests, priority and volumes are in the manifests of `staticPodPath`;
where there is no manifest, the cgroup and the containers' limits tell a little, and the pod says `spec_known=False`.
A sandbox's `kubernetes.io/config.source` decides whether its pod is static, before the manifest does.

Whoever has two names, or a name that is no Kubernetes name, is left out with one problem: better nobody than a wrong victim.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace

from evictd.clients.cri.values import Container as RuntimeContainer
from evictd.clients.cri.values import ContainerState, ContainerStatus, Sandbox, SandboxState
from evictd.codec.manifest import CONFIG_HASH, Manifest
from evictd.codec.pod import CONFIG_MIRROR, CONFIG_SOURCE
from evictd.core.container_gc import PodFate, PodFates
from evictd.core.observation import Problem
from evictd.core.pod import Pod, PodSource
from evictd.core.qos import QOSClass
from evictd.core.quantity import of_bytes
from evictd.core.resources import MEMORY, Container
from evictd.observe.manifests import Manifests
from evictd.observe.runtime_view import RuntimeView

GRACE_PERIOD_ANNOTATION = "io.kubernetes.pod.terminationGracePeriod"
DELETION_GRACE_PERIOD_ANNOTATION = "io.kubernetes.pod.deletionGracePeriod"

_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,251}[A-Za-z0-9])?", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class NodePods:
    """What was found out: the active pods, everybody's fate for the collectors, and what made no sense."""

    active: tuple[Pod, ...]
    fates: PodFates
    problems: tuple[Problem, ...] = ()


def node_pods(
    view: RuntimeView, manifests: Manifests, *, node_name: str = "", evicted: Collection[str] = ()
) -> NodePods:
    """Work out the pods of one listing; `evicted` are uids that evictd itself has put an end to."""
    groups, problems = _group(view)
    lookup = _Lookup(manifests.found, node_name)
    active, fates = [], dict.fromkeys(evicted, PodFate.REMOVED)
    for group in groups:
        manifest = lookup.find(group.sandbox)
        if group.active(manifest):
            active.append(_pod(group, manifest, view))
        if group.fate(manifest) is PodFate.ACTIVE or group.uid not in fates:
            fates[group.uid] = group.fate(manifest)
    for sandbox in view.sandboxes:
        # A pod that makes no sense is left alone by the collectors too.
        fates.setdefault(sandbox.uid, PodFate.ACTIVE)
    for uid in lookup.uids:
        # One that has no sandbox yet, or no longer, is to run here all the same.
        fates.setdefault(uid, PodFate.ACTIVE)
    up = {(group.sandbox.namespace, group.sandbox.name) for group in groups if group.ready}
    return NodePods(
        active=tuple(sorted(active, key=lambda pod: (pod.namespace, pod.name, pod.uid))),
        fates=PodFates(by_uid=fates, all_sources_ready=manifests.complete, awaited=lookup.awaited(up)),
        problems=(*problems, *lookup.problems),
    )


def active_pods(view: RuntimeView, manifests: Manifests, *, node_name: str = "") -> tuple[Pod, ...]:
    """Give only the pods that could be evicted or count against the node (spec 5.9), by namespace, name and uid."""
    return node_pods(view, manifests, node_name=node_name).active


def described_by(manifests: Manifests, node_name: str = "") -> Callable[[Sandbox], bool]:
    """Give the test for a sandbox whether one of these manifests describes its pod (`RuntimeReader.read`)."""
    lookup = _Lookup(manifests.found, node_name)
    return lambda sandbox: lookup.find(sandbox) is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Group:
    """One pod: its kept sandboxes, and the containers in any of its sandboxes."""

    sandboxes: tuple[Sandbox, ...]
    """Newest last; all of one uid."""
    containers: tuple[RuntimeContainer, ...]

    @property
    def sandbox(self) -> Sandbox:
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
        """Whether something of it runs, or is about to: created or restarted containers, or none in a ready sandbox."""
        return self.running or (self.ready and not self._over(manifest) and not self._all_exited)

    def fate(self, manifest: Manifest | None) -> PodFate:
        over = not self.running and (not self.ready or self._over(manifest))
        return PodFate.TERMINATED if over else PodFate.ACTIVE

    def _over(self, manifest: Manifest | None) -> bool:
        """Whether it ran to its end and nobody will start it again."""
        return manifest is not None and manifest.restart_policy == "Never" and self._all_exited

    @property
    def _all_exited(self) -> bool:
        states = {container.state for container in self.containers}
        return states == {ContainerState.EXITED}


def _group(view: RuntimeView) -> tuple[list[_Group], list[Problem]]:
    """Sort the sandboxes into pods by uid, and leave out what has no clear identity."""
    rows, problems = _with_identity(view.sandboxes)
    members: dict[str, list[RuntimeContainer]] = {}
    for container in view.containers:
        members.setdefault(container.sandbox_id, []).append(container)
    by_uid: dict[str, list[Sandbox]] = {}
    for row in rows:
        by_uid.setdefault(row.uid, []).append(row)
    groups = []
    for sandboxes in by_uid.values():
        sandboxes.sort(key=lambda row: (row.state is SandboxState.READY, row.created_at, row.id))
        containers = (container for row in sandboxes for container in members.get(row.id, ()))
        groups.append(_Group(sandboxes=tuple(sandboxes), containers=tuple(containers)))
    return groups, problems


def _with_identity(sandboxes: Iterable[Sandbox]) -> tuple[list[Sandbox], list[Problem]]:
    kept, problems = [], []
    names = Counter(uid for uid, _, _ in {(row.uid, row.namespace, row.name) for row in sandboxes})
    for row in sandboxes:
        fault = _fault(row) or (f"uid {row.uid!r} belongs to {names[row.uid]} pods" if names[row.uid] > 1 else "")
        if fault:
            problems.append(
                Problem(source="pod identity", detail=f"sandbox {row.id[:12]!r}: {fault}; it is left alone")
            )
        else:
            kept.append(row)
    return kept, problems


def _fault(sandbox: Sandbox) -> str:
    parts = {"name": sandbox.name, "namespace": sandbox.namespace, "uid": sandbox.uid}
    return next((f"{what} {text[:60]!r} is none" for what, text in parts.items() if not _NAME.fullmatch(text)), "")


class _Lookup:
    """Finds a sandbox's manifest: by uid or hash where the file has one, else by namespace and name."""

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
                detail = f"more than one describes {pod.full_name}; the first one counts"
                self.problems.append(Problem(source="manifests", detail=detail))
            else:
                self._by_name.update(dict.fromkeys(names, manifest))

    @property
    def uids(self) -> Collection[str]:
        """The uids that the manifests tell."""
        return self._by_uid.keys()

    def awaited(self, up: Collection[tuple[str, str]]) -> frozenset[tuple[str, str]]:
        """Give the names whose uid only a sandbox will tell; `up` are those that have one: what else bears them is old."""
        described = {id(self._by_name[name]) for name in up if name in self._by_name}
        return frozenset(name for name, manifest in self._by_name.items() if id(manifest) not in described)

    def find(self, sandbox: Sandbox) -> Manifest | None:
        """Give the manifest of this sandbox's pod, if there is one."""
        known = self._by_uid.get(sandbox.uid) or self._by_uid.get(sandbox.annotations.get(CONFIG_HASH, ""))
        return known or self._by_name.get((sandbox.namespace, sandbox.name))


def _pod(group: _Group, manifest: Manifest | None, view: RuntimeView) -> Pod:
    sandbox = group.sandbox
    source = _source(sandbox.annotations, manifest)
    phase = "Running" if group.running else "Pending"
    if manifest is None:
        return _deduced(group, source, phase, view)
    return replace(
        manifest.pod, name=sandbox.name, namespace=sandbox.namespace, uid=sandbox.uid, source=source, phase=phase
    )


def _source(annotations: Mapping[str, str], manifest: Manifest | None) -> PodSource:
    if CONFIG_MIRROR in annotations:
        return PodSource.MIRROR
    if CONFIG_SOURCE in annotations:
        return PodSource.API if annotations[CONFIG_SOURCE] == "api" else PodSource.STATIC
    return PodSource.API if manifest is None else manifest.pod.source


def _deduced(group: _Group, source: PodSource, phase: str, view: RuntimeView) -> Pod:
    """Make a pod of what the runtime alone tells; its requests, priority and volumes stay unknown."""
    alive = [container for container in group.containers if container.state is not ContainerState.EXITED]
    return Pod(
        name=group.sandbox.name,
        namespace=group.sandbox.namespace,
        uid=group.uid,
        source=source,
        phase=phase,
        status_qos_class=qos_class_of(view.pod_cgroups.get(group.uid, "")),
        termination_grace_period_seconds=_seconds(alive, GRACE_PERIOD_ANNOTATION),
        deletion_grace_period_seconds=_seconds(alive, DELETION_GRACE_PERIOD_ANNOTATION),
        containers=tuple(_deduced_container(container, view.statuses.get(container.id)) for container in alive),
        spec_known=False,
    )


def _deduced_container(container: RuntimeContainer, status: ContainerStatus | None) -> Container:
    limit = status.resources.memory_limit_bytes if status is not None and status.resources is not None else 0
    return Container(name=container.name, limits={MEMORY: of_bytes(limit)} if limit > 0 else {})


def _seconds(containers: Iterable[RuntimeContainer], annotation: str) -> int | None:
    """Read a grace period that the kubelet noted on the containers; the longest, where they differ."""
    texts = (container.annotations.get(annotation, "") for container in containers)
    return max((int(text) for text in texts if text.isdecimal() and len(text) < 10), default=None)


def qos_class_of(cgroup: str) -> str:
    """Read the QoS class from the place of a pod's cgroup below `kubepods`; empty where it is not below it.

    With the systemd driver the names of `cgroupRoot` stand before each slice's own: `my_root-kubepods-burstable.slice`.
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
