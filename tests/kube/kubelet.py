"""Simulates a kubelet's reaction to pods and conditions that evictd changes, as observed on a real one.

One `sync` handles every pod and condition once; `running` repeats it in a thread. It works on the store directly, so that the
request log of the API server double holds evictd's requests only. The rules, from the observations beside a kubelet 1.36.2:

* a built-in pressure condition written by another client is set to False again; unknown condition types are not changed;
* a running pod whose status was set to Failed is set to Running again, and nothing is stopped;
* a stopped container of a pod that is neither terminal nor being deleted is restarted;
* a pod with every container stopped and a terminal status written in time stays as it is;
* a pod being deleted is stopped within its grace and its object removed; the phase until then follows from the exit codes.
"""

import contextlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field

from tests.kube.store import Json, Key, Objects, stamp

SUFFICIENT = {
    "MemoryPressure": ("KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    "DiskPressure": ("KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    "PIDPressure": ("KubeletHasSufficientPID", "kubelet has sufficient PID available"),
}
TERMINAL = {"Failed", "Succeeded"}


@dataclass
class Containers:
    """The containers of a node as the runtime lists them, by pod uid and name; None is running, a number an exit code."""

    by_pod: dict[str, dict[str, int | None]] = field(default_factory=dict)
    restarts: dict[str, int] = field(default_factory=dict)
    lock: threading.RLock = field(default_factory=threading.RLock)

    def start(self, uid: str, *names: str) -> None:
        with self.lock:
            self.by_pod[uid] = dict.fromkeys(names)

    def stop(self, uid: str, *names: str, exit_code: int = 137) -> bool:
        """Stop the named containers, or all if none is named; false where the pod still has its grace."""
        with self.lock:
            for name in names or tuple(self.by_pod.get(uid, {})):
                if self.by_pod[uid].get(name) is None:
                    self.by_pod[uid][name] = exit_code
        return True

    def running(self, uid: str) -> bool:
        with self.lock:
            return None in self.by_pod.get(uid, {}).values()

    def restart(self, uid: str) -> None:
        with self.lock:
            for name, code in self.by_pod[uid].items():
                if code is not None:
                    self.by_pod[uid][name] = None
                    self.restarts[uid] = self.restarts.get(uid, 0) + 1


@dataclass
class Kubelet:
    """The double for one node."""

    store: Objects
    node: str
    containers: Containers = field(default_factory=Containers)

    def sync(self) -> None:
        """Renew the lease, repair the node's status, synchronize each pod."""
        self._lease()
        self._conditions()
        pods, _ = self.store.list("pods", where=lambda pod: pod["spec"].get("nodeName") == self.node)
        for pod in pods:
            self._pod(("pods", pod["metadata"]["namespace"], pod["metadata"]["name"]), pod)

    @contextlib.contextmanager
    def running(self, period: float = 0.02) -> Iterator["Kubelet"]:
        """Run `sync` repeatedly in a thread."""
        stop = threading.Event()

        def loop() -> None:
            while not stop.wait(period):
                self.sync()

        thread = threading.Thread(target=loop, name="kubelet-double")
        thread.start()
        try:
            yield self
        finally:
            stop.set()
            thread.join()

    def _lease(self) -> None:
        key = ("leases", "kube-node-lease", self.node)
        spec = {"holderIdentity": self.node, "leaseDurationSeconds": 40, "renewTime": stamp(micro=True)}
        if self.store.get(key) is None:
            meta = {"namespace": "kube-node-lease", "name": self.node}
            self.store.create(
                "leases", {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": meta, "spec": spec}
            )
        else:
            self.store.update(key, lambda lease: lease.update(spec=spec))

    def _conditions(self) -> None:
        key = ("nodes", "", self.node)
        if self.store.get(key) is None:
            return

        def repair(node: Json) -> None:
            for condition in node["status"].get("conditions", []):
                want = SUFFICIENT.get(condition["type"])
                if want and condition["status"] != "False":
                    condition.update(status="False", reason=want[0], message=want[1], lastTransitionTime=stamp())

        self.store.update(key, repair)

    def _pod(self, key: Key, pod: Json) -> None:
        uid, phase = pod["metadata"]["uid"], pod["status"].get("phase")
        if "deletionTimestamp" in pod["metadata"]:
            self._finish(key, uid)
        elif phase in TERMINAL and self.containers.running(uid):
            # The status manager patches its cached Running back; reason and message go with it.
            self._write(key, uid, {"phase": "Running"}, drop=("reason", "message"))
        elif phase not in TERMINAL and uid in self.containers.by_pod:
            self.containers.restart(uid)

    def _finish(self, key: Key, uid: str) -> None:
        if not self.containers.stop(uid):
            return
        codes = self.containers.by_pod.get(uid, {}).values()
        self._write(key, uid, {"phase": "Succeeded" if all(code == 0 for code in codes) else "Failed"})
        with self.store.changed:
            if (found := self.store.get(key)) is not None and found["metadata"]["uid"] == uid:
                self.store.remove(key)

    def _write(self, key: Key, uid: str, status: Json, drop: tuple[str, ...] = ()) -> None:
        def change(pod: Json) -> None:
            pod["status"].update(status)
            for name in drop:
                pod["status"].pop(name, None)

        with self.store.changed:
            found = self.store.get(key)
            if found is not None and found["metadata"]["uid"] == uid:
                self.store.update(key, change)
