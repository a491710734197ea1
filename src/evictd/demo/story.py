"""What happens in the demonstration? A small node, innocents, leftovers, and one pod that fills the disk.

The node is real: a private containerd on a small filesystem, and evictd as its own process. First evictd frees dead containers
and unused images, which buys time; the pod fills on, and then exactly that pod goes. This module builds the node and reads off
what there is to see; it decides nothing and shows nothing.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evictd.clients.cri.values import ContainerState
from evictd.demo.binaries import Binaries
from evictd.demo.disks import DiskRecipe
from evictd.demo.images import ImageRecipe
from evictd.demo.node import DisposableNode, NodeRecipe
from evictd.demo.pods import ContainerRecipe, PodRecipe, RunningPod, VolumeRecipe
from evictd.demo.screen import Happening, PodRow, View
from evictd.errors import NodeError

DISK_MIB = 160
THRESHOLD_MIB = 60

_MIB = 1 << 20
_REST = "while :; do sleep 0.2; done"
_HOG = "log-shipper"
_DATA = (VolumeRecipe(name="data"),)
_OBEY = "trap 'exit 143' TERM; "


def _writes(count: int, pause: float) -> str:
    return (
        f"{_OBEY}i=0; while [ $i -lt {count} ]; do dd if=/dev/zero of=/data/f$i bs=1M count=1 2>/dev/null; "
        f"i=$((i+1)); sleep {pause}; done; {_REST}"
    )


INNOCENTS = (
    PodRecipe(name="web", containers=(ContainerRecipe(script=_writes(4, 0.1)),), volumes=_DATA, grace_period_seconds=2),
    PodRecipe(
        name="database", containers=(ContainerRecipe(script=_writes(9, 0.1)),), volumes=_DATA, grace_period_seconds=2
    ),
)
HOG = PodRecipe(
    name=_HOG, containers=(ContainerRecipe(script=_writes(400, 0.15)),), volumes=_DATA, grace_period_seconds=2
)
JOBS = tuple(
    PodRecipe(
        name=f"job-{number}",
        containers=(ContainerRecipe(script="dd if=/dev/zero of=/result bs=1M count=8 2>/dev/null"),),
        grace_period_seconds=1,
    )
    for number in (1, 2)
)
UNUSED = tuple(
    ImageRecipe(reference=f"localhost/release:{number}", padding_bytes=(6 + number) << 20) for number in (1, 2)
)


@dataclass(slots=True, kw_only=True)
class Stage:
    """The node, its pods and evictd's own words."""

    node: DisposableNode
    pods: dict[str, RunningPod] = field(default_factory=dict)
    evictd: "subprocess.Popen[bytes] | None" = None
    _told: int = 0

    @property
    def state(self) -> Path:
        """Give the state directory of this evictd."""
        return self.node.folder / "evictd"

    @property
    def journal(self) -> Path:
        """What evictd decided, and on which numbers."""
        return self.state / "journal.jsonl"

    def run(self, recipe: PodRecipe) -> None:
        """Start a pod."""
        self.pods[recipe.name] = self.node.run_pod(recipe)

    def finish_jobs(self) -> bool:
        """Leave the jobs' dead containers behind once they have ended; whether all have."""
        running = {row.id for row in self.node.client.list_containers() if row.state.may_run}
        jobs = [pod for name, pod in self.pods.items() if name.startswith("job-")]
        if any(running & set(pod.containers.values()) for pod in jobs):
            return False
        for pod in jobs:
            self.node.client.stop_sandbox(pod.sandbox_id)
        return True

    def free_bytes(self) -> int:
        """What is left on the node's disk."""
        found = os.statvfs(self.node.kubelet_folder)
        return found.f_bavail * found.f_frsize

    def news(self, seconds: float) -> list[Happening]:
        """Give what evictd has said since the last call."""
        lines = (self.node.folder / "evictd.log").read_text(encoding="utf-8").splitlines()
        fresh, self._told = lines[self._told :], len(lines)
        told = (_happening(json.loads(line), seconds) for line in fresh if line.startswith("{"))
        # evictd acts first and speaks afterwards; a story is told the other way round.
        return [happening for _, happening in sorted((one for one in told if one is not None), key=lambda one: one[0])]

    def pressure(self) -> bool:
        """Whether the node reports DiskPressure."""
        try:
            text = (self.state / "conditions.json").read_text(encoding="utf-8")
        except FileNotFoundError:
            return False
        return any(row["type"] == "DiskPressure" and row["status"] == "True" for row in json.loads(text)["conditions"])

    def view(self, seconds: float, happenings: list[Happening]) -> View:
        """Take a picture."""
        containers = self.node.client.list_containers()
        running = {row.id for row in containers if row.state is ContainerState.RUNNING}
        evicted = {happening.text.split()[1].partition("/")[2] for happening in happenings if happening.loud}
        return View(
            seconds=seconds,
            title=f"a disposable node: a private containerd on a disk of {DISK_MIB} MiB",
            available=self.free_bytes(),
            capacity=DISK_MIB * _MIB,
            threshold=THRESHOLD_MIB * _MIB,
            pressure=self.pressure(),
            pods=[self._row(name, running, evicted) for name in self.pods if not name.startswith("job-")],
            images=sorted({tag for image in self.node.client.list_images() for tag in image.repo_tags}),
            dead_containers=sorted(self._owner(row.id) for row in containers if row.state is ContainerState.EXITED),
            happenings=happenings,
        )

    def _owner(self, container_id: str) -> str:
        return next((name for name, pod in self.pods.items() if container_id in pod.containers.values()), "?")

    def _row(self, name: str, running: set[str], evicted: set[str]) -> PodRow:
        pod = self.pods[name]
        used = sum(_size(file) for volume in pod.volumes.values() for file in volume.glob("*"))
        note = "fills the disk" if name == _HOG else ""
        return PodRow(
            name=name,
            running=bool(running & set(pod.containers.values())),
            used_bytes=used,
            evicted=name in evicted,
            note=note,
        )


def _size(file: Path) -> int:
    try:
        return file.lstat().st_blocks * 512
    except FileNotFoundError:
        return 0  # it went with its pod, just now


def _happening(line: dict[str, Any], seconds: float) -> tuple[int, Happening] | None:
    """Pick what is worth telling of evictd's log, with its place among what is told at the same time."""
    event = str(line.get("event", ""))
    if event == "threshold met" and str(line["signal"]).startswith("nodefs"):
        words = f"threshold met: {line['signal']} {line['available']}, must not fall below {line['threshold']}"
        return 0, Happening(at=seconds, text=words)
    if str(line.get("event_reason", "")) in {"NodeHasDiskPressure", "NodeHasNoDiskPressure"}:
        return 1, Happening(at=seconds, text=event)
    if line.get("decision") in {"ReclaimNode", "EvictPod"}:
        return 2, Happening(at=seconds, text=event, loud=line["decision"] == "EvictPod")
    if event == "collected" and line["removed"]:
        freed = f", {line['freed_bytes'] / _MIB:.0f} MiB by the runtime's word" if line["freed_bytes"] else ""
        return 3, Happening(at=seconds, text=f"collected {line['removed']} unused {line['what']}{freed}")
    if event == "pod is gone":
        return 4, Happening(at=seconds, text=f"the pod is gone, {line['seconds']:.1f} s after it was asked to")
    return None


@contextmanager
def stage(recipe: NodeRecipe) -> Iterator[Stage]:
    """Build the node with its leftovers and innocents; everything is gone afterwards."""
    with DisposableNode(recipe) as node:
        made = Stage(node=node)
        try:
            yield made
        finally:
            _stop(made)


def node_recipe(binaries: Binaries) -> NodeRecipe:
    """Give the node of the demonstration."""
    disk = DiskRecipe(size_bytes=DISK_MIB * _MIB, inodes=20_000)
    return NodeRecipe(binaries=binaries, node_disk=disk, images=UNUSED)


def start_evictd(stage: Stage) -> None:
    """Start evictd on the node, as its own process."""
    node = stage.node
    kubelet = {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "evictionHard": {"nodefs.available": f"{THRESHOLD_MIB}Mi"},
        "evictionPressureTransitionPeriod": "4s",
        "imageMinimumGCAge": "1s",
        "containerRuntimeEndpoint": node.endpoint,
        "staticPodPath": str(node.manifests),
        "podLogsDir": str(node.log_folder),
        "cgroupRoot": node.cgroup,
        "nodeStatusUpdateFrequency": "1s",
    }
    evictd = {
        "apiVersion": "evictd.io/v1alpha1",
        "kind": "EvictdConfiguration",
        "housekeepingInterval": "500ms",
        "stateDirectory": str(stage.state),
        "rootDir": str(node.kubelet_folder),
        "listenAddress": "",
    }
    config = node.folder / "config.yaml"
    config.write_text(json.dumps(kubelet) + "\n---\n" + json.dumps(evictd) + "\n", encoding="utf-8")
    argv = ["setpriv", "--pdeathsig", "KILL", sys.executable, "-m", "evictd", "run", "--config", str(config)]
    with (node.folder / "evictd.log").open("ab") as log:
        stage.evictd = subprocess.Popen(  # noqa: S603 - an argument list of our own
            [*argv, "--log-format", "json"], stdin=subprocess.DEVNULL, stdout=log, stderr=log
        )


def check_alive(stage: Stage) -> None:
    """Raise `NodeError` with evictd's last words if it has ended."""
    if stage.evictd is None or stage.evictd.poll() is not None:
        words = (stage.node.folder / "evictd.log").read_text(encoding="utf-8").splitlines()[-1:]
        raise NodeError(f"evictd has ended: {''.join(words)}")


def _stop(stage: Stage) -> None:
    process, stage.evictd = stage.evictd, None
    if process is None:
        return
    process.terminate()
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(20)
