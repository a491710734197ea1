"""Selects the running containers and pods of one listing."""

from evictd.clients.cri.values import SandboxState
from evictd.core.model.pod import Pod
from evictd.observe.runtime.runtime_view import RuntimeView


def running_ids(view: RuntimeView, uid: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the ids of a pod's containers that may run, and of its sandboxes."""
    sandboxes = tuple(sandbox.id for sandbox in view.sandboxes if sandbox.uid == uid)
    return tuple(c.id for c in view.containers if c.sandbox_id in sandboxes and c.state.may_run), sandboxes


def sidecar_ids(view: RuntimeView, pod: Pod) -> tuple[str, ...]:
    """Return the ids of a pod's running sidecars in the order in which they stop: the last one started first."""
    names = [container.name for container in reversed(pod.init_containers) if container.sidecar]
    running = frozenset(running_ids(view, pod.uid)[0]) if names else frozenset()
    ids = {container.name: container.id for container in view.containers if container.id in running}
    return tuple(ids[name] for name in names if name in ids)


def running_uids(view: RuntimeView) -> frozenset[str]:
    """Return the uids of the pods that have a ready sandbox, or a container that may run."""
    sandboxes = {c.sandbox_id for c in view.containers if c.state.may_run}
    return frozenset(s.uid for s in view.sandboxes if s.state is SandboxState.READY or s.id in sandboxes)
