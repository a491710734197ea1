"""Determines which pods count on a node: those of the runtime, or those that an API server has bound to it (`cluster_pods`)."""

from typing import Protocol

from evictd.codec.pods.slim_pods import SlimPod
from evictd.core.frozen import frozen
from evictd.core.model.config import Policy
from evictd.core.model.observation import Problem
from evictd.core.model.pod import Pod
from evictd.observe.pods.node_pods import NodePods
from evictd.observe.runtime.runtime_view import RuntimeView


@frozen
class RuntimePods:
    """A node's pods as the runtime shows them in one reading."""

    found: NodePods | None
    """The pods derived from its listing and the manifests; `None` without a listing."""
    view: RuntimeView | None
    """The listing of this reading, or the last one where it is still decided on."""
    last: RuntimeView | None
    """The last listing, however old; mirror pods are recognized by it."""

    @property
    def active(self) -> tuple[Pod, ...]:
        """The active pods; empty without a listing."""
        return () if self.found is None else self.found.active


@frozen
class ActivePods:
    """The pods that could be evicted or count against the node, by namespace, name and uid."""

    pods: tuple[Pod, ...]
    problems: tuple[Problem, ...] = ()
    api_pods_standalone: bool = False
    """Whether pods of an API server run here although evictd has none (`core.eviction.synchronize`)."""
    evicted_by_kubelet: tuple[SlimPod, ...] | None = None
    """The last pods that a kubelet evicted; `None` without an API server, and before its first list."""


class ActivePodSource(Protocol):
    """Knows the pods of one node."""

    @property
    def own_pods(self) -> frozenset[str]:
        """Uids of the pods that evictd itself runs in."""
        ...

    def active(self, runtime: RuntimePods, policy: Policy) -> ActivePods:
        """Return the active pods of this reading."""
        ...


class StandalonePods:
    """The pods of a node without an API server: those of the runtime and the manifests."""

    own_pods = frozenset[str]()
    """evictd runs as a service."""

    def __init__(self) -> None:
        self._of_api_server = False

    def active(self, runtime: RuntimePods, _policy: Policy) -> ActivePods:
        """Return the runtime's pods. While it does not answer, what it said last about an API server's pods counts."""
        if runtime.found is not None:
            self._of_api_server = runtime.found.of_api_server
        return ActivePods(pods=runtime.active, api_pods_standalone=self._of_api_server)
