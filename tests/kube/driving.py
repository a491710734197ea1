"""Drives the request queue step by step: real requests to the double, on a simulated clock.

A simulated day costs only the requests made in it; `sent` holds the simulated time of each.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from evictd.act.cluster.request_queue import Clocks, RequestQueue, RequestQueues
from evictd.act.cluster.wiring import Cluster, build
from evictd.clients.kube.pods import PodSnapshot
from evictd.config.settings import ClusterSettings
from evictd.core.model.pod import Pod
from evictd.core.units.duration import MILLISECOND, SECOND
from tests.kube.api import Api
from tests.kube.kubelet import Containers

EPOCH = 1_795_000_000 * SECOND
"""Wall time at the simulated zero."""


@dataclass
class FakeStopper:
    """Stops the containers of the kubelet double; `slow` holds uids that do not stop yet."""

    containers: Containers
    stops: list[tuple[str, int]] = field(default_factory=list)
    slow: set[str] = field(default_factory=set)
    exit_code: int = 137
    forgotten: list[str] = field(default_factory=list)
    on_stop: Callable[[], object] = lambda: None
    frozen: list[str] = field(default_factory=list)

    def stop(self, pod: Pod, grace_seconds: int, *, freeze: bool = False) -> None:
        self.on_stop()
        self.stops.append((pod.uid, grace_seconds))
        self.frozen += [pod.uid] * freeze
        if pod.uid not in self.slow:
            self.containers.stop(pod.uid, exit_code=self.exit_code)

    def stopped(self, uid: str) -> bool:
        return not self.containers.running(uid)

    def forget(self, uid: str) -> None:
        self.forgotten.append(uid)


class SilentBell:
    """A bell of a queue that is driven by hand."""

    def notify(self) -> None:
        """Do nothing."""


SILENT_BELL = SilentBell()


@dataclass
class Driver:
    """A simulated clock that drives a request queue."""

    now: int = 1000 * SECOND
    sent: list[int] = field(default_factory=list)

    def clock(self) -> int:
        return self.now

    def wall(self) -> int:
        return EPOCH + self.now

    @property
    def clocks(self) -> Clocks:
        """The same clock, for what is built by hand."""
        return Clocks(now=self.clock, wall=self.wall, random=lambda: 0.5)

    def run(self, queue: RequestQueue | RequestQueues, seconds: float) -> None:
        """Advance simulated time as fast as the requests allow."""
        ends = self.now + int(seconds * SECOND)
        while self.now < ends:
            wait = self._step(queue)
            self.now = min(ends, self.now + (wait if wait is not None else ends - self.now))

    def settle(self, queue: RequestQueue | RequestQueues) -> None:
        """Send the requests that are due within the next seconds."""
        self.run(queue, 3)

    def until(
        self, queue: RequestQueue | RequestQueues, condition: Callable[[], object], seconds: float = 120.0
    ) -> None:
        """Advance simulated time at about 25 times the real one, so that other threads keep up."""
        ends = self.now + int(seconds * SECOND)
        while not condition():
            assert self.now < ends, f"not so within {seconds} simulated seconds"
            self._step(queue)
            self.now += 25 * MILLISECOND
            time.sleep(0.001)

    def _step(self, queue: RequestQueue | RequestQueues) -> int | None:
        waits = []
        for each in queue.queues if isinstance(queue, RequestQueues) else (queue,):
            before = len(each._sent), each._sent[-1] if each._sent else None
            wait = each.step(self.now)
            if (len(each._sent), each._sent[-1] if each._sent else None) != before or wait == 0:
                self.sent.append(self.now)
            waits.append(wait)
        return min((wait for wait in waits if wait is not None), default=None)

    def most_in_a_second(self) -> int:
        """The most requests in any window of one second."""
        return max(sum(1 for other in self.sent if at <= other < at + SECOND) for at in self.sent)


def cluster_of(
    api: Api, driver: Driver, stopper: FakeStopper, settings: ClusterSettings | None = None, node_name: str = "n1"
) -> Cluster:
    """The parts of `build` on the test's clock; the watch runs, the test drives the request queue."""
    chosen = settings if settings is not None else ClusterSettings(kubeconfig=str(api.kubeconfig()))
    return build(
        chosen,
        node_name=node_name,
        stopper=stopper,
        clocks=driver.clocks,
        environ={"POD_UID": "own-uid"},
    )


def no_pods() -> PodSnapshot:
    """A snapshot of an empty node."""
    return PodSnapshot(synced=True)
