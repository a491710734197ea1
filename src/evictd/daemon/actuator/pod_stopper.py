"""Stops pods through the container runtime, by the ids that the runtime listed last.

The loop stops the pods of a node of its own with it, and the thread that talks to an API server those of a cluster (it is the
`Stopper` of `act.cluster.evictor`). The listing is replaced as a whole, so that each call sees one listing.
"""

from evictd.act.terminate import Terminator
from evictd.act.termination import Termination
from evictd.clients.cri.values import SandboxState
from evictd.core.model.pod import Pod
from evictd.observe.runtime.runtime_view import RuntimeView


class PodStopper:
    """Begins terminations and gives their progress; from any thread."""

    def __init__(self, terminator: Terminator) -> None:
        self._terminator = terminator
        self._view: RuntimeView | None = None
        self._begun: set[str] = set()

    def update(self, view: RuntimeView | None) -> None:
        """Replace the listing; `None`, where the runtime did not answer, leaves the last one."""
        if view is not None:
            self._view = view

    def stop(self, pod: Pod, grace_seconds: int) -> None:
        """Begin to stop all containers and sandboxes of a pod, sidecars last; a second call can only shorten the grace."""
        containers, sandboxes = ((), ()) if self._view is None else running_ids(self._view, pod.uid)
        sidecars = () if self._view is None else sidecar_ids(self._view, pod)
        self._begun.add(pod.uid)
        self._terminator.begin(
            pod.uid, containers=containers, sandboxes=sandboxes, grace_seconds=grace_seconds, sidecars=sidecars
        )

    def resume(self, pod: Pod, grace_seconds: int) -> None:
        """Go on stopping a victim of the previous run; of `pod` only what is known of it has to be there, its uid at least.

        Its sandboxes are left to the listing that follows the containers: stopping a sandbox kills at once, and a container
        that was started since the view has its grace as well.
        """
        containers = () if self._view is None else running_ids(self._view, pod.uid)[0]
        sidecars = () if self._view is None else sidecar_ids(self._view, pod)
        self._begun.add(pod.uid)
        self._terminator.begin(
            pod.uid, containers=containers, sandboxes=(), grace_seconds=grace_seconds, sidecars=sidecars
        )

    def again(self, pod: Pod, grace_seconds: int) -> None:
        """Stop a pod that had stopped and was started again."""
        self._terminator.forget(pod.uid)
        self.stop(pod, grace_seconds)

    def progress(self, uid: str) -> Termination | None:
        """Give the record of a pod's termination; `None` where it was never begun, or was dropped."""
        return self._terminator.progress(uid)

    def stopped(self, uid: str) -> bool:
        """Whether nothing runs any more of a pod whose termination was begun here.

        The terminator drops the record of a pod that the loop no longer waits for only when it has ended.
        """
        progress = self._terminator.progress(uid)
        return uid in self._begun if progress is None else progress.finished

    def in_flight(self) -> tuple[Termination, ...]:
        """Give the terminations that have not finished, in the order of their beginning."""
        return self._terminator.in_flight()

    def drop(self, uid: str) -> None:
        """Drop the terminator's record, of a termination under way as soon as it has ended; `stopped` still knows the pod."""
        self._terminator.forget(uid)

    def forget(self, uid: str) -> None:
        """Forget a pod altogether."""
        self._begun.discard(uid)
        self._terminator.forget(uid)


def running_ids(view: RuntimeView, uid: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Give the ids of a pod's containers that may run, and of its sandboxes."""
    sandboxes = tuple(sandbox.id for sandbox in view.sandboxes if sandbox.uid == uid)
    return tuple(c.id for c in view.containers if c.sandbox_id in sandboxes and c.state.may_run), sandboxes


def sidecar_ids(view: RuntimeView, pod: Pod) -> tuple[str, ...]:
    """Give the ids of a pod's running sidecars in the order in which they stop: the last one started first."""
    names = [container.name for container in reversed(pod.init_containers) if container.sidecar]
    running = frozenset(running_ids(view, pod.uid)[0]) if names else frozenset()
    ids = {container.name: container.id for container in view.containers if container.id in running}
    return tuple(ids[name] for name in names if name in ids)


def running_uids(view: RuntimeView) -> frozenset[str]:
    """Give the uids of the pods that have a ready sandbox, or a container that may run."""
    sandboxes = {c.sandbox_id for c in view.containers if c.state.may_run}
    return frozenset(s.uid for s in view.sandboxes if s.state is SandboxState.READY or s.id in sandboxes)
