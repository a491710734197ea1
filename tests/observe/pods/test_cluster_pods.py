"""The pods that an API server has bound to this node."""

import time
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from evictd.clients.kube.pods import PodSnapshot
from evictd.codec.config.kubelet_config import eviction_config
from evictd.codec.pods.slim_pods import SlimPod
from evictd.config.settings import ClusterSettings, Settings
from evictd.core.gc.container_gc import PodLifecycles
from evictd.core.model.config import Policy
from evictd.core.model.pod import Pod
from evictd.daemon.store.known_pods import KnownPods
from evictd.observe.live import LiveNode
from evictd.observe.pods.active_pods import RuntimePods
from evictd.observe.pods.cluster_pods import SETTLED, ClusterPods, settled_pods, unlisted_problems
from evictd.observe.pods.node_pods import NodePods
from evictd.observe.runtime.runtime_view import RuntimeReader
from evictd.worker import JobQueue
from tests.kube.api_server import ApiServer
from tests.kube.fixtures import api
from tests.kube.objects import pod
from tests.observe.runtime_double import sandbox, view
from tests.recorded_errors import NoErrors
from tests.settings import settings_with

__all__ = ["api"]


def _settings(server: ApiServer) -> ClusterSettings:
    return ClusterSettings(kubeconfig=str(server.kubeconfig()), node_name="n1")


@dataclass
class Listed:
    """An API server that lists these pods; `None` before its first list."""

    pods: tuple[Pod, ...] | None

    @property
    def snapshot(self) -> PodSnapshot:
        listed = {each.uid: SlimPod(pod=each) for each in self.pods or ()}
        return PodSnapshot(pods=listed, synced=self.pods is not None)


WEB = Pod(name="web", namespace="ns", uid="u1", priority=7)
SEEN = Pod(name="web", namespace="ns", uid="u1", spec_known=False)
NEW = Pod(name="new", namespace="ns", uid="u2", spec_known=False)


def _runtime(*pods: Pod) -> RuntimePods:
    """These pods run, and have for long."""
    of_api = {"kubernetes.io/config.source": "api"}
    rows = tuple(replace(sandbox(each.uid), annotations=of_api) for each in pods)
    listing = replace(view(), sandboxes=rows, wall=time.time_ns())
    found = NodePods(active=pods, lifecycles=PodLifecycles(by_uid={}, all_sources_ready=True))
    return RuntimePods(found=found, view=listing, last=listing)


def test_a_pod_that_is_listed_no_more_keeps_its_priority(tmp_path: Path) -> None:
    """Also over a restart: a list without it must not take from the file what an earlier one said."""
    listed = Listed((WEB,))
    jobs = JobQueue(NoErrors())
    source = ClusterPods(listed, frozenset({"own"}), remembered=KnownPods(tmp_path, jobs, NoErrors()))
    assert source.own_pods == {"own"}
    assert source.active(_runtime(SEEN), Policy.STANDARD).pods == (WEB,)
    listed.pods = ()
    assert source.active(_runtime(SEEN, NEW), Policy.STANDARD).pods == (WEB, NEW)
    assert jobs.close()
    again = KnownPods(tmp_path, JobQueue(NoErrors()), NoErrors())
    assert again.completed((SEEN, NEW)) == (WEB, NEW)


def test_before_the_first_list_the_runtimes_pods_are_all_there_is() -> None:
    assert ClusterPods(Listed(None), frozenset()).active(_runtime(SEEN, NEW), Policy.STANDARD).pods == (SEEN, NEW)


def _live_settings(server: ApiServer, folder: Path) -> Settings:
    return settings_with(
        root_dir=folder,
        pod_logs_dir=str(folder),
        container_runtime_endpoint=f"unix://{folder}/none.sock",
        cluster=_settings(server),
    )


@pytest.mark.usefixtures("memory_cgroups")
@pytest.mark.parametrize("uid", ["", "own-uid"])
def test_a_live_node_knows_evictds_own_pod(
    api: ApiServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, uid: str
) -> None:
    """In the DaemonSet `evictd explain` named the pod that it ran in as the next one to go; the daemon never evicts it."""
    monkeypatch.setenv("POD_UID", uid)
    with LiveNode(_live_settings(api, tmp_path)) as node:
        assert node.read().observation.own_pods == ({uid} if uid else set())


@pytest.mark.usefixtures("memory_cgroups")
def test_a_live_node_in_a_cluster(api: ApiServer, tmp_path: Path) -> None:
    """Without a runtime the pods are known all the same; their usage is not."""
    api.store.create("pods", pod("a"))
    with LiveNode(_live_settings(api, tmp_path)) as node:
        assert [each.name for each in node.read().observation.pods] == ["a"]


@pytest.mark.parametrize(("policy", "seen"), [(Policy.STANDARD, ["listed", "web"]), (Policy.KUBELET, ["listed"])])
@pytest.mark.usefixtures("memory_cgroups")
def test_a_live_node_counts_pods_that_run_and_are_not_listed(
    api: ApiServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, policy: Policy, seen: list[str]
) -> None:
    """`explain` left the pod out that the daemon would evict. Another pod's claim to be its mirror hides none."""
    claims = pod("listed", uid="u1", annotations={"kubernetes.io/config.mirror": "u2"})
    api.store.create("pods", claims)
    annotations = {"kubernetes.io/config.source": "api"}
    rows = tuple(replace(sandbox(uid), annotations=annotations) for uid in ("u1", "u2"))
    listing = replace(view(), sandboxes=rows, wall=time.time_ns())
    (tmp_path / "none.sock").touch()
    monkeypatch.setattr(RuntimeReader, "read", lambda *_, **__: listing)
    settings = settings_with(
        root_dir=tmp_path,
        pod_logs_dir=str(tmp_path),
        container_runtime_endpoint=f"unix://{tmp_path}/none.sock",
        cluster=_settings(api),
        eviction=eviction_config({}, policy=policy),
    )
    with LiveNode(settings) as node:
        found = node.read().observation
    assert [each.name for each in found.pods] == seen
    named = [problem.source for problem in found.problems if problem.source == "apiserver/pods"]
    assert named == ["apiserver/pods"] * (policy is Policy.STANDARD)


WALL = 1_700_000_000 * 10**9
OF_API = {"kubernetes.io/config.source": "api"}
POD = Pod(name="web", namespace="ns", uid="u")


@pytest.mark.parametrize(
    ("age", "annotations", "counts"),
    [
        (SETTLED + 1, OF_API, True),
        (SETTLED, OF_API, False),
        (SETTLED + 1, {"kubernetes.io/config.source": "file"}, False),
        (SETTLED + 1, {}, False),
    ],
    ids=["settled", "new", "static", "of another creator"],
)
def test_which_pods_count(age: int, annotations: dict[str, str], counts: bool) -> None:
    row = replace(sandbox("u"), annotations=annotations, created_at=WALL - age)
    listing = replace(view(), sandboxes=(row,), wall=WALL)
    assert settled_pods([POD, replace(POD, uid="v")], listing) == ((POD,) if counts else ())
    assert settled_pods([POD], replace(listing, wall=None)) == ()


def test_five_are_named() -> None:
    """One problem, however many there are."""
    assert unlisted_problems(()) == ()
    (problem,) = unlisted_problems([replace(POD, name=f"p{number}") for number in range(7)])
    assert problem.source == "apiserver/pods"
    assert problem.detail.endswith(": ns/p0, ns/p1, ns/p2, ns/p3, ns/p4 and 2 more")
