"""This machine, looked at without a daemon."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from evictd.codec.kubelet_config import eviction_config
from evictd.config.settings import Settings
from evictd.core.config import Policy
from evictd.core.observation import Filesystems
from evictd.core.signal import Signal
from evictd.errors import InputError, NodeError
from evictd.offline.explain import this_machine
from evictd.offline.live import RUNTIME, LiveNode, boot_time, load_yaml
from tests.kube.waiting import eventually

if TYPE_CHECKING:
    from evictd.demo.node import DisposableNode


def _settings(path: Path) -> Settings:
    return Settings(root_dir=path, pod_logs_dir=path, container_runtime_endpoint=f"unix://{path}/none.sock")


def test_time_comes_from_uptime(tmp_path: Path) -> None:
    (tmp_path / "uptime").write_text("12.34 5.67\n")
    assert boot_time(tmp_path) == 12_340_000_000


@pytest.mark.parametrize("text", ["", "soon 1", "\xff"])
def test_an_uptime_that_makes_no_sense(text: str, tmp_path: Path) -> None:
    (tmp_path / "uptime").write_text(text, encoding="latin-1")
    with pytest.raises(NodeError, match="uptime"):
        boot_time(tmp_path)


def test_looking_twice_moves_on(tmp_path: Path) -> None:
    with LiveNode(_settings(tmp_path)) as node:
        first, second = node.look(), node.look()
    assert second.now >= first.now
    assert first.observation.node is not None
    assert first.observation.pods == ()
    assert [p.source for p in first.observation.problems].count(RUNTIME) == 1


def test_a_kubelet_folder_that_is_not_there_yet(tmp_path: Path) -> None:
    """What would hold it is looked at instead."""
    with LiveNode(replace(_settings(tmp_path), root_dir=tmp_path / "var" / "lib" / "kubelet")) as node:
        seen = node.look().observation
    assert seen.node is not None
    assert seen.node.fs is not None


def test_manifests_in_yaml() -> None:
    assert load_yaml("a: [1]\n") == {"a": [1]}
    assert load_yaml("") is None
    with pytest.raises(InputError, match="twice"):
        load_yaml("a: 1\na: 2\n")


@pytest.mark.root
@pytest.mark.containerd
def test_the_pods_of_a_real_runtime(node: "DisposableNode") -> None:
    """The pod whose writable layer is larger would go first, and its requests come from its manifest."""
    from evictd.demo.pods import READY, ContainerRecipe, PodRecipe

    fill = f"dd if=/dev/zero of=/fill bs=1M count={{}} 2>/dev/null; trap 'exit 0' TERM; {READY}; sleep 100000 & wait"
    requests = {"memory": "16Mi", "ephemeral-storage": "1Mi"}
    for name, size in (("small", 2), ("large", 9)):
        node.run_pod(PodRecipe(name=name, containers=(ContainerRecipe(script=fill.format(size), requests=requests),)))
    settings = Settings(
        container_runtime_endpoint=node.endpoint,
        root_dir=node.kubelet_folder,
        pod_logs_dir=node.log_folder,
        static_pod_path=node.manifests,
        cgroup_root=node.cgroup,
        eviction=eviction_config({}, policy=Policy.STANDARD, default_hard=True),
    )

    def first_for_imagefs() -> list[str]:
        explained = this_machine(settings)
        assert explained.observation.filesystems == Filesystems(dedicated_image_fs=True, split_container_fs=False)
        queue = next(queue for queue in explained.queues if Signal.IMAGEFS_AVAILABLE in queue.signals)
        assert all(row.pod.accounts.memory_request == 16 * 2**20 * 10**9 for row in queue.rows)
        return [row.name for row in queue.rows if (row.usage or 0) > 2**20]

    # The runtime counts writable layers every ten seconds.
    eventually(lambda: first_for_imagefs() == ["large", "small"], seconds=90)
