"""What the kernel killed for want of memory of the node, by the counters of a made cgroup tree."""

from dataclasses import replace
from pathlib import Path

import pytest

from evictd.observe.cgroups.cgroup import PodsCgroup, find_hierarchy
from evictd.observe.cgroups.file_descriptor_cache import FileDescriptorCache
from evictd.observe.cgroups.kernel_kills import KernelKill, KernelKills
from evictd.observe.reading.problems import Problems
from tests.daemon.world import WEB
from tests.trees import PROC, plant, v1_node, v2_node

POD = replace(WEB, uid="a-b")
OF_POD = {
    False: "kubepods/burstable/poda-b",
    True: "kubepods.slice/kubepods-burstable.slice/kubepods-burstable-poda_b.slice",
}


class OneNode:
    """A node of cgroup v2 whose counters are written."""

    def __init__(self, base: Path, *, systemd: bool = False) -> None:
        self.cgroup = plant(base / "cgroup", {**v2_node(systemd=systemd), "system.slice": {"memory.events": ""}})
        self.proc = plant(base / "proc", PROC)
        self.pod = OF_POD[systemd]
        files = FileDescriptorCache(0)
        cgroups = find_hierarchy(self.cgroup, files)
        kubepods = PodsCgroup(cgroups, "/")
        kubepods.find(Problems())
        self.kills = KernelKills(self.proc, cgroups, files, kubepods)
        self.write(total=7, pod=(3, 3), system=(1, 0))

    def write(self, *, total: int, pod: tuple[int, int], system: tuple[int, int]) -> None:
        """Write the kernel's counters: kills in all, and of each cgroup its kills and reached limits."""
        (self.proc / "vmstat").write_text(f"nr_free_pages 1\noom_kill {total}\ndrop_slab 0\n")
        for path, (kills, limits) in ((self.pod, pod), ("system.slice", system)):
            text = f"low 0\nhigh 0\nmax 9\noom {limits}\noom_kill {kills}\noom_group_kill 0\n"
            (self.cgroup / path / "memory.events").write_text(text)

    def fresh(self) -> tuple[KernelKill, ...]:
        return self.kills.fresh((POD,))


@pytest.fixture(params=[False, True], ids=["cgroupfs", "systemd"])
def node(request: pytest.FixtureRequest, tmp_path: Path) -> OneNode:
    return OneNode(tmp_path, systemd=request.param)


def test_kills_before_the_first_reading_are_not_told(node: OneNode) -> None:
    assert node.fresh() == ()
    assert node.fresh() == ()


def test_a_kill_is_told_once_with_its_pod(node: OneNode) -> None:
    node.fresh()
    node.write(total=9, pod=(5, 3), system=(1, 0))
    assert node.fresh() == (KernelKill(where="default/web", uid="a-b", count=2),)
    assert node.fresh() == ()


def test_a_kill_outside_pods_has_the_name_of_its_cgroup(node: OneNode) -> None:
    node.fresh()
    node.write(total=8, pod=(3, 3), system=(2, 0))
    assert node.fresh() == (KernelKill(where="system.slice", count=1),)


def test_a_kill_at_a_limit_of_the_pod_is_its_own_matter(node: OneNode) -> None:
    node.fresh()
    node.write(total=8, pod=(4, 4), system=(1, 0))
    assert node.fresh() == ()
    node.write(total=9, pod=(5, 4), system=(1, 0))
    assert [each.count for each in node.fresh()] == [1]


def test_a_pod_that_came_since_begins_at_zero(node: OneNode) -> None:
    cgroup, elsewhere = node.cgroup / node.pod, node.cgroup.parent / "elsewhere"
    cgroup.rename(elsewhere)
    node.fresh()
    elsewhere.rename(cgroup)
    node.write(total=8, pod=(1, 0), system=(1, 0))
    assert [each.where for each in node.fresh()] == ["default/web"]


def test_kills_before_the_first_reading_are_not_told_of_a_pod_that_is_listed_later(node: OneNode) -> None:
    """The runtime did not answer at the start of evictd: its pods were there all the same."""
    node.write(total=7, pod=(3, 0), system=(1, 0))
    node.kills.fresh(())
    node.write(total=8, pod=(3, 0), system=(2, 0))
    assert [each.where for each in node.fresh()] == ["system.slice"]


def test_counters_that_cannot_be_read_are_no_kills(node: OneNode) -> None:
    node.fresh()
    events = node.cgroup / node.pod / "memory.events"
    node.write(total=8, pod=(3, 3), system=(1, 0))
    events.write_text("oom_kill many\n")
    assert node.fresh() == ()
    node.write(total=9, pod=(4, 3), system=(1, 0))
    assert [each.count for each in node.fresh()] == [1]
    events.unlink()
    (node.proc / "vmstat").write_text("oom_kill 10\n")
    assert node.fresh() == ()


@pytest.mark.parametrize("text", [None, "", "nr_free_pages 1\n"])
def test_without_the_kernel_s_count_there_is_nothing(node: OneNode, text: str | None) -> None:
    node.fresh()
    node.write(total=9, pod=(5, 3), system=(1, 0))
    (node.proc / "vmstat").unlink() if text is None else (node.proc / "vmstat").write_text(text)
    assert node.fresh() == ()


def test_of_cgroup_v1_nothing_is_told(tmp_path: Path) -> None:
    files = FileDescriptorCache(0)
    cgroups = find_hierarchy(plant(tmp_path / "cgroup", v1_node()), files)
    kubepods = PodsCgroup(cgroups, "/")
    kubepods.find(Problems())
    proc = plant(tmp_path / "proc", {"vmstat": "oom_kill 0\n"})
    kills = KernelKills(proc, cgroups, files, kubepods)
    kills.fresh((POD,))
    (proc / "vmstat").write_text("oom_kill 1\n")
    assert kills.fresh((POD,)) == ()
