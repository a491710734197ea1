"""Lists the pods that the API server has bound to this node, for a single reading (`explain`, `capture`).

Runs the daemon's `PodWatch` until its first list is complete. If the server does not answer in time, the result is a problem, and
the caller uses the runtime's pods instead.
"""

import os
import platform
import threading
from collections.abc import Callable, Iterable
from typing import Self

from evictd.clients.kube.credentials import Credentials
from evictd.clients.kube.pods import PodWatch
from evictd.clients.kube.transport import Transport
from evictd.codec.mirrors import NO_SANDBOXES, KnownSandboxes, bound_pod
from evictd.config.settings import ClusterSettings
from evictd.core.model.observation import Problem
from evictd.core.model.pod import Pod

API_SERVER = "API server"
_STEP_SECONDS = 0.1


class ClusterPods:
    """The pods of one node; a context manager. Raises `InputError` for an unusable credential."""

    def __init__(self, settings: ClusterSettings, *, clock: Callable[[], int]) -> None:
        self._changed = threading.Event()
        self._transport = Transport(Credentials(settings.kubeconfig, environ=os.environ))
        name = settings.node_name or platform.node().lower()
        self._watch = PodWatch(
            self._transport, name, clock=clock, random=_no_spread, changed=self._changed.set, watch_seconds=60
        )

    def __enter__(self) -> Self:
        self._watch.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._watch.close()
        self._transport.close()

    def active(
        self, known: KnownSandboxes = NO_SANDBOXES, seconds: float = 10.0
    ) -> tuple[tuple[Pod, ...] | None, tuple[Problem, ...]]:
        """Return the active pods and problems; the pods are `None` if the server has not answered within `seconds`."""
        for _ in range(max(1, round(seconds / _STEP_SECONDS))):
            snapshot = self._watch.snapshot
            if snapshot.synced or snapshot.problem:
                break
            self._changed.wait(_STEP_SECONDS)
        snapshot = self._watch.snapshot
        if not snapshot.synced:
            detail = snapshot.problem or f"no list of pods within {seconds:g} s"
            return None, (Problem(source=API_SERVER, detail=detail),)
        left_out = (f"pod left out: {name}" for name in snapshot.unreadable)
        problems = tuple(Problem(source=API_SERVER, detail=text) for text in (*left_out, *snapshot.unread_parts))
        pods = (bound_pod(each, known) for each in snapshot.pods.values() if not each.terminal)
        return tuple(sorted(pods, key=lambda pod: (pod.namespace, pod.name, pod.uid))), problems

    def unlisted(self, pods: Iterable[Pod]) -> tuple[Pod, ...]:
        """Return those of the runtime's pods that the last list has not."""
        return tuple(pod for pod in pods if pod.uid not in self._watch.snapshot.pods)


def _no_spread() -> float:
    """Replace the random source of the watch: a single reading needs no jitter."""
    return 0.0
