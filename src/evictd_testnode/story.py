"""Builds the demonstration's node and reads its state: two modest pods, garbage, and one pod that fills the disk.

The node is a private containerd on a small filesystem, with evictd as its own process. evictd first removes dead containers and
unused images, which frees some space; the pod continues to write, and then evictd evicts exactly that pod. The drawing is in
`evictd_testnode.screen`, the sequence in `evictd_testnode.command`.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path
from typing import Any

from evictd.core.gc.container_gc import ContainerState
from evictd.core.units.approximate import bytes_text
from evictd.errors import NodeError
from evictd_testnode.binaries import Binaries
from evictd_testnode.disks import DiskRecipe
from evictd_testnode.images import ImageRecipe
from evictd_testnode.node import DisposableNode, NodeRecipe
from evictd_testnode.pods import ContainerRecipe, PodRecipe, RunningPod, VolumeRecipe
from evictd_testnode.screen import PodRow, ScreenView, TimelineEvent

DISK_MIB = 160
THRESHOLD_MIB = 60

_MIB = 1 << 20
_REST = "while :; do sleep 0.2; done"
_KEPT_SECONDS = 4
"""How long the node reports the condition after the shortage, the pressure transition period."""
_EXIT_ON_TERM = "trap 'exit 143' TERM; "


def _writer(name: str, count: int, pause: float) -> PodRecipe:
    """Return a pod that writes files of 1 MiB with a pause after each."""
    script = (
        f"{_EXIT_ON_TERM}i=0; while [ $i -lt {count} ]; do dd if=/dev/zero of=/data/f$i bs=1M count=1 2>/dev/null; "
        f"i=$((i+1)); sleep {pause}; done; {_REST}"
    )
    container = ContainerRecipe(script=script)
    return PodRecipe(name=name, containers=(container,), volumes=(VolumeRecipe(name="data"),), grace_period_seconds=2)


OTHER_PODS = (_writer("web", 4, 0.1), _writer("database", 9, 0.1))
HOG = _writer("log-shipper", 400, 0.15)
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

BEGIN = TimelineEvent(
    at=0.0,
    text=f"the node is up; {', '.join(recipe.name for recipe in (*OTHER_PODS, *JOBS))} start",
    step="Two pods run. Two jobs end and leave dead containers, and two images are used by no pod.",
)
HOG_BEGINS = TimelineEvent(
    at=0.0,
    text=f"{HOG.name} starts to fill the disk",
    step=f"{HOG.name} writes without end. evictd waits until less than {THRESHOLD_MIB}Mi are left.",
)


class TimelineKind(Enum):
    """What an event of the timeline is to a crossing of the threshold; causes have smaller numbers than their effects."""

    CROSSED = 0
    REPORTED = 1
    LOOKS = 2
    REMOVED = 3
    EVICTS = 4
    REASON = 5
    RELIEVED = 6
    ENDED = 7


_EFFECTS = (TimelineKind.REPORTED, TimelineKind.LOOKS, TimelineKind.EVICTS)


@dataclass(slots=True, kw_only=True)
class DemoNode:
    """The node, its pods, and evictd's process and log."""

    node: DisposableNode
    pods: dict[str, RunningPod] = field(default_factory=dict)
    evictd: "subprocess.Popen[bytes] | None" = None
    _lines_read: int = 0
    _pressure_shown: bool = False
    _crossed: bool = False
    _waiting: list[tuple[TimelineKind, TimelineEvent]] = field(default_factory=list)
    """The events since the first effect of a crossing that evictd has not logged yet."""
    _looks: bool = False
    """Whether evictd looks for what it can remove and has not logged the result."""
    _relief: list[dict[str, Any]] = field(default_factory=list)
    _evicted: bool = False

    @property
    def state(self) -> Path:
        """The state directory of this evictd."""
        return self.node.folder / "evictd"

    @property
    def journal(self) -> Path:
        """Evictd's journal of observations and decisions."""
        return self.state / "journal.jsonl"

    def run(self, recipe: PodRecipe) -> None:
        """Start a pod."""
        self.pods[recipe.name] = self.node.run_pod(recipe)

    def finish_jobs(self) -> bool:
        """Stop the jobs' sandboxes once their containers have ended, leaving dead containers; returns whether they have."""
        running = {row.id for row in self.node.client.list_containers() if row.state.may_run}
        jobs = [pod for name, pod in self.pods.items() if name.startswith("job-")]
        if any(running & set(pod.containers.values()) for pod in jobs):
            return False
        for pod in jobs:
            self.node.client.stop_sandbox(pod.sandbox_id)
        return True

    def free_bytes(self) -> int:
        """The available bytes on the node's disk."""
        found = os.statvfs(self.node.kubelet_folder)
        return found.f_bavail * found.f_frsize

    def new_events(self, seconds: float) -> list[TimelineEvent]:
        """Return the events in evictd's log since the last call; a line that is not complete yet is read by the next one."""
        complete, _, _ = (self.node.folder / "evictd.log").read_text(encoding="utf-8").rpartition("\n")
        lines = complete.splitlines()
        fresh, self._lines_read = lines[self._lines_read :], len(lines)
        return self.events_of([json.loads(text) for text in fresh if text.startswith("{")], seconds)

    def events_of(self, log: Iterable[dict[str, Any]], seconds: float) -> list[TimelineEvent]:
        """Return the events of these lines of evictd's log; conditions only where they change.

        evictd logs a crossing after it has acted on it, so that no log delays an eviction, and the log can end between the
        two. From its first effect on, events wait for the crossing, which gets the time of that effect. Events are in the order
        of their times; those of one crossing that have the same time, causes before their effects.
        """
        ready: list[tuple[int, TimelineKind, TimelineEvent]] = []
        crossings = 0
        for line in self._relief_last(log):
            event = self._pressure_event(line, seconds) or _timeline_event(line, seconds)
            self._evicted = self._evicted or line.get("decision") == "EvictPod"
            if event is None:
                continue
            kind, shown = event
            if kind is TimelineKind.CROSSED:
                crossings += not self._crossed
                self._crossed = True
                at = self._waiting[0][1].at if self._waiting else seconds
                ready += [(crossings, *each) for each in ((kind, replace(shown, at=at)), *self._waiting)]
                self._waiting = []
            elif self._waiting or (kind in _EFFECTS and not self._crossed):
                self._waiting.append(event)
            else:
                self._crossed = self._crossed and kind is not TimelineKind.RELIEVED
                ready.append((crossings, kind, self._with_step_now(kind, shown)))
        return [event for *_, event in sorted(ready, key=lambda each: (each[0], each[2].at, each[1].value))]

    def _relief_last(self, log: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        """Yield the lines; evictd can log relief before what it removed, so relief waits for that or for what comes after it."""
        for line in log:
            event, decision = line.get("event"), line.get("decision")
            if event == "threshold no longer met" and self._looks:
                self._relief.append(line)
                continue
            waited, after = self._relief, decision in ("ReclaimNode", "EvictPod") or event == "threshold met"
            if event == "collected" or after or line.get("event_reason") == "NodeHasNoDiskPressure":
                self._relief = []
                self._looks = decision == "ReclaimNode" or (self._looks and event == "threshold met")
                yield from (line, *waited) if event == "collected" else (*waited, line)
            else:
                yield line

    def _with_step_now(self, kind: TimelineKind, shown: TimelineEvent) -> TimelineEvent:
        """Return the event of garbage or relief with what happens from here on; after an eviction its reason remains that."""
        if kind is TimelineKind.RELIEVED and not self._evicted:
            return replace(shown, step=_ENOUGH_SO_FAR)
        return replace(shown, step="") if kind is TimelineKind.REMOVED and not self._crossed else shown

    def _pressure_event(self, line: dict[str, Any], seconds: float) -> tuple[TimelineKind, TimelineEvent] | None:
        """Return the event of a condition that differs from what was reported before."""
        pressure = {"NodeHasDiskPressure": True, "NodeHasNoDiskPressure": False}.get(str(line.get("event_reason", "")))
        if pressure is None or pressure == self._pressure_shown:
            return None
        self._pressure_shown = pressure
        if pressure:
            return TimelineKind.REPORTED, TimelineEvent(
                at=seconds, text="the node reports DiskPressure: no new pods are sent to it"
            )
        step = _RELIEVED if self._evicted else _ENOUGH_SO_FAR
        return TimelineKind.ENDED, TimelineEvent(at=seconds, text="DiskPressure ends", step=step)

    def pressure(self) -> bool:
        """Whether the node reports DiskPressure."""
        try:
            text = (self.state / "conditions.json").read_text(encoding="utf-8")
        except FileNotFoundError:
            return False
        return any(row["type"] == "DiskPressure" and row["status"] == "True" for row in json.loads(text)["conditions"])

    def view(self, seconds: float, events: list[TimelineEvent]) -> ScreenView:
        """Read the values of one picture."""
        containers = self.node.client.list_containers()
        running = {row.id for row in containers if row.state is ContainerState.RUNNING}
        evicted = {event.text.split()[1].partition("/")[2].rstrip(":") for event in events if event.highlighted}
        return ScreenView(
            seconds=seconds,
            title=f"a real node: its own containerd on a disk of {DISK_MIB}Mi",
            available=self.free_bytes(),
            capacity=DISK_MIB * _MIB,
            threshold=THRESHOLD_MIB * _MIB,
            pressure=self.pressure(),
            pods=[self._row(name, running, evicted) for name in self.pods if not name.startswith("job-")],
            images=sorted({tag for image in self.node.client.list_images() for tag in image.repo_tags}),
            dead_containers=sorted(self._owner(row.id) for row in containers if row.state is ContainerState.EXITED),
            events=events,
        )

    def _owner(self, container_id: str) -> str:
        return next((name for name, pod in self.pods.items() if container_id in pod.containers.values()), "?")

    def _row(self, name: str, running: set[str], evicted: set[str]) -> PodRow:
        pod = self.pods[name]
        used = sum(_size(file) for volume in pod.volumes.values() for file in volume.glob("*"))
        note = "fills the disk" if name == HOG.name else ""
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
        return 0  # deleted with its pod since it was listed


def _timeline_event(line: dict[str, Any], seconds: float) -> tuple[TimelineKind, TimelineEvent] | None:
    """Convert a line of evictd's log to an event, with its kind; `None` for other lines."""
    event = str(line.get("event", ""))
    if event == "threshold met" and str(line["signal"]).startswith("nodefs"):
        text = f"{line['available']} of the disk are left: the threshold of {line['threshold']} is crossed"
        return TimelineKind.CROSSED, TimelineEvent(at=seconds, text=text, step=_CROSSED)
    if line.get("decision") == "ReclaimNode":
        return TimelineKind.LOOKS, TimelineEvent(
            at=seconds, text="looks for dead containers and unused images", step=_RECLAIMS
        )
    if line.get("decision") == "EvictPod":
        left = event.partition(": ")[2].partition(",")[0]
        why = f"{line['pod']}: nothing unused, {left} by then"
        return TimelineKind.EVICTS, TimelineEvent(
            at=seconds, text=f"evicts {why}", highlighted=True, step=_EVICTS, conclusion=f"evictd evicted {why}."
        )
    if event.startswith("Evicted ") and "uid" in line:
        why = event.partition(": ")[2]
        return TimelineKind.REASON, TimelineEvent(
            at=seconds,
            text=f"why this pod: {why}",
            step=f"Why this pod? {event}",
            conclusion=f"Why this pod: {why}",
        )
    if event == "collected" and line["removed"]:
        freed = f": {bytes_text(line['freed_bytes'])} came back" if line["freed_bytes"] else ""
        kind = "dead" if line["what"] == "containers" else "unused"
        text = f"{line['removed']} {kind} {line['what']} removed{freed}"
        return TimelineKind.REMOVED, TimelineEvent(at=seconds, text=text, step=_COLLECTED)
    if event == "threshold no longer met" and str(line["signal"]).startswith("nodefs"):
        return TimelineKind.RELIEVED, TimelineEvent(
            at=seconds, text=f"enough is left again; DiskPressure is kept for {_KEPT_SECONDS} s more"
        )
    return None


_CROSSED = f"Less than {THRESHOLD_MIB}Mi of the disk are left: the threshold is crossed. No pod has to go yet."
_RECLAIMS = "First evictd looks for what no pod needs and removes it: dead containers and unused images."
_COLLECTED = "What no pod needs is gone. evictd measures the disk again: was that enough?"
_ENOUGH_SO_FAR = f"That was enough: no pod was evicted. But {HOG.name} writes on."
_EVICTS = "It was not enough, and nothing unused is left: one pod has to go, so that the others can stay."
_RELIEVED = "The pressure is over: one pod was evicted, the others ran on. New pods may come again."


@contextmanager
def demo_node(binaries: Binaries) -> Iterator[DemoNode]:
    """Build the node; at the end stop evictd and remove everything."""
    disk = DiskRecipe(size_bytes=DISK_MIB * _MIB, inodes=20_000)
    with DisposableNode(NodeRecipe(binaries=binaries, node_disk=disk, images=UNUSED)) as node:
        demo = DemoNode(node=node)
        try:
            yield demo
        finally:
            _stop_evictd(demo)


def start_evictd(demo: DemoNode) -> None:
    """Start evictd on the node as a separate process, which is killed with this one."""
    node = demo.node
    kubelet = {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "evictionHard": {"nodefs.available": f"{THRESHOLD_MIB}Mi"},
        "evictionPressureTransitionPeriod": f"{_KEPT_SECONDS}s",
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
        "stateDirectory": str(demo.state),
        "rootDir": str(node.kubelet_folder),
        "listenAddress": "",
        "allowApiPodsStandalone": True,  # the pods are as a kubelet runs those of an API server
    }
    config = node.folder / "config.yaml"
    config.write_text(json.dumps(kubelet) + "\n---\n" + json.dumps(evictd) + "\n", encoding="utf-8")
    argv = ["setpriv", "--pdeathsig", "KILL", sys.executable, "-m", "evictd", "run", "--config", str(config)]
    with (node.folder / "evictd.log").open("ab") as log:
        demo.evictd = subprocess.Popen(  # noqa: S603 - a fixed argument list, no shell
            [*argv, "--log-format", "json"], stdin=subprocess.DEVNULL, stdout=log, stderr=log
        )


def check_alive(demo: DemoNode) -> None:
    """Raise `NodeError` with the last line of evictd's log if its process has ended."""
    if demo.evictd is None or demo.evictd.poll() is not None:
        last = (demo.node.folder / "evictd.log").read_text(encoding="utf-8").splitlines()[-1:]
        raise NodeError(f"evictd has ended: {''.join(last)}")


def _stop_evictd(demo: DemoNode) -> None:
    process, demo.evictd = demo.evictd, None
    if process is None:
        return
    process.terminate()
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(20)
