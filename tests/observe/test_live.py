"""Readings of this machine without a daemon."""

import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from evictd.codec.config.kubelet_config import eviction_config
from evictd.commands.explain import this_machine
from evictd.config.settings import Settings
from evictd.core.model.config import Policy
from evictd.core.model.decision import NoActionReason
from evictd.core.model.observation import Filesystems
from evictd.core.model.signal import Signal
from evictd.core.units.duration import SECOND
from evictd.errors import NodeError
from evictd.observe.live import RUNTIME, LiveNode, boot_time, wall_time
from tests.kube.waiting import eventually
from tests.observe.runtime_double import container, sandbox, view

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


def test_the_wall_clock_comes_from_the_time_of_the_boot(tmp_path: Path) -> None:
    assert abs((wall_time(Path("/proc"), boot_time(Path("/proc"))) or 0) - time.time_ns()) < 60 * SECOND
    for text in ("cpu 1 2\nbtime 1700000000\n", "cpu 1 2\n", "btime\n", "btime x\n", "\xff"):
        (tmp_path / "stat").write_text(text, encoding="latin-1")
        assert wall_time(tmp_path, 5) == (1_700_000_000 * SECOND + 5 if "1700000000" in text else None)
    assert wall_time(tmp_path / "none", 5) is None


def test_a_second_reading_is_newer(tmp_path: Path) -> None:
    with LiveNode(_settings(tmp_path)) as node:
        first, second = node.read(), node.read()
    assert second.now >= first.now
    assert first.observation.node is not None
    assert first.observation.pods == ()
    assert [p.source for p in first.observation.problems].count(RUNTIME) == 1


def test_a_kubelet_folder_that_is_not_there_yet(tmp_path: Path) -> None:
    """The nearest existing directory is read instead."""
    with LiveNode(replace(_settings(tmp_path), root_dir=tmp_path / "var" / "lib" / "kubelet")) as node:
        seen = node.read().observation
    assert seen.node is not None
    assert seen.node.fs is not None


@pytest.mark.parametrize(("allowed", "why"), [(False, [NoActionReason.API_PODS_STANDALONE]), (True, [])])
def test_where_evictd_only_reports_no_pod_is_next(
    *, allowed: bool, why: list[NoActionReason], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`explain` named a pod beside a kubelet, which evictd without an API server would not have evicted."""
    of_api = replace(sandbox("a-b"), annotations={"kubernetes.io/config.source": "api"})
    listed = replace(view(container("c", "main")), sandboxes=(of_api,))
    monkeypatch.setattr(LiveNode, "_view", lambda *_: (listed, ()))
    eviction = eviction_config({}, policy=Policy.STANDARD, default_hard=True)
    explained = this_machine(
        replace(_settings(tmp_path), eviction=replace(eviction, allow_api_pods_standalone=allowed))
    )
    assert len(explained.observation.pods) == 1
    for queue in explained.queues:
        assert queue.stop is not None
        assert ([queue.stop.why] if queue.stop.why is NoActionReason.API_PODS_STANDALONE else []) == why


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
        assert all(row.pod.resource_totals.memory_request == 16 * 2**20 * 10**9 for row in queue.rows)
        return [row.name for row in queue.rows if (row.usage or 0) > 2**20]

    # The runtime counts writable layers every ten seconds.
    eventually(lambda: first_for_imagefs() == ["large", "small"], seconds=90)
