"""Finds a kubelet's pods that run here although the API server does not list them (ADR 11).

Such a pod was deleted by force and does not end, or the list is wrong, or a watch has missed it. A new one may be ahead of the
watch, so only a pod whose sandbox is older than `SETTLED` counts. The runtime's knowledge decides, as before the first list.
"""

from collections.abc import Callable, Iterable, Sequence

from evictd.codec.pod import CONFIG_SOURCE
from evictd.core.model.config import Policy
from evictd.core.model.observation import Problem
from evictd.core.model.pod import Pod
from evictd.core.model.problem import shown
from evictd.core.units.duration import SECOND
from evictd.errors import SourceKind
from evictd.observe.pods.node_pods import FROM_API
from evictd.observe.runtime.runtime_view import RuntimeView

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
