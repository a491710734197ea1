"""Real pressure on a whole cgroup v2 node of 2 GiB, with evictd as its service and the kubelet's pass criteria.

The right pod goes, once, and only it; the condition is there first and goes away after the transition period; a new pod can
start; and the kernel's OOM killer, which would have been next, never strikes.
"""

import json
import os
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from evictd.observe.cgroups.kernel_text import parse_pressure
from evictd_testnode.pods import ContainerRecipe, PodRecipe, RunningPod, VolumeRecipe
from tests.vm.guest import hogs, service, shell
from tests.vm.guest.figures import figure
from tests.vm.guest.mglru import mglru
from tests.vm.guest.node import KUBELET_ROOT, PODS_CGROUP, Node, pod_cgroup, processes
from tests.vm.guest.waiting import wait_for

pytestmark = pytest.mark.vm

MIB = 1 << 20
SECOND = 10**9
CALM = {"evictionHard": {"memory.available": "100Mi"}}
TRANSITION_SECONDS = 5
FEW_PIDS = 700
PATIENCE = 150


def oom_kills() -> int:
    """How often the OOM killer has struck on this machine, in any cgroup."""
    text = Path("/proc/vmstat").read_text()
    return int(next(line.split()[1] for line in text.splitlines() if line.startswith("oom_kill ")))


class Story:
    """What the service decides from now on."""

    def __init__(self) -> None:
        self._seen = len(self._lines())
        self._oom_kills = oom_kills()

    @staticmethod
    def _lines() -> list[str]:
        path = service.STATE / "journal.jsonl"
        return path.read_text().splitlines() if path.exists() else []

    def entries(self) -> list[dict[str, Any]]:
        """The journal's lines since the story began."""
        return [json.loads(line) for line in self._lines()[self._seen :] if line.endswith("}")]

    def times(self, kind: str) -> list[tuple[int, dict[str, Any]]]:
        """Decisions of a kind, with the boot-time nanoseconds of their cycle."""
        return [
            (entry["now"], decision)
            for entry in self.entries()
            for decision in entry["decisions"]
            if decision["kind"] == kind and not decision.get("shortens")
        ]

    def victims(self) -> list[str]:
        return [decision["pod"]["name"] for _, decision in self.times("EvictPod")]

    def condition_came_at(self, condition: str) -> int:
        return next(at for at, decision in self.times("ReportConditions") if condition in decision["conditions"])

    def ends_well(self, node: Node, *, victim: RunningPod, innocents: list[RunningPod], condition: str) -> None:
        """Wait for the victim to be gone and the pressure to be over, and check that nothing else happened."""
        wait_for(lambda: not node.running(victim), PATIENCE, f"{victim.name} to be gone")
        assert self.condition_came_at(condition) <= self.times("EvictPod")[0][0]
        wait_for(lambda: service.conditions()[condition] == "False", PATIENCE, f"{condition} to be over")
        assert self.victims() == [victim.name]
        assert [pod.name for pod in innocents if not node.running(pod)] == []
        assert oom_kills() == self._oom_kills
        node.run_pod(PodRecipe(name="newcomer"))  # a node without pressure takes pods again


@pytest.fixture
def story(evictd: None, node: Node) -> Iterator[Story]:
    yield Story()
    service.configure(CALM)
    service.systemctl("reload", service.NAME)


@pytest.fixture
def without_mglru() -> Iterator[None]:
    """The kernel's old lists: with MGLRU file pages are not counted as active, and waiting for them is not counted as a stall."""
    with mglru("off"):
        yield


def obey(kubelet: dict[str, object], evictd: dict[str, object] | None = None) -> None:
    service.configure({"evictionPressureTransitionPeriod": f"{TRANSITION_SECONDS}s", **kubelet}, evictd)
    service.systemctl("reload", service.NAME)


def pod(
    node: Node,
    name: str,
    script: str,
    *,
    volume: str = "",
    requests: Mapping[str, str] | None = None,
    limits: Mapping[str, str] | None = None,
) -> RunningPod:
    volumes = (VolumeRecipe(name=volume),) if volume else ()
    container = ContainerRecipe(script=script, requests=requests or {}, limits=limits or {})
    return node.run_pod(PodRecipe(name=name, containers=(container,), volumes=volumes))


@pytest.mark.debian12
def test_page_cache_is_dropped(node: Node, story: Story, without_mglru: None) -> None:
    """A pod that has read a file and rests stays with `reclaim.pageCache`, where `MemAvailable` alone would not keep it."""
    reader = pod(node, "reader", hogs.reads("/data", 250, times=3), volume="data")
    idle = shell.memory_available()
    cgroup = pod_cgroup(reader)
    wait_for((reader.volumes["data"] / "done").exists, PATIENCE, "the file to be read")
    pressure = Path("/proc/pressure/memory")
    wait_for(lambda: stalled("some", pressure) == 0, PATIENCE, "the stalls of the test before to be over")
    held, stalls = shell.working_set(cgroup), shell.stalled_microseconds(PODS_CGROUP)
    assert held > 230 * MIB
    service.configure(
        {
            "evictionPressureTransitionPeriod": f"{TRANSITION_SECONDS}s",
            "evictionHard": {"memory.available": "100Mi"},
            "evictionSoft": {"memory.available": str(idle - 50 * MIB)},
            "evictionSoftGracePeriod": {"memory.available": "1s"},
        },
        {"reclaim": {"pageCache": True}},
    )
    service.systemctl("reload", service.NAME)
    wait_for(lambda: story.times("ReclaimNode") or story.victims(), PATIENCE, "page cache to be dropped")
    wait_for(lambda: service.conditions()["MemoryPressure"] == "False", PATIENCE, "MemoryPressure to be over")
    assert story.victims() == []
    assert node.running(reader)
    [(_, decision)] = story.times("ReclaimNode")
    assert decision["actions"] == ["pageCache"]
    freed = service.metric("evictd_reclaimed_bytes_total", kind="pageCache")
    assert freed > 100 * MIB
    stalled_ms = (shell.stalled_microseconds(PODS_CGROUP) - stalls) / 1000
    figure(
        f"page cache dropped: {int(freed) >> 20} MiB of a working set of {held >> 20}, wanted {decision['wantedBytes'] >> 20}; "
        f"tasks of pods stalled {stalled_ms:.1f} ms until the condition had ended"
    )


def test_memory_hard(node: Node, story: Story) -> None:
    """A pod without requests fills the node; it goes before the two that keep to theirs, and before the OOM killer comes."""
    # A cycle takes seconds in an emulated machine: one that its time begins may see the crossing before the watch does.
    obey({"evictionHard": {"memory.available": "400Mi"}}, {"housekeepingInterval": "2m"})
    woken = service.metric("evictd_wakeups_total", cause="memory")
    guaranteed = pod(node, "guaranteed", hogs.holds(150), limits={"cpu": "1", "memory": "250Mi"})
    burstable = pod(node, "burstable", hogs.holds(200), requests={"memory": "300Mi"})
    hog = pod(node, "besteffort", hogs.grows(600, 10, 0.5))
    story.ends_well(node, victim=hog, innocents=[guaranteed, burstable], condition="MemoryPressure")
    (_, eviction), *_ = story.times("EvictPod")
    assert eviction["because"]["signal"] == "memory.available"
    assert service.metric("evictd_wakeups_total", cause="memory") > woken
    figure(
        f"memory hard: decided with {eviction['because']['available']} left, {eviction['because']['usage']} used by it"
    )


@pytest.mark.debian12
def test_memory_soft(node: Node, story: Story) -> None:
    """A pod holds more than its request; it is given the grace period of the threshold, then its own, capped."""
    grace = 8
    guaranteed = pod(node, "guaranteed", hogs.holds(100), limits={"cpu": "1", "memory": "200Mi"})
    besteffort = pod(node, "besteffort", hogs.holds(30))
    threshold = shell.memory_available() - 400 * MIB
    obey(
        {
            "evictionHard": {"memory.available": "100Mi"},
            "evictionSoft": {"memory.available": str(threshold)},
            "evictionSoftGracePeriod": {"memory.available": f"{grace}s"},
            "evictionMaxPodGracePeriod": 5,
        }
    )
    offender = pod(node, "burstable", hogs.holds(700), requests={"memory": "100Mi"})
    story.ends_well(node, victim=offender, innocents=[guaranteed, besteffort], condition="MemoryPressure")
    (at, eviction), *_ = story.times("EvictPod")
    waited = at - story.condition_came_at("MemoryPressure")
    assert waited >= grace * SECOND
    assert eviction["gracePeriodSeconds"] == 5
    figure(f"memory soft: evicted {waited / SECOND:.1f} s after the condition, grace period {grace} s")


@pytest.mark.debian14
def test_page_cache(node: Node, story: Story, without_mglru: None) -> None:
    """A pod that reads a file again and again stays, though its pages alone hold a soft threshold met; once it thrashes, it goes.

    Two readers keep the pages active: with one, a slow machine's threshold is met for ten seconds at a time only.
    Until then nothing waits for memory; from then on its cgroup holds less than the file. The threshold is below what the kernel
    can give a process, which is less than `memory.available` of the documentation: that counts the kernel's own memory as free.
    """
    mebibytes, held = 600, 550
    innocent = pod(node, "guaranteed", hogs.holds(20), limits={"cpu": "1", "memory": "100Mi"})
    threshold = shell.meminfo("MemAvailable") - 80 * MIB
    reader = pod(node, "reader", hogs.thrashes("/data", mebibytes), volume="data")
    cgroup = pod_cgroup(reader)
    wait_for(lambda: shell.working_set(cgroup) > 0.9 * mebibytes * MIB, PATIENCE, "the pages of the file to be active")
    available, kernels = shell.memory_available(), shell.meminfo("MemAvailable")
    obey(
        {
            "evictionHard": {"memory.available": "100Mi"},
            "evictionSoft": {"memory.available": str(threshold)},
            "evictionSoftGracePeriod": {"memory.available": "1s"},
            "evictionMaxPodGracePeriod": 1,
        }
    )
    waits = partial(service.metric, "evictd_no_action", reason="NotShortOfMemory")
    wait_for(lambda: waits() or story.victims(), PATIENCE, "the threshold to be met, and to wait")
    assert story.victims() == []
    assert node.running(reader)
    (cgroup / "memory.high").write_text(str(held * MIB))
    story.ends_well(node, victim=reader, innocents=[innocent], condition="MemoryPressure")
    (_, eviction), *_ = story.times("EvictPod")
    assert eviction["because"]["signal"] == "memory.available"
    figure(
        f"page cache: stayed with {available >> 20} MiB available, {threshold >> 20} wanted, MemAvailable {kernels >> 20}; "
        f"evicted when its tasks stalled: {eviction['message'].split('. ')[1]}"
    )


def stalled(tasks: str = "full", path: Path = PODS_CGROUP / "memory.pressure") -> float:
    """The percentage of the last ten seconds that all tasks together, or `some`, stalled for memory: those of pods."""
    return parse_pressure(path.read_bytes(), str(path))[tasks].avg10


@pytest.mark.debian14
def test_thrashing(node: Node, story: Story, without_mglru: None) -> None:
    """A pod reads again and again what its limit does not hold, with most of the node's memory available.

    The threshold on memory, which is all that the kubelet has, is not met. The one on stalls is, and the pod goes.
    """
    above = 20
    innocent = pod(node, "guaranteed", hogs.holds(50), limits={"cpu": "1", "memory": "100Mi"})
    limits = {"memory": "64Mi"}
    thrasher = pod(
        node, "thrasher", hogs.thrashes("/data", 72), volume="data", requests={"memory": "32Mi"}, limits=limits
    )
    wait_for(lambda: stalled() > above, PATIENCE, "the pods to stall")
    available = shell.memory_available()
    assert available > 1000 * MIB
    assert story.victims() == []
    pressure = {"resource": "memory", "type": "full", "average": "10s", "above": f"{above}%", "for": "5s"}
    service.configure({**CALM, "evictionMaxPodGracePeriod": 5}, {"pressure": [pressure]})
    service.systemctl("reload", service.NAME)
    story.ends_well(node, victim=thrasher, innocents=[innocent], condition="MemoryPressure")
    assert stalled() <= above
    (at, eviction), *_ = story.times("EvictPod")
    assert eviction["because"]["signal"] == "pods.memory.full.avg10"
    waited = at - story.condition_came_at("MemoryPressure")
    assert waited >= 5 * SECOND
    said = eviction["message"].split(". ")[1]
    figure(
        f"thrashing: evicted {waited / SECOND:.1f} s after the condition with {available >> 20} MiB available: {said}"
    )


@pytest.mark.debian14
def test_disk_pressure(node: Node, story: Story) -> None:
    """A pod fills its emptyDir; dead containers and their logs are collected first, and as that is not enough it goes."""
    dead = pod(node, "finished", "echo done")
    wait_for(lambda: not node.running(dead), PATIENCE, "the finished pod to have ended")
    node.client.stop_sandbox(dead.sandbox_id)
    bystander = pod(node, "bystander", hogs.holds(10), volume="data", limits={"cpu": "1", "memory": "50Mi"})
    threshold = shell.df(KUBELET_ROOT).available - 150 * MIB
    obey({"evictionHard": {"nodefs.available": str(threshold)}})
    # The first file is another owner's, and evictd must remove it all the same.
    script = (
        "mkdir /data/own; touch /data/own/file; busybox chown -R 1000:1000 /data/own; busybox chmod 700 /data/own; "
    )
    writer = pod(node, "writer", script + hogs.writes("/data", 10, 0.2), volume="data")
    story.ends_well(node, victim=writer, innocents=[bystander], condition="DiskPressure")
    assert story.times("ReclaimNode")
    assert not (dead.log_directory / "main" / "0.log").exists()
    assert not writer.volumes["data"].exists()
    assert bystander.volumes["data"].exists()


@pytest.fixture
def few_pids(node: Node, story: Story) -> Iterator[Callable[[], object]]:
    """Returns what lowers the kernel's number of PIDs; it is as it was before the pods are removed."""
    path = Path("/proc/sys/kernel/pid_max")
    before = path.read_text()
    yield lambda: path.write_text(str(FEW_PIDS))
    path.write_text(before)


def test_pids_used_up(node: Node, story: Story, few_pids: Callable[[], object]) -> None:
    """A pod that forks without end takes the node's last PID before evictd looks; it goes all the same (docs/faults.md, 31).

    Only files are read until PIDs are available again, and the runtime is not asked: it is slow to notice the end of so many.
    """
    obey({"evictionHard": {"pid.available": "40%"}})  # more than the 300 that the kernel gives out only once
    evictd = service.main_pid()
    innocent = pod(node, "innocent", hogs.holds(10))
    bomb = pod(node, "bomb", hogs.forks("/data"), volume="data")
    folder = bomb.volumes["data"]
    wait_for((folder / "bomb").exists, PATIENCE, "the bomb to be ready")
    few_pids()  # after the pods were started: systemd bounds each scope by a share of it
    os.kill(evictd, signal.SIGSTOP)
    try:
        (folder / "go").touch()
        wait_for((folder / "refused").exists, PATIENCE, "the PIDs to be used up")
    finally:
        os.kill(evictd, signal.SIGCONT)
    wait_for(lambda: not processes(pod_cgroup(bomb)), PATIENCE, "the bomb's processes to be gone")
    [(at, eviction)] = story.times("EvictPod")
    assert (eviction["pod"]["name"], eviction["because"]["signal"]) == ("bomb", "pid.available")
    assert story.condition_came_at("PIDPressure") <= at
    wait_for(lambda: service.conditions()["PIDPressure"] == "False", PATIENCE, "PIDPressure to be over")
    assert story.victims() == ["bomb"]
    assert processes(pod_cgroup(innocent))
    figure(f"PIDs used up: decided with {eviction['because']['available']} of {FEW_PIDS} left")


@pytest.mark.debian12
def test_memory_in_a_volume(node: Node, story: Story) -> None:
    """A pod fills a volume in memory, which the service sees at two mounts; its memory comes back, and no other pod goes.

    It comes last: three evictions for memory within ten minutes would let no pod go for the threshold of `test_page_cache`,
    which is met from its configuration on (law Prudence).
    """
    obey({"evictionHard": {"memory.available": "400Mi"}})
    innocent = pod(node, "innocent", hogs.holds(150), limits={"cpu": "1", "memory": "250Mi"})
    burstable = pod(node, "burstable", hogs.holds(200), requests={"memory": "300Mi"})
    container = ContainerRecipe(script=hogs.writes("/cache", 40, 0.2))
    volumes = (VolumeRecipe(name="cache", medium="Memory"),)
    hog = node.run_pod(PodRecipe(name="besteffort", containers=(container,), volumes=volumes))
    subprocess.run(["mount", "-o", "remount,size=1g", str(hog.volumes["cache"])], check=True)
    mounts = Path(f"/proc/{service.main_pid()}/mountinfo").read_text().count(f" {hog.volumes['cache']} ")
    figure(f"memory in a volume: the service sees it at {mounts} mounts")
    story.ends_well(node, victim=hog, innocents=[innocent, burstable], condition="MemoryPressure")
    assert list(hog.volumes["cache"].iterdir()) == []
