"""Follows the pods that the API server has bound to this node without a daemon, for `explain` and `capture`."""

import os
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Self

from evictd.clients.kube.credentials import Credentials
from evictd.clients.kube.nodes import NodeClient
from evictd.clients.kube.pods import PodWatch
from evictd.clients.kube.transport import Transport
from evictd.config.settings import ClusterSettings
from evictd.core.model.observation import Problem
from evictd.errors import ApiRefusedError, ApiUnavailableError, SourceKind
from evictd.observe.pods.cluster_pods import ClusterPods
from evictd.observe.reading.roots import own_node, own_pods

SOURCE = f"{SourceKind.APISERVER.value}/pods"
_STEP_SECONDS = 0.1


class ClusterWatch:
    """The daemon's `PodWatch` with the pods that it knows; a context manager. Raises `InputError` for an unusable credential."""

    def __init__(self, settings: ClusterSettings, *, clock: Callable[[], int]) -> None:
        self._changed = threading.Event()
        self._transport = Transport(Credentials(settings.kubeconfig, environ=os.environ))
        name = own_node(settings)
        # A single reading needs no jitter.
        self._watch = PodWatch(
            self._transport, name, clock=clock, random=lambda: 0.0, changed=self._changed.set, watch_seconds=60
        )
        self._node = NodeClient(self._transport, name)
        self.pods = ClusterPods(self._watch, own_pods(os.environ))

    def __enter__(self) -> Self:
        self._watch.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._watch.close()
        self._transport.close()

    def kubelet_version(self) -> str:
        """Read the node's `kubeletVersion`; return an empty text where it cannot be read."""
        with suppress(ApiUnavailableError, ApiRefusedError):
            return self._node.get().kubelet_version
        return ""

    def wait(self, seconds: float = 10.0) -> tuple[Problem, ...]:
        """Wait at most `seconds` for the first list or an error; return the problems at that time."""
        for _ in range(max(1, round(seconds / _STEP_SECONDS))):
            snapshot = self._watch.snapshot
            if snapshot.synced or snapshot.problem:
                break
            self._changed.wait(_STEP_SECONDS)
        snapshot = self._watch.snapshot
        late = "" if snapshot.synced else f"no list of pods within {seconds:g} s"
        details = (snapshot.problem or late, *snapshot.unreadable, *snapshot.unread_parts)
        return tuple(Problem(source=SOURCE, detail=detail) for detail in details if detail)
