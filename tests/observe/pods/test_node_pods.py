"""Pods from sandboxes and manifests: active and static pods, lifecycles, and invalid identities."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evictd.clients.cri.values import ContainerStatus, CriContainer, CriSandbox, LinuxResources, SandboxState
from evictd.codec.pods.manifest import Manifest, decode_manifest
from evictd.core.gc.container_gc import ContainerState, PodLifecycle, evict_pod_log_directories
from evictd.core.model.pod import PodSource
from evictd.core.model.resources import QOSClass
from evictd.observe.pods.manifests import Manifests
from evictd.observe.pods.node_pods import NodePods, described_by, node_pods, qos_class_of
from evictd.observe.runtime.runtime_view import RuntimeView

READY, NOT_READY = SandboxState.READY, SandboxState.NOT_READY
GI = 1 << 30
RUNNING, EXITED, CREATED = ContainerState.RUNNING, ContainerState.EXITED, ContainerState.CREATED
UNKNOWN = ContainerState.UNKNOWN


def sandbox(
    name: str = "web",
    state: SandboxState = READY,
    *,
    uid: str = "",
    sandbox_id: str = "",
    created_at: int = 1,
    namespace: str = "default",
    config: dict[str, str] | None = None,
) -> CriSandbox:
    return CriSandbox(
        id=sandbox_id or f"s-{name}",
        name=name,
        namespace=namespace,
        uid=uid or f"u-{name}",
        attempt=0,
        state=state,
        created_at=created_at,
        labels={},
        annotations={f"kubernetes.io/config.{key}": text for key, text in (config or {}).items()},
    )


def container(
    state: ContainerState = RUNNING,
    pod: str = "web",
    *,
    name: str = "main",
    sandbox_id: str = "",
    **annotations: str,
) -> CriContainer:
    return CriContainer(
        id=f"c-{pod}-{name}-{state.name}",
        sandbox_id=sandbox_id or f"s-{pod}",
        name=name,
        attempt=0,
        image="i",
        image_ref="sha256:i",
        image_id="",
        state=state,
        created_at=1,
        annotations={f"io.kubernetes.pod.{key}": text for key, text in annotations.items()},
    )


def status(of: CriContainer, limit: int, oom_score_adj: int = 0) -> ContainerStatus:
    return ContainerStatus(
        id=of.id, name=of.name, attempt=0, state=of.state, created_at=1, started_at=1, finished_at=0, exit_code=0,
        image="i", image_ref="sha256:i", image_id="", reason="", message="", mounts=(),
        log_path="", resources=LinuxResources(memory_limit_bytes=limit, oom_score_adj=oom_score_adj),
    )  # fmt: skip


def manifest(name: str = "web", **fields: object) -> Manifest:
    metadata: dict[str, object] = {"name": name}
    metadata.update({key: fields.pop(key) for key in ("uid", "annotations", "namespace") if key in fields})
    return decode_manifest({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": fields})


def view(
    *rows: CriSandbox | CriContainer, cgroups: dict[str, str] | None = None, limit: int | None = None
) -> RuntimeView:
    containers = tuple(row for row in rows if isinstance(row, CriContainer))
    return RuntimeView(
        time=0,
        sandboxes=tuple(row for row in rows if isinstance(row, CriSandbox)),
        containers=containers,
        pod_cgroups=cgroups or {},
        statuses={} if limit is None else {row.id: status(row, limit) for row in containers},
    )


def look(
    *rows: CriSandbox | CriContainer,
    manifests: tuple[Manifest, ...] = (),
    evicted: tuple[str, ...] = (),
    node: str = "",
) -> NodePods:
    return node_pods(view(*rows), Manifests(found=manifests), node_name=node, evicted=evicted)


def names(found: NodePods) -> list[str]:
    return [pod.name for pod in found.active]


# --- who is active ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("state", "containers", "active"),
    [
        (READY, [RUNNING], True),
        (READY, [], True),
        (READY, [CREATED], True),
        (READY, [EXITED, RUNNING], True),
        (READY, [EXITED], False),
        (NOT_READY, [], False),
        (NOT_READY, [EXITED], False),
        (NOT_READY, [CREATED], False),
        (NOT_READY, [RUNNING], True),
        (NOT_READY, [UNKNOWN], True),
    ],
)
def test_a_pod_is_active_while_something_of_it_runs_or_is_about_to(
    state: SandboxState, containers: list[ContainerState], *, active: bool
) -> None:
    rows = [container(each, name=f"c{number}") for number, each in enumerate(containers)]
    assert (names(look(sandbox(state=state), *rows)) == ["web"]) is active


def test_pods_are_listed_by_namespace_name_and_uid_and_several_sandboxes_are_one_pod() -> None:
    again = sandbox("web", sandbox_id="s-web-2", uid="u-web", created_at=2)
    found = look(sandbox("zoo"), again, sandbox("web", NOT_READY), sandbox("api", namespace="a"))
    assert names(found) == ["api", "web", "zoo"]


def test_two_generations_of_a_pod_are_two_pods() -> None:
    old = sandbox("web", NOT_READY, uid="old", sandbox_id="s-old")
    found = look(old, container(RUNNING, sandbox_id="s-old"), sandbox("web", uid="new", sandbox_id="s-new"))
    assert [pod.uid for pod in found.active] == ["new", "old"]


# --- what is known of it ----------------------------------------------------------------------------------------------


def test_a_manifest_gives_requests_and_priority() -> None:
    (pod,) = look(sandbox(), container(), manifests=(manifest(priority=5),)).active
    assert (pod.priority, pod.spec_known, pod.uid, pod.phase) == (5, True, "u-web", "Running")


@pytest.mark.parametrize(
    ("found", "row"),
    [
        (manifest(), sandbox("web")),
        (manifest(), sandbox("web-node1")),
        (manifest("else", uid="u7"), sandbox("web", uid="u7")),
        (manifest(annotations={"kubernetes.io/config.hash": "h1"}), sandbox("web", uid="h1")),
        (manifest(uid="h1"), sandbox("web", config={"hash": "h1"})),
        (manifest("else", uid="u7"), sandbox("web", uid="u7", config={"source": "api"})),
    ],
    ids=["name", "name with node", "uid", "hash is uid", "hash annotation", "uid of source api"],
)
def test_a_manifest_is_found_by_uid_hash_or_name(found: Manifest, row: CriSandbox) -> None:
    assert [pod.spec_known for pod in look(row, manifests=(found,), node="Node1").active] == [True]


def test_a_manifest_of_another_uid_or_namespace_is_not_used() -> None:
    others = (manifest(uid="other"), manifest(namespace="kube-system"))
    assert [pod.spec_known for pod in look(sandbox(), manifests=others).active] == [False]


@pytest.mark.parametrize("found", [manifest(priority=2_000_000_000), manifest(uid="h1", priority=2_000_000_000)])
def test_a_pod_of_the_api_server_takes_no_manifest_by_name_or_hash(found: Manifest) -> None:
    """docs/faults.md, 10: its name and its annotations are its author's to choose; the uid is not."""
    forged = sandbox("web", config={"source": "api", "hash": "h1", "mirror": "h1"})
    seen = look(forged, manifests=(found,))
    assert [(pod.spec_known, pod.critical) for pod in seen.active] == [(False, False)]
    assert seen.lifecycles.awaited or "h1" in seen.lifecycles.by_uid  # the static pod of that name is still expected


def test_only_what_a_manifest_describes_is_described() -> None:
    described = described_by(Manifests(found=(manifest(),)), "Node1")
    assert [described(sandbox(name)) for name in ("web", "web-node1", "other")] == [True, True, False]


def test_two_manifests_of_one_name_are_a_problem_and_the_first_counts() -> None:
    found = look(sandbox(), manifests=(manifest(priority=1), manifest(priority=2)))
    assert [pod.priority for pod in found.active] == [1]
    assert [problem.source for problem in found.problems] == ["manifests of default/web"]


def test_without_a_manifest_cgroup_limits_and_annotations_are_used() -> None:
    row = container(RUNNING, terminationGracePeriod="7", deletionGracePeriod="3")
    seen = view(sandbox(), row, cgroups={"u-web": "/kubepods/burstable/podu-web"}, limit=1 << 20)
    (pod,) = node_pods(seen, Manifests()).active
    assert (pod.spec_known, pod.priority, pod.qos_class) == (False, 0, QOSClass.BURSTABLE)
    assert (pod.termination_grace_period_seconds, pod.deletion_grace_period_seconds) == (7, 3)
    assert pod.containers[0].limits["memory"].value() == 1 << 20


@pytest.mark.parametrize(("score", "critical"), [(-999, True), (-997, True), (-996, False), (0, False), (1000, False)])
def test_the_runtimes_oom_score_protects_a_pod_that_only_the_runtime_knows(score: int, *, critical: bool) -> None:
    """docs/faults.md, 9: beside a kubelet, and before the first list, kube-system/calico-node was chosen first."""
    first, second = container(RUNNING), container(RUNNING, name="side")
    seen = RuntimeView(
        time=0,
        sandboxes=(sandbox(config={"source": "api"}),),
        containers=(first, second),
        pod_cgroups={},
        statuses={first.id: status(first, 0), second.id: status(second, 0, score)},
    )
    (pod,) = node_pods(seen, Manifests()).active
    assert (pod.critical, pod.spec_known) == (critical, False)


@pytest.mark.parametrize(
    ("namespace", "cgroup", "critical"),
    [
        ("default", "/kubepods/podu-web", False),
        ("kube-system", "/kubepods/podu-web", True),
        ("default", "/kubepods/burstable/podu-web", True),
    ],
)
def test_a_tenant_cannot_exempt_its_pod_by_making_it_guaranteed(namespace: str, cgroup: str, *, critical: bool) -> None:
    """A Guaranteed pod has the score of critical ones; it goes after all others that are like it, and not never."""
    row = container(RUNNING)
    box = replace(sandbox(config={"source": "api"}), namespace=namespace)
    seen = RuntimeView(
        time=0,
        sandboxes=(box,),
        containers=(row,),
        pod_cgroups={"u-web": cgroup},
        statuses={row.id: status(row, 0, -997)},
    )
    (pod,) = node_pods(seen, Manifests()).active
    assert pod.critical is critical
    assert pod.priority >= 1_000_000_000


@pytest.mark.parametrize(
    ("qos", "score", "capacity", "request_"),
    [
        ("burstable/", 938, 16 * GI, 63 * 16 * GI // 1000),
        ("burstable/", 3, 16 * GI, 16 * GI),
        ("burstable/", 0, 16 * GI, None),
        ("burstable/", 1000, 16 * GI, None),
        ("burstable/", 938, None, None),
        ("besteffort/", 938, 16 * GI, None),
        ("", -997, 16 * GI, GI),
    ],
    ids=[
        "burstable",
        "all of the node",
        "of another creator",
        "best effort's",
        "unknown node",
        "best effort",
        "guaranteed",
    ],
)
def test_the_memory_request_of_a_pod_that_only_the_runtime_knows_is_deduced(
    qos: str, score: int, capacity: int | None, request_: int | None
) -> None:
    """`make soak`: a pod within its request went before those that exceeded theirs, after a restart without the API server."""
    row = container(RUNNING)
    seen = replace(
        view(sandbox(), row, cgroups={"u-web": f"/kubepods/{qos}podu-web"}), statuses={row.id: status(row, GI, score)}
    )
    (pod,) = node_pods(seen, Manifests(), memory_capacity=capacity).active
    requests = pod.containers[0].requests
    assert (requests["memory"].value() if requests else None) == request_


def test_a_grace_period_that_is_no_number_is_unknown() -> None:
    (pod,) = look(sandbox(), container(RUNNING, terminationGracePeriod="²")).active
    assert pod.termination_grace_period_seconds is None


@pytest.mark.parametrize(
    ("annotations", "with_manifest", "source"),
    [
        ({}, False, PodSource.API),
        ({}, True, PodSource.STATIC),
        ({"source": "file"}, False, PodSource.STATIC),
        ({"source": "http"}, True, PodSource.STATIC),
        ({"source": "api"}, True, PodSource.API),
        ({"mirror": "h"}, False, PodSource.API),
        ({"mirror": "h", "source": "api"}, False, PodSource.API),
        ({"mirror": "h", "source": "file"}, False, PodSource.STATIC),
    ],
)
def test_the_sandbox_decides_whether_the_pod_is_static(
    annotations: dict[str, str], source: PodSource, *, with_manifest: bool
) -> None:
    manifests = (manifest(),) if with_manifest else ()
    assert [pod.source for pod in look(sandbox("web", config=annotations), manifests=manifests).active] == [source]


@pytest.mark.parametrize(
    ("cgroup", "qos"),
    [
        ("/kubepods/besteffort/podu", "BestEffort"),
        ("/kubepods/podu", "Guaranteed"),
        ("/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-podu.slice", "Burstable"),
        ("/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-podu.slice", "BestEffort"),
        ("/kubepods.slice/kubepods-podu.slice", "Guaranteed"),
        ("/kubelet/kubepods/burstable/podu", "Burstable"),
        ("/a-kubepods/kubepods/podu", "Guaranteed"),
        ("/a-kubepods/kubepods/burstable/podu", "Burstable"),
        ("/r_t.slice/r_t-kubepods.slice/r_t-kubepods-burstable.slice/r_t-kubepods-burstable-podu.slice", "Burstable"),
        ("/r_t.slice/r_t-kubepods.slice/r_t-kubepods-podu.slice", "Guaranteed"),
        ("/machine.slice/burstable", ""),
        ("", ""),
    ],
)
def test_the_qos_class_is_in_the_cgroup(cgroup: str, qos: str) -> None:
    assert qos_class_of(cgroup) == qos


# --- lifecycles -------------------------------------------------------------------------------------------------------


def test_the_lifecycle_of_each_pod() -> None:
    found = look(
        sandbox("live"), container(RUNNING, "live"),
        sandbox("restarting"), container(EXITED, "restarting"),
        sandbox("dead", NOT_READY),
        sandbox("done"), container(EXITED, "done"),
        sandbox("evicted", NOT_READY),
        sandbox("still-going"), container(RUNNING, "still-going"),
        manifests=(manifest("done", restartPolicy="Never"),),
        evicted=("u-evicted", "u-still-going"),
    )  # fmt: skip
    assert {uid: fate.value for uid, fate in found.lifecycles.by_uid.items()} == {
        "u-live": "active",
        "u-restarting": "active",
        "u-dead": "terminated",
        "u-done": "terminated",
        "u-evicted": "removed",
        "u-still-going": "active",
    }


def test_no_pod_is_removed_while_the_manifests_cannot_be_read() -> None:
    assert not node_pods(view(), Manifests(complete=False)).lifecycles.all_sources_ready


LOGS = ("default_web_u-new", "default_web-node1_u-new", "default_gone_u-gone")


def logs_that_go(*rows: CriSandbox | CriContainer, manifests: tuple[Manifest, ...]) -> tuple[str, ...]:
    return evict_pod_log_directories(LOGS, look(*rows, manifests=manifests, node="Node1").lifecycles)


@pytest.mark.parametrize(
    ("found", "gone"),
    [
        (manifest(), ["default_gone_u-gone"]),
        (manifest("else", uid="u-new"), ["default_gone_u-gone"]),
        (manifest(annotations={"kubernetes.io/config.hash": "u-new"}), ["default_gone_u-gone"]),
        (manifest(uid="another"), list(LOGS)),
    ],
    ids=["by name", "by uid", "by hash", "another"],
)
def test_a_pod_of_a_manifest_exists_before_it_has_a_sandbox(found: Manifest, gone: list[str]) -> None:
    assert logs_that_go(manifests=(found,)) == tuple(gone)


def test_a_running_static_pod_awaits_no_other_pod_of_its_name() -> None:
    old = sandbox("web-node1", NOT_READY, uid="u-old", sandbox_id="old")
    assert logs_that_go(old, manifests=(manifest(),)) == LOGS[2:]
    assert logs_that_go(old, sandbox("web-node1", uid="u-newer"), manifests=(manifest(),)) == LOGS


def test_an_evicted_pod_is_gone_though_a_manifest_describes_it() -> None:
    row = sandbox("web", NOT_READY, uid="u-new")
    evicted = look(row, manifests=(manifest(uid="u-new"),), evicted=("u-new",))
    assert evicted.lifecycles.of("u-new") is PodLifecycle.REMOVED


# --- names that make no sense -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["../../etc", "a/b", "a\nb", "", ".", "..", "-a", "a" * 254, "web\x00", "wéb"])
def test_an_invalid_name_is_one_problem_and_no_pod_is_active(name: str) -> None:
    for row in (sandbox(name, uid="u"), sandbox("a", namespace=name), sandbox("a", uid=name or " ")):
        found = look(row)
        assert found.active == ()
        assert len(found.problems) == 1
        assert "\n" not in found.problems[0].detail
        assert found.lifecycles.of(row.uid) is PodLifecycle.ACTIVE


def test_dots_and_dashes_are_names() -> None:
    assert names(look(sandbox("my.web-1"))) == ["my.web-1"]


def test_a_uid_of_two_pods_is_ignored() -> None:
    found = look(sandbox("a", uid="same"), sandbox("b", uid="same"), sandbox("c"))
    assert names(found) == ["c"]
    assert [problem.source for problem in found.problems] == [
        "pod identity of sandbox 's-a'",
        "pod identity of sandbox 's-b'",
    ]
    assert found.lifecycles.of("same") is PodLifecycle.ACTIVE


@given(st.permutations([sandbox(name) for name in "abcd"] + [container(RUNNING, name) for name in "abcd"]))
def test_the_order_of_the_listing_changes_nothing(rows: list[CriSandbox | CriContainer]) -> None:
    assert names(look(*rows)) == list("abcd")
