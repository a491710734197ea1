"""The terminator as the cluster's evictor needs it: by pod, from any thread, and again after a kubelet restarted the pod."""

from collections.abc import Callable, Iterable

from evictd.act.terminate import Terminator
from evictd.core.pod import Pod

PodIds = Callable[[str], tuple[Iterable[str], Iterable[str]]]
"""Gives the ids of a pod's running containers and of its sandboxes, by uid, as last seen; empty where unknown."""


class RuntimeStopper:
    """Stops pods through the container runtime."""

    def __init__(self, terminator: Terminator, ids: PodIds) -> None:
        self._terminator = terminator
        self._ids = ids
        self._told: set[str] = set()

    def stop(self, pod: Pod, grace_seconds: int) -> None:
        """Begin to stop everything of this pod, or shorten its grace."""
        containers, sandboxes = self._ids(pod.uid)
        self._terminator.begin(pod.uid, containers=containers, sandboxes=sandboxes, grace_seconds=grace_seconds)
        self._told.add(pod.uid)

    def stopped(self, uid: str) -> bool:
        """Whether nothing of it runs any more; a pod that was never told to stop has not.

        The terminator drops the record of a pod that the loop waits for no more only with its end.
        """
        progress = self._terminator.progress(uid)
        return uid in self._told if progress is None else progress.finished

    def runs(self, uid: str) -> bool:
        """Whether any container of it ran when the runtime was last asked."""
        return any(self._ids(uid)[0])

    def forget(self, uid: str) -> None:
        """Drop the record; what is under way goes on."""
        self._told.discard(uid)
        self._terminator.forget(uid)

    def again(self, pod: Pod, grace_seconds: int) -> None:
        """Forget that it had stopped, and stop what runs of it now."""
        self._terminator.forget(pod.uid)
        self.stop(pod, grace_seconds)
