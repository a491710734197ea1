"""Runs the API server double in a process of its own, and changes a number of its pods every second.

    python -m bench.pod_events FOLDER RATE KIND    serve until standard input is closed, which the end of the bench does too

KIND is `label`, of which evictd takes notice, or `readiness`, which it does not read.
FOLDER/pods.json holds the pods to serve; FOLDER/ca.crt and FOLDER/token are written before the line `ready PORT`. Every line of
standard input is answered with `changed CHANGES WATCHES`: how many changes have been made, and how many watches of pods were
begun.
"""

import json
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.lines import Lines
from evictd_testnode.pods import RunningPod, manifest
from tests.kube.api_server import ApiServer
from tests.kube.kubelet import Kubelet
from tests.kube.objects import node, padded, pod
from tests.kube.store import Json

NODE_NAME = "n1"
POD_BYTES = 8192
_LEASE_SECONDS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class PodEvents:
    """A running double."""

    account: Path
    """The folder with the files of a service account."""
    port: int
    process: "subprocess.Popen[str]"
    lines: Lines

    def count(self) -> int:
        """Ask how many changes have been made; raises `AssertionError` if no client watches the pods."""
        assert self.process.stdin is not None
        print(file=self.process.stdin, flush=True)
        _, changes, watches = self.lines.next("changed")[1].split()
        assert int(watches) > 0, "evictd does not watch the pods"
        return int(changes)


@contextmanager
def served(folder: Path, running: Iterable[RunningPod], rate: int, kind: str = "label") -> Iterator[PodEvents]:
    """Serve these pods as one node's, and change `rate` of them every second in this way."""
    folder.mkdir(exist_ok=True)
    (folder / "pods.json").write_text(json.dumps([as_object(each) for each in running]))
    argv = [sys.executable, "-m", "bench.pod_events", str(folder), str(rate), kind]
    process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        lines = Lines(process)
        port = int(lines.next("ready")[1].split()[1])
        yield PodEvents(account=folder, port=port, process=process, lines=lines)
    finally:
        process.kill()
        process.wait(60)


def as_object(running: RunningPod) -> Json:
    """Return the object of a pod that runs, of the size of real ones, with the containers and volumes of its recipe."""
    made = pod(running.name, node_name=NODE_NAME, namespace=running.namespace, uid=running.uid)
    spec: Any = manifest(running.recipe, running.uid)["spec"]
    made["spec"] |= spec
    status = made["status"]
    status["qosClass"] = "BestEffort"
    names = list(running.containers)
    (recorded,) = status["containerStatuses"]
    for name in ("allocatedResources", "resources"):
        status.pop(name)
        recorded.pop(name)
    status["containerStatuses"] = [
        {**recorded, "name": name, "containerID": f"containerd://{running.containers[name]}"} for name in names
    ]
    return padded(made, POD_BYTES)


def _serve(folder: Path, rate: int, kind: str) -> None:
    with ApiServer(folder) as api:
        api.store.create("nodes", node(NODE_NAME))
        keys = []
        for item in json.loads((folder / "pods.json").read_text()):
            api.store.create("pods", item)
            keys.append(("pods", item["metadata"]["namespace"], item["metadata"]["name"]))
        kubelet = Kubelet(api.store, NODE_NAME)
        kubelet.sync()
        (folder / "token").write_text(next(iter(api.tokens)))
        print(f"ready {api.port}", flush=True)
        asked: queue.Queue[bool] = queue.Queue()
        threading.Thread(target=_read, args=(asked,), daemon=True).start()
        changes, began, lease_due = 0, time.monotonic(), time.monotonic() + _LEASE_SECONDS
        while True:
            change_due = began + (changes + 1) / rate if rate else lease_due
            try:
                if not asked.get(timeout=max(0.0, min(change_due, lease_due) - time.monotonic())):
                    return
                print(f"changed {changes} {len(api.requests('watch pods'))}", flush=True)
            except queue.Empty:
                pass
            if rate and time.monotonic() >= change_due:
                api.store.update(keys[changes % len(keys)], CHANGES[kind])
                changes += 1
            if time.monotonic() >= lease_due:
                kubelet.sync()
                lease_due += _LEASE_SECONDS


def _read(asked: "queue.Queue[bool]") -> None:
    """Pass on each line as true, and the end as false."""
    for _ in sys.stdin:
        asked.put(True)
    asked.put(False)


def _change_readiness(item: Json) -> None:
    """Change a condition as a kubelet does after a probe."""
    ready = next(each for each in item["status"]["conditions"] if each["type"] == "Ready")
    ready["status"] = "False" if ready["status"] == "True" else "True"


def _change_label(item: Json) -> None:
    """Change what evictd keeps of a pod, as its start, its end or a new deletion do."""
    labels = item["metadata"]["labels"]
    labels["turn"] = "odd" if labels.get("turn") != "odd" else "even"


CHANGES: dict[str, Callable[[Json], None]] = {"label": _change_label, "readiness": _change_readiness}


if __name__ == "__main__":
    _serve(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
