"""The outbox driven by hand: real requests to the double, on a clock that the test moves.

A simulated day costs only the requests made in it; `sent` holds the simulated time of each.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from evictd.act.cluster.outbox import Outbox
from evictd.act.cluster.wiring import Cluster, build
from evictd.clients.kube.pods import PodSnapshot
from evictd.config.settings import ClusterSettings
from evictd.core.duration import MILLISECOND, SECOND
from evictd.core.pod import Pod
from tests.kube.api_server import ApiServer
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

    def stop(self, pod: Pod, grace_seconds: int) -> None:
        self.on_stop()
        self.stops.append((pod.uid, grace_seconds))
        if pod.uid not in self.slow:
            self.containers.stop(pod.uid, exit_code=self.exit_code)

    def stopped(self, uid: str) -> bool:
        return not self.containers.running(uid)

    def runs(self, uid: str) -> bool:
        return self.containers.running(uid)

    def forget(self, uid: str) -> None:
        self.forgotten.append(uid)

    def again(self, pod: Pod, grace_seconds: int) -> None:
        self.stop(pod, grace_seconds)


@dataclass
class Driver:
    """A clock and an outbox."""

    now: int = 1000 * SECOND
    sent: list[int] = field(default_factory=list)

    def clock(self) -> int:
        return self.now

    def wall(self) -> int:
        return EPOCH + self.now

    def run(self, outbox: Outbox, seconds: float) -> None:
        """Let simulated time pass, as fast as the requests go."""
        ends = self.now + int(seconds * SECOND)
        while self.now < ends:
            wait = self._step(outbox)
            self.now = min(ends, self.now + (wait if wait is not None else ends - self.now))

    def settle(self, outbox: Outbox) -> None:
        """Send what is due within the next seconds."""
        self.run(outbox, 3)

    def until(self, outbox: Outbox, condition: Callable[[], object], seconds: float = 120.0) -> None:
        """Let simulated time pass at some 25 times the real one, so that threads beside us can follow."""
        ends = self.now + int(seconds * SECOND)
        while not condition():
            assert self.now < ends, f"not so within {seconds} simulated seconds"
            self._step(outbox)
            self.now += 25 * MILLISECOND
            time.sleep(0.001)

    def _step(self, outbox: Outbox) -> int | None:
        before = len(outbox._sent), outbox._sent[-1] if outbox._sent else None
        wait = outbox.step(self.now)
        if (len(outbox._sent), outbox._sent[-1] if outbox._sent else None) != before or wait == 0:
            self.sent.append(self.now)
        return wait

    def most_in_a_second(self) -> int:
        """The most requests in any window of one second."""
        return max(sum(1 for other in self.sent if at <= other < at + SECOND) for at in self.sent)


def cluster_of(
    api: ApiServer, driver: Driver, stopper: FakeStopper, settings: ClusterSettings | None = None, node_name: str = "n1"
) -> Cluster:
    """The whole of `build` on the test's clock; its watch runs, its outbox is driven."""
    chosen = settings if settings is not None else ClusterSettings(kubeconfig=str(api.kubeconfig()))
    return build(
        chosen,
        node_name=node_name,
        stopper=stopper,
        clock=driver.clock,
        wall=driver.wall,
        random=lambda: 0.5,
        environ={"POD_UID": "own-uid"},
    )


def no_pods() -> PodSnapshot:
    """A node that is known to be empty."""
    return PodSnapshot(synced=True)
