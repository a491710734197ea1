"""What is read alike of cgroups of both versions."""

from pathlib import Path

import pytest

from evictd.observe.cgroups.cgroup_reader import CgroupReader
from evictd.observe.cgroups.cgroup_v1 import CgroupV1
from evictd.observe.cgroups.cgroup_v2 import CgroupV2
from evictd.observe.cgroups.file_descriptor_cache import FileDescriptorCache
from tests.trees import plant, v2


@pytest.fixture(params=["v1", "v2"])
def cgroups(request: pytest.FixtureRequest, tmp_path: Path) -> CgroupReader:
    """A cgroup `/a` with more inactive cache than usage."""
    files = FileDescriptorCache(0)
    if request.param == "v2":
        return CgroupV2(plant(tmp_path, {"a": v2(10, inactive=50)}), files)
    memory = {"memory.usage_in_bytes": "10\n", "memory.stat": "total_inactive_file 50\n"}
    return CgroupV1(plant(tmp_path, {"memory": {"a": memory}}), files)


def test_more_inactive_cache_than_usage_is_a_working_set_of_zero(cgroups: CgroupReader) -> None:
    assert cgroups.working_set("/a") == (10, 0)
    assert cgroups.memory("/a")[:2] == (10, 0)


def test_whether_a_cgroup_exists(cgroups: CgroupReader) -> None:
    assert cgroups.exists("/a")
    assert not cgroups.exists("/b")
    assert (cgroups.children("/"), cgroups.children("/b")) == (("a",), ())
