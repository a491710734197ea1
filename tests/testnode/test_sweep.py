"""What a killed run leaves behind is found and removed, and what is in use is not touched."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from tempfile import gettempdir

import pytest

from evictd.errors import NodeError
from evictd_testnode.binaries import Binaries
from evictd_testnode.cgroups import group, make_group, pids_of
from evictd_testnode.disks import mounts_below
from evictd_testnode.node import DisposableNode
from evictd_testnode.pods import PodRecipe
from evictd_testnode.sweep import PREFIX, leftovers, note_missing_run_folders, remove_node, shim_sockets, sweep
from evictd_testnode.tool import command_line, process_ids, start_time, wait_for

pytestmark = [pytest.mark.root, pytest.mark.containerd]

HARNESS = """
import sys, time
from evictd_testnode.binaries import default_cache
from evictd_testnode.disks import DiskKind, DiskRecipe
from evictd_testnode.node import DisposableNode, NodeRecipe
from evictd_testnode.pods import IGNORE_TERM, ContainerRecipe, PodRecipe, VolumeRecipe
from tests.binaries import node_binaries
node = DisposableNode(NodeRecipe(
    binaries=node_binaries(default_cache()),
    node_disk=DiskRecipe(kind=DiskKind.EXT4),
    image_disk=DiskRecipe(),
    private=sys.argv[1] == "private",
))
for number in range(2):
    node.run_pod(PodRecipe(
        name=f"pod-{number}",
        containers=(ContainerRecipe(script=IGNORE_TERM),),
        volumes=(VolumeRecipe(name="mem", medium="Memory"),),
    ))
print(node.folder, flush=True)
time.sleep(1000)
"""


@pytest.mark.parametrize("mode", ["private", "plain"])
def test_nothing_is_left_of_a_run_that_was_killed(binaries: Binaries, mode: str) -> None:
    harness = subprocess.Popen([sys.executable, "-c", HARNESS, mode], stdout=subprocess.PIPE, text=True)
    assert harness.stdout is not None
    with harness.stdout:
        folder = Path(harness.stdout.readline().strip())
    assert folder.name.startswith(PREFIX)
    assert pids_of(f"/{folder.name}")
    assert folder.name not in sweep(), "the run is alive, and its node not ours to remove"
    harness.send_signal(signal.SIGKILL)
    harness.wait()
    if mode == "private":
        assert wait_for(lambda: not pids_of(f"/{folder.name}")), "the namespace did not take its containers with it"
    sockets = [path for path in shim_sockets(folder) if path.exists()]
    assert mode == "private" or sockets
    swept = sweep()
    assert folder.name in swept or not folder.exists()  # another session's sweep may have come first
    assert wait_for(lambda: leftovers(folder) == []), leftovers(folder)
    assert not any(path.exists() for path in sockets)
    assert mounts_below(folder) == []


def test_a_group_without_its_folder_is_swept_too() -> None:
    pid = os.getpid()
    name = f"{PREFIX}{pid}-{(start_time(pid) or 0) - 1}-orphan"  # this pid, but an earlier process
    make_group(f"/{name}/inner")
    sweep()
    assert wait_for(lambda: not group("memory", f"/{name}").exists())  # another session's sweep may have come first


@pytest.mark.parametrize("made_by_it", [True, False])
def test_the_folder_of_the_shims_sockets_goes_only_with_the_node_that_made_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, made_by_it: bool
) -> None:
    """An empty `/run/containerd` may be another containerd's that starts just now."""
    sockets = tmp_path / "containerd" / "s"
    monkeypatch.setattr("evictd_testnode.sweep._SHIM_SOCKETS", sockets)
    folder = Path(gettempdir()) / f"{PREFIX}{os.getpid()}-0-shims"
    folder.mkdir()
    if made_by_it:
        note_missing_run_folders(folder)
    sockets.mkdir(parents=True)
    remove_node(folder)
    assert sockets.parent.exists() is not made_by_it
    assert not folder.exists()


def test_a_node_in_use_is_not_touched(node: DisposableNode) -> None:
    pod = node.run_pod(PodRecipe(name="web"))
    assert node.folder.name not in sweep()
    assert pids_of(pod.cgroup_parent)
    assert node.client.list_containers()


@pytest.mark.parametrize("name", ["", "evictd-node", "evictd-node-1-2-", "evictd-node-x-2-abc", "etc"])
def test_a_folder_of_another_name_is_never_removed(name: str) -> None:
    with pytest.raises(NodeError, match="is not the folder of a disposable node"):
        remove_node(Path(gettempdir()) / name)


# --- the cleanup process -----------------------------------------------------------------------------------------------

OWNER = """
import os, time
from evictd_testnode.cgroups import make_group
from evictd_testnode.sweep import PREFIX, start_cleanup_process
from evictd_testnode.tool import start_time
start_cleanup_process()
name = f"{PREFIX}{os.getpid()}-{start_time(os.getpid())}-watched"
make_group(f"/{name}/inner")
print(name, flush=True)
time.sleep(1000)
"""


def cleanup_processes(owner: int) -> list[int]:
    found = ((pid, command_line(pid)) for pid in process_ids())
    return [pid for pid, argv in found if argv[1:4] == ["-m", "evictd_testnode.sweep", str(owner)]]


def test_the_node_of_a_run_killed_with_its_process_group_is_removed() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", OWNER], stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as owner:
        assert owner.stdout is not None
        name = owner.stdout.readline().strip()
        assert wait_for(lambda: len(cleanup_processes(owner.pid)) == 1)
        assert group("memory", f"/{name}").exists()
        os.killpg(owner.pid, signal.SIGKILL)
        # The owner is a zombie until this test waits for it; `start_time` must count that as ended.
        assert wait_for(lambda: not group("memory", f"/{name}").exists(), seconds=60)
        assert wait_for(lambda: not cleanup_processes(owner.pid), seconds=60)
