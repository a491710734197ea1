"""Readings of this machine without a daemon."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from evictd.clients.cri.values import FilesystemUsage, ImageFsInfo
from evictd.clock import boot_clock, wall_clock
from evictd.codec.config.kubelet_config import eviction_config
from evictd.commands.explain import this_machine
from evictd.config.settings import Settings
from evictd.core.model.config import Policy
from evictd.core.model.finding import NoActionReason
from evictd.core.model.observation import Filesystems, Observation, Outcomes
from evictd.core.model.signal import Signal
from evictd.core.model.state import State
from evictd.daemon.assemble import Assembly
from evictd.daemon.host.liveness import Liveness, SdNotifier
from evictd.daemon.run import roots_of
from evictd.daemon.telemetry.snapshot import LatestSnapshot
from evictd.observe.live import LiveNode
from evictd.observe.reading.observer import RUNTIME, ObserveRequest
from evictd.observe.reading.roots import Roots
from evictd.observe.runtime.runtime_view import RuntimeReader
from evictd.observe.runtime_socket import NO_SOCKET
from tests.kube.waiting import eventually
from tests.observe.runtime_double import container, sandbox, view
from tests.recorded_errors import NoErrors
from tests.settings import settings_with

if TYPE_CHECKING:
    from evictd_testnode.node import DisposableNode


def _settings(path: Path) -> Settings:
    return settings_with(root_dir=path, pod_logs_dir=str(path), container_runtime_endpoint=f"unix://{path}/none.sock")


@pytest.mark.usefixtures("memory_cgroups")
def test_a_second_reading_is_newer(tmp_path: Path) -> None:
    with LiveNode(_settings(tmp_path)) as node:
        first, second = node.read(), node.read()
    assert second.now >= first.now
    assert first.observation.node is not None
    assert first.observation.pods == ()
    (runtime,) = (each for each in first.observation.problems if each.source == RUNTIME)
    assert runtime.detail.endswith(f"none.sock: {NO_SOCKET}")  # as `check` says


@pytest.mark.usefixtures("memory_cgroups")
def test_a_kubelet_folder_that_is_not_there_yet(tmp_path: Path) -> None:
    """The nearest existing directory is read instead."""
    with LiveNode(settings_with(base=_settings(tmp_path), root_dir=tmp_path / "var" / "lib" / "kubelet")) as node:
        seen = node.read().observation
    assert seen.node is not None
    assert seen.node.fs is not None


@pytest.mark.usefixtures("memory_cgroups")
@pytest.mark.parametrize(("cgroup", "named"), [("/", "root"), ("/node-1", "/node-1")])
def test_the_cgroup_that_stands_for_the_node_is_named(tmp_path: Path, cgroup: str, named: str) -> None:
    """`explain` called it the root also where `--node-cgroup` names another one."""
    with LiveNode(_settings(tmp_path), Roots(node_cgroup=cgroup)) as node:
        assert f", {named}, " in node.read().sources[Signal.MEMORY_AVAILABLE]


@pytest.mark.parametrize("listed", [False, True])
@pytest.mark.usefixtures("memory_cgroups")
def test_amounts_are_said_to_be_of_another_folder_only_where_there_are_some(
    *, listed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`explain` without a runtime had no amount of a disk, and said of which folder the amounts were."""
    if listed:
        (tmp_path / "none.sock").touch()
        images = FilesystemUsage(time=1, mountpoint=str(tmp_path), used_bytes=None, inodes_used=None)
        info = ImageFsInfo(image_filesystems=(images,), container_filesystems=())
        monkeypatch.setattr(RuntimeReader, "read", lambda *_, **__: view(image_fs=info))
    explained = this_machine(settings_with(base=_settings(tmp_path), root_dir=tmp_path / "kubelet"))
    said = any("the amounts shown are of" in each.detail for each in explained.observation.problems)
    observed = explained.observation.filesystems.dedicated_image_fs is not None
    assert (said, observed) == (listed, listed)


@pytest.mark.parametrize("allowed", [False, True])
@pytest.mark.usefixtures("memory_cgroups")
def test_where_evictd_only_reports_no_pod_is_next(
    *, allowed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`explain` named a pod beside a kubelet, which evictd without an API server would not have evicted."""
    of_api = replace(sandbox("a-b"), annotations={"kubernetes.io/config.source": "api"})
    listed = replace(view(container("c", "main")), sandboxes=(of_api,))
    (tmp_path / "none.sock").touch()
    monkeypatch.setattr(RuntimeReader, "read", lambda *_, **__: listed)
    eviction = eviction_config({}, policy=Policy.STANDARD)
    explained = this_machine(
        replace(_settings(tmp_path), eviction=replace(eviction, allow_api_pods_standalone=allowed))
    )
    assert len(explained.observation.pods) == 1
    assert explained.queues
    for queue in explained.queues:
        only_reports = queue.stop is not None and queue.stop.why is NoActionReason.API_PODS_STANDALONE
        assert only_reports is not allowed


@pytest.mark.root
@pytest.mark.containerd
def test_the_pods_of_a_real_runtime(node: "DisposableNode") -> None:
    """The pod whose writable layer is larger would go first, and its requests come from its manifest."""
    from evictd_testnode.pods import READY, ContainerRecipe, PodRecipe

    fill = f"dd if=/dev/zero of=/fill bs=1M count={{}} 2>/dev/null; trap 'exit 0' TERM; {READY}; sleep 100000 & wait"
    requests = {"memory": "16Mi", "ephemeral-storage": "1Mi"}
    for name, size in (("small", 2), ("large", 9)):
        node.run_pod(PodRecipe(name=name, containers=(ContainerRecipe(script=fill.format(size), requests=requests),)))
    settings = settings_with(
        container_runtime_endpoint=node.endpoint,
        root_dir=node.kubelet_folder,
        pod_logs_dir=str(node.log_folder),
        static_pod_path=str(node.manifests),
        cgroup_root=node.cgroup,
        eviction=eviction_config({}, policy=Policy.STANDARD),
    )

    def first_for_imagefs() -> list[str]:
        explained = this_machine(settings)
        assert explained.observation.filesystems == Filesystems(dedicated_image_fs=True, split_container_fs=False)
        queue = next(queue for queue in explained.queues if Signal.IMAGEFS_AVAILABLE in queue.signals)
        assert all(row.pod.resource_totals.memory_request == 16 * 2**20 * 10**9 for row in queue.rows)
        return [row.name for row in queue.rows if (row.usage or 0) > 2**20]

    # The runtime counts writable layers every ten seconds.
    eventually(lambda: first_for_imagefs() == ["large", "small"], seconds=90)


MOVING = {"time", "disk_time", "layers_time", "usage_bytes", "working_set_bytes", "psi", "process_count"}
"""Fields of pods that differ between two readings of an unchanged node: compared by whether they are there."""
STEADY = {"name", "capacity_bytes", "inodes", "max_pid", "read_only"}
"""Fields of the node that do not. Rates are left out: whether there is one depends on the time between two readings."""


def moves(path: str) -> bool:
    name = path.rpartition(".")[2]
    return name not in STEADY if path.startswith(".node.") else name in MOVING


def facts(value: object, path: str = "") -> Iterator[tuple[str, object]]:
    """Flatten a value of the core to its leaves by their paths."""
    if is_dataclass(value):
        for each in fields(value):
            yield from facts(getattr(value, each.name), f"{path}.{each.name}")
    elif hasattr(value, "_asdict"):
        yield from facts(value._asdict(), path)
    elif isinstance(value, Mapping):
        for key, item in sorted(value.items(), key=lambda pair: str(pair[0])):
            yield from facts(item, f"{path}.{key}")
    elif isinstance(value, tuple):
        for place, item in enumerate(value):
            yield from facts(item, f"{path}.{place}")
    elif not path.endswith("fill_rate"):
        yield path, value is not None if moves(path) else value


@pytest.mark.root
@pytest.mark.containerd
def test_explain_and_the_daemon_see_the_same_node(node: "DisposableNode", tmp_path: Path) -> None:
    """Field by field: pods, volumes, a deleted file that is still open, layers, filesystems, problems."""
    from evictd_testnode.pods import READY, ContainerRecipe, PodRecipe, VolumeRecipe

    write = "dd if=/dev/zero of={} bs=1M count={} 2>/dev/null"
    script = f"{write.format('/data/file', 3)}; {write.format('/layer', 2)}; exec 3>/data/gone; rm /data/gone; "
    script += f"{write.format('/dev/fd/3', 4)}; trap 'exit 0' TERM; {READY}; sleep 100000 & wait"
    container = ContainerRecipe(script=script, requests={"memory": "16Mi"})
    pod = node.run_pod(PodRecipe(name="web", containers=(container,), volumes=(VolumeRecipe(name="data"),)))
    settings = settings_with(
        container_runtime_endpoint=node.endpoint,
        image_service_endpoint=node.endpoint,
        root_dir=node.kubelet_folder,
        pod_logs_dir=str(node.log_folder),
        static_pod_path=str(node.manifests),
        state_directory=tmp_path,
        cgroup_root=node.cgroup,
        eviction=eviction_config({}, policy=Policy.STANDARD),
    )
    quiet: Any = NoErrors()
    with ExitStack() as stack:
        liveness = Liveness(SdNotifier(), LatestSnapshot())
        observer = Assembly(settings, roots_of(settings), quiet, stack, liveness).node.observer
        live = stack.enter_context(LiveNode(settings))

        def pair() -> tuple[Observation, Observation]:
            now, wall = boot_clock(), wall_clock()
            request = ObserveRequest(
                now=now, wall=wall, state=State(), config=settings.eviction, outcomes=Outcomes(), problems=()
            )
            return observer.observe(request).observation, live.read().observation

        def settled() -> bool:
            """The daemon walks in the background, and the runtime reads layers every ten seconds."""
            return all(
                (stats := seen.pod_stats.get(pod.uid)) is not None
                and stats.disk_time is not None
                and (layer := stats.containers[0].rootfs) is not None
                and (layer.used_bytes or 0) >= 2 << 20
                for seen in pair()
            )

        eventually(settled, seconds=90)
        of_daemon, of_explain = (dict(facts(seen)) for seen in pair())
    assert of_explain == {**of_daemon, ".node.name": ""}
    assert of_daemon[f".pod_stats.{pod.uid}.volumes.0.used_bytes"] == 3 << 20
    deleted = of_daemon[f".pod_stats.{pod.uid}.deleted_local.used_bytes"]
    assert isinstance(deleted, int)
    assert deleted >= 4 << 20
