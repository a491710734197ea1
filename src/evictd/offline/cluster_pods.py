"""Which pods does the API server bind to this node, for one look?

The daemon's own watch, kept just long enough to have listed once. A server that does not answer in time is a problem that is
told, and the runtime's view of the pods is used instead.
"""

import os
import platform
import threading
from collections.abc import Callable
from typing import Self

from evictd.clients.kube.credentials import Credentials
from evictd.clients.kube.pods import PodWatch
from evictd.clients.kube.transport import Transport
from evictd.config.settings import ClusterSettings
from evictd.core.observation import Problem
from evictd.core.pod import Pod

API_SERVER = "API server"
_STEP_SECONDS = 0.1


class ClusterPods:
    """The pods of one node; a context manager. Raises `InputError` for a credential that cannot be used."""

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

    def active(self, seconds: float = 10.0) -> tuple[tuple[Pod, ...] | None, tuple[Problem, ...]]:
        """Give the active pods, or `None` and why not if the server has not told within this time."""
        for _ in range(max(1, round(seconds / _STEP_SECONDS))):
            snapshot = self._watch.snapshot
            if snapshot.synced or snapshot.problem:
                break
            self._changed.wait(_STEP_SECONDS)
        snapshot = self._watch.snapshot
        if not snapshot.synced:
            detail = snapshot.problem or f"no list of pods within {seconds:g} s"
            return None, (Problem(source=API_SERVER, detail=detail),)
        problems = tuple(Problem(source=API_SERVER, detail=f"pod left out: {name}") for name in snapshot.unreadable)
        pods = (each.pod for each in snapshot.pods.values() if not each.terminal)
        return tuple(sorted(pods, key=lambda pod: (pod.namespace, pod.name, pod.uid))), problems


def _no_spread() -> float:
    """One look needs no jitter: there is no herd to spread."""
    return 0.0
