"""Gives the observer the pods that the API server has bound to this node, and keeps them for a start without it."""

from typing import TYPE_CHECKING

from evictd.core.model.pod import Pod
from evictd.daemon.actuator.pod_stopper import running_uids
from evictd.daemon.store.known_pods import KnownPods
from evictd.observe.pods.node_pods import known_sandboxes
from evictd.observe.runtime.runtime_view import RuntimeView

if TYPE_CHECKING:  # a node without an API server needs none of its clients
    from evictd.act.cluster.wiring import Cluster


class ApiPods:
    """Gives the pods that the API server has bound to this node."""

    def __init__(self, cluster: "Cluster", known: KnownPods) -> None:
        self._cluster = cluster
        self._known = known

    @property
    def own_pods(self) -> frozenset[str]:
        """The uid of evictd's own pod, where it runs in one."""
        return self._cluster.own_pod

    def bound_pods(self, view: RuntimeView | None) -> tuple[Pod, ...] | None:
        """Return the active pods, `None` before the API server's first list."""
        running = frozenset() if view is None else running_uids(view)
        return self._cluster.active_pods(known_sandboxes(view), running)

    def unlisted(self, pods: tuple[Pod, ...]) -> tuple[Pod, ...]:
        """Return those of the runtime's pods that the API server does not list, completed with what it listed before."""
        return self._known.completed(self._cluster.unlisted(pods))

    def remember(self, pods: tuple[Pod, ...]) -> None:
        """Keep the pods whose objects are known, for a start while the API server does not answer."""
        self._known.remember(tuple(pod for pod in pods if pod.spec_known))

    def completed(self, pods: tuple[Pod, ...]) -> tuple[Pod, ...]:
        """Complete the runtime's pods with what the API server listed last."""
        return self._known.completed(pods)
