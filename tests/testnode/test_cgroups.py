"""A node's cgroup is created, limited and removed."""

import os
import subprocess
from collections.abc import Iterator

import pytest

from evictd.errors import NodeError
from evictd_testnode import cgroups
from evictd_testnode.tool import start_time, wait_for
from tests.conftest import reason_against_nodes

pytestmark = [pytest.mark.root, pytest.mark.skipif(bool(reason_against_nodes()), reason=reason_against_nodes())]


@pytest.fixture
def parent() -> Iterator[str]:
    # Named as a node is, so that a sweep finds it if this run is killed.
    name = f"/evictd-node-{os.getpid()}-{start_time(os.getpid())}-cgroups"
    yield name
    cgroups.kill(cgroups.pids_of(name))
    cgroups.remove_group(name)


def test_a_group_has_the_limits_that_were_asked_for(parent: str) -> None:
    cgroups.make_group(parent, memory_bytes=64 << 20, pids=50)
    names = ("memory.max", "pids.max") if cgroups.is_unified() else ("memory.limit_in_bytes", "pids.max")
    assert (cgroups.group("memory", parent) / names[0]).read_text().strip() == str(64 << 20)
    assert (cgroups.group("pids", parent) / names[1]).read_text().strip() == "50"


def test_processes_below_a_group_are_found_and_killed(parent: str) -> None:
    cgroups.make_group(f"{parent}/inner")
    child = subprocess.Popen(["sleep", "1000"])
    (cgroups.group("pids", f"{parent}/inner") / "cgroup.procs").write_text(str(child.pid))
    assert cgroups.pids_of(parent) == {child.pid}
    cgroups.kill([child.pid])
    child.wait()
    assert wait_for(lambda: not cgroups.pids_of(parent))
    cgroups.kill([child.pid])  # gone already


@pytest.mark.skipif(not cgroups.group("freezer", "/").is_dir(), reason="needs the freezer of cgroup v1")
def test_a_frozen_process_ends_when_it_is_thawed(parent: str) -> None:
    folder = cgroups.group("freezer", f"{parent}/inner")
    folder.mkdir(parents=True)
    child = subprocess.Popen(["sleep", "1000"])
    try:
        (folder / "cgroup.procs").write_text(str(child.pid))
        (folder / "freezer.state").write_text("FROZEN")
        assert wait_for(lambda: (folder / "freezer.state").read_text() == "FROZEN\n")
        cgroups.kill([child.pid])
    finally:
        cgroups.thaw(parent)
    child.wait(60)


def test_removal_is_bottom_up_and_of_what_is_not_there_no_error(parent: str) -> None:
    cgroups.make_group(f"{parent}/a/b")
    cgroups.remove_group(parent)
    assert not cgroups.group("memory", parent).exists()
    cgroups.remove_group(parent)


def test_the_root_cgroup_cannot_be_removed() -> None:
    with pytest.raises(NodeError, match="root cgroup"):
        cgroups.remove_group("/")
