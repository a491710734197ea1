"""Determines which pods an API server has bound to this node.

Before the API server's first list they are the runtime's pods, completed with what it listed before. After it, and under policy
Standard, a kubelet's pod that runs here counts although the list leaves it out, so that no listed pod is evicted for what that
pod uses (ADR 11). The kubelet ends such a pod (`HandlePodCleanups`), so it is the better victim anyway. A new one may be ahead of
the watch, so only a pod whose sandbox is older than `SETTLED` counts. The runtime's knowledge decides, as before the first list.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from evictd.codec.pods.mirrors import NO_SANDBOXES, KnownSandboxes, bound_pod
from evictd.codec.pods.pod import CONFIG_SOURCE
from evictd.core.model.config import Policy
from evictd.core.model.observation import Problem
from evictd.core.model.pod import Pod
from evictd.core.model.problem import shown
from evictd.core.units.duration import SECOND
from evictd.errors import SourceKind
from evictd.observe.pods.active_pods import ActivePods, RuntimePods
from evictd.observe.pods.node_pods import FROM_API, known_sandboxes
from evictd.observe.runtime.runtime_view import RuntimeView, running_uids

if TYPE_CHECKING:  # it brings the API's client along
    from evictd.clients.kube.pods import PodSnapshot
    from evictd.codec.pods.slim_pods import SlimPod


class BoundPods(Protocol):
    """Follows the pods that the API server has bound to this node (`clients.kube.pods.PodWatch`)."""

    @property
    def snapshot(self) -> "PodSnapshot":
        """The latest snapshot."""
        ...


class OwnEvictions(Protocol):
    """Knows the pods that evictd is evicting from the cluster."""

    def in_flight(self) -> Collection[str]:
        """Return the uids of the pods that are being evicted."""
        ...

    def cleaned_up(self) -> frozenset[str]:
        """Return the uids of the pods that evictd has stopped."""
        ...

    def unsent(self, uid: str) -> bool:
        """Whether the deletion of a stopped pod cannot be sent at the moment, so that a kubelet may start it again."""
        ...


class RememberedPods(Protocol):
    """Keeps what the API server listed of the pods, for a start while it does not answer."""

    def remember(self, pods: tuple[Pod, ...]) -> None:
        """Keep these pods."""
        ...

    def completed(self, pods: tuple[Pod, ...]) -> tuple[Pod, ...]:
        """Complete pods that only the runtime knows with what was listed last."""
        ...


class _NoEvictions:
    """The evictions of a reader that evicts nothing."""

    def in_flight(self) -> Collection[str]:
        """Return none."""
        return ()

    def cleaned_up(self) -> frozenset[str]:
        """Return none."""
        return frozenset()

    def unsent(self, _uid: str) -> bool:
        """Return False: there is no deletion to send."""
        return False


class _NothingRemembered:
    """Keeps nothing, for a single reading."""

    def remember(self, _pods: tuple[Pod, ...]) -> None:
        """Do nothing."""

    def completed(self, pods: tuple[Pod, ...]) -> tuple[Pod, ...]:
        """Return the pods as they are."""
        return pods


class ClusterPods:
    """The pods of one node of a cluster. `own_pods` holds the uid of evictd's own pod, if it runs in one."""

    def __init__(
        self,
        watch: BoundPods,
        own_pods: frozenset[str],
        *,
        evictions: OwnEvictions | None = None,
        remembered: RememberedPods | None = None,
    ) -> None:
        self.own_pods = own_pods
        self._watch = watch
        self._evictions = evictions or _NoEvictions()
        self._remembered = remembered or _NothingRemembered()

    def active(self, runtime: RuntimePods, policy: Policy) -> ActivePods:
        """Return the bound pods, and those that run without being listed; before the first list the runtime's."""
        running = frozenset() if runtime.last is None else running_uids(runtime.last)
        bound = self.bound(known_sandboxes(runtime.last), running)
        if bound is None:
            return ActivePods(pods=self._remembered.completed(runtime.active))
        pods, problems = with_unlisted(
            bound,
            runtime.active,
            runtime.view,
            policy,
            unlisted=lambda found: self._remembered.completed(self.unlisted(found)),
        )
        if runtime.view is not None:  # without the runtime's answer no mirror is recognized
            self._remembered.remember(tuple(pod for pod in pods if pod.spec_known))
        return ActivePods(pods=pods, problems=problems, evicted_by_kubelet=self._watch.snapshot.evicted_by_kubelet)

    def bound(self, known: KnownSandboxes = NO_SANDBOXES, running: Collection[str] = ()) -> tuple[Pod, ...] | None:
        """Return the bound pods that could be evicted or count against the node, by namespace, name and uid.

        Terminal ones are left out, unless evictd is still ending them, and so are those that evictd has stopped, once they are
        being deleted or are about to be: a kubelet takes its time to remove what is dead. `None`: the API server has not listed
        its pods since the start; what the runtime knows is then all there is. `known` tells which mirror pods have a static pod
        here. `running` are the uids of the pods of which the runtime lists a container as running.
        """
        snapshot = self._watch.snapshot
        if not snapshot.synced:
            return None
        leaving = frozenset(self._evictions.in_flight())
        gone = {uid: uid in running for uid in self._evictions.cleaned_up()}
        active = [bound_pod(each, known) for each in snapshot.pods.values() if self._is_active(each, gone, leaving)]
        return tuple(sorted(active, key=lambda pod: (pod.namespace, pod.name, pod.uid)))

    def unlisted(self, pods: Iterable[Pod]) -> tuple[Pod, ...]:
        """Return the runtime's pods that the API server does not list and whose containers evictd has not all ended.

        Such a pod was deleted by force and does not end, or the list is wrong, or the watch has missed it.
        """
        known = self._watch.snapshot.pods.keys() | self._evictions.cleaned_up()
        return tuple(pod for pod in pods if pod.uid not in known)

    def _is_active(self, entry: "SlimPod", gone: Mapping[str, bool], leaving: Collection[str]) -> bool:
        """Whether one pod is active. `gone` maps the uids of stopped pods to whether they run again."""
        uid, deleted = entry.pod.uid, entry.pod.deletion_grace_period_seconds is not None
        if uid in gone:
            # While its deletion cannot be sent, a kubelet may start it again. As long as none does, evicting it frees nothing.
            waits = uid not in leaving or self._evictions.unsent(uid)
            return gone[uid] and waits and not entry.terminal and not deleted
        return uid in leaving or not entry.terminal


SETTLED = 30 * SECOND
"""The age of a sandbox, in nanoseconds, from which on the API server's list must have its pod: the watch may be late."""
_NAMED = 5
"""Pods named in one problem."""


def with_unlisted(
    bound: tuple[Pod, ...],
    found: tuple[Pod, ...],
    view: RuntimeView | None,
    policy: Policy,
    *,
    unlisted: Callable[[tuple[Pod, ...]], tuple[Pod, ...]],
) -> tuple[tuple[Pod, ...], tuple[Problem, ...]]:
    """Add the pods `found` in the runtime that the API server does not list to its pods; return all, with problems for the added.

    `unlisted` picks from pods those that are not listed. Policy Kubelet adds none; without the runtime's answer none is known.
    """
    if view is None or policy is Policy.KUBELET:
        return bound, ()
    added = unlisted(settled_pods(found, view))
    return (*bound, *added), unlisted_problems(added)


def settled_pods(pods: Iterable[Pod], view: RuntimeView) -> tuple[Pod, ...]:
    """Return those of the runtime's pods that a kubelet runs for the API server, with a sandbox older than `SETTLED`.

    Without the wall clock of the listing no pod is; sandboxes of another creator have no `config.source`.
    """
    if view.wall is None:
        return ()
    of_kubelet = (row for row in view.sandboxes if row.annotations.get(CONFIG_SOURCE) == FROM_API)
    settled = {row.uid for row in of_kubelet if view.wall - row.created_at > SETTLED}
    return tuple(pod for pod in pods if pod.uid in settled)


def unlisted_problems(unlisted: Sequence[Pod]) -> tuple[Problem, ...]:
    """Return one problem that names the pods; none without pods."""
    if not unlisted:
        return ()
    names = ", ".join(shown(pod.full_name) for pod in unlisted[:_NAMED])
    more = f" and {len(unlisted) - _NAMED} more" if len(unlisted) > _NAMED else ""
    detail = f"the API server does not list pods that run here: {names}{more}"
    return (Problem(source=f"{SourceKind.APISERVER.value}/pods", detail=detail),)
