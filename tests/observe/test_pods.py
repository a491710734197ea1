"""Pods from sandboxes and manifests: who is active, who is static, whose fate is what, and who is left alone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evictd.clients.cri.values import (
    Container,
    ContainerState,
    ContainerStatus,
    LinuxResources,
    Sandbox,
    SandboxState,
)
from evictd.codec.manifest import Manifest, decode_manifest
from evictd.core.container_gc import PodFate, evict_pod_log_directories
from evictd.core.pod import PodSource
from evictd.core.qos import QOSClass
from evictd.observe.manifests import Manifests
from evictd.observe.pods import NodePods, active_pods, described_by, node_pods, qos_class_of
from evictd.observe.runtime_view import RuntimeView

READY, NOT_READY = SandboxState.READY, SandboxState.NOT_READY
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
) -> Sandbox:
    return Sandbox(
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
    state: ContainerState = RUNNING, pod: str = "web", *, name: str = "main", sandbox_id: str = "", **annotations: str
) -> Container:
    return Container(
        id=f"c-{pod}-{name}-{state.name}",
        sandbox_id=sandbox_id or f"s-{pod}",
        name=name,
        attempt=0,
        image="i",
        image_ref="sha256:i",
        image_id="",
        state=state,
        created_at=1,
        labels={},
        annotations={f"io.kubernetes.pod.{key}": text for key, text in annotations.items()},
    )


def status(of: Container, limit: int) -> ContainerStatus:
    return ContainerStatus(
        id=of.id, name=of.name, attempt=0, state=of.state, created_at=1, started_at=1, finished_at=0, exit_code=0,
        image="i", image_ref="sha256:i", image_id="", reason="", message="", labels={}, annotations={}, mounts=(),
        log_path="", resources=LinuxResources(memory_limit_bytes=limit),
    )  # fmt: skip


def manifest(name: str = "web", **fields: object) -> Manifest:
    metadata: dict[str, object] = {"name": name}
    metadata.update({key: fields.pop(key) for key in ("uid", "annotations", "namespace") if key in fields})
    return decode_manifest({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": fields})


def view(*rows: Sandbox | Container, cgroups: dict[str, str] | None = None, limit: int | None = None) -> RuntimeView:
    containers = tuple(row for row in rows if isinstance(row, Container))
    return RuntimeView(
        time=0,
        sandboxes=tuple(row for row in rows if isinstance(row, Sandbox)),
        containers=containers,
        pod_cgroups=cgroups or {},
        statuses={} if limit is None else {row.id: status(row, limit) for row in containers},
    )


def look(
    *rows: Sandbox | Container, manifests: tuple[Manifest, ...] = (), evicted: tuple[str, ...] = (), node: str = ""
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


def test_a_manifest_tells_requests_and_priority() -> None:
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
    ],
    ids=["name", "name with node", "uid", "hash is uid", "hash annotation"],
)
def test_a_manifest_is_found_by_uid_hash_or_name(found: Manifest, row: Sandbox) -> None:
    assert [pod.spec_known for pod in look(row, manifests=(found,), node="Node1").active] == [True]


def test_a_manifest_of_another_uid_or_namespace_is_not_its() -> None:
    others = (manifest(uid="other"), manifest(namespace="kube-system"))
    assert [pod.spec_known for pod in look(sandbox(), manifests=others).active] == [False]


def test_only_what_a_manifest_describes_is_described() -> None:
    described = described_by(Manifests(found=(manifest(),)), "Node1")
    assert [described(sandbox(name)) for name in ("web", "web-node1", "other")] == [True, True, False]


def test_two_manifests_of_one_name_are_a_problem_and_the_first_counts() -> None:
    found = look(sandbox(), manifests=(manifest(priority=1), manifest(priority=2)))
    assert [pod.priority for pod in found.active] == [1]
    assert [problem.source for problem in found.problems] == ["manifests"]


def test_without_a_manifest_cgroup_limits_and_annotations_tell_a_little() -> None:
    row = container(RUNNING, terminationGracePeriod="7", deletionGracePeriod="3")
    seen = view(sandbox(), row, cgroups={"u-web": "/kubepods/burstable/podu-web"}, limit=1 << 20)
    (pod,) = active_pods(seen, Manifests())
    assert (pod.spec_known, pod.priority, pod.qos_class) == (False, 0, QOSClass.BURSTABLE)
    assert (pod.termination_grace_period_seconds, pod.deletion_grace_period_seconds) == (7, 3)
    assert pod.containers[0].limits["memory"].value() == 1 << 20


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
        ({"mirror": "h"}, False, PodSource.MIRROR),
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


# --- fates ------------------------------------------------------------------------------------------------------------


def test_the_fate_of_each_pod() -> None:
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
    assert {uid: fate.value for uid, fate in found.fates.by_uid.items()} == {
        "u-live": "active",
        "u-restarting": "active",
        "u-dead": "terminated",
        "u-done": "terminated",
        "u-evicted": "removed",
        "u-still-going": "active",
    }


def test_nobody_is_gone_while_the_manifests_cannot_be_read() -> None:
    assert not node_pods(view(), Manifests(complete=False)).fates.all_sources_ready


LOGS = ("default_web_u-new", "default_web-node1_u-new", "default_gone_u-gone")


def logs_that_go(*rows: Sandbox | Container, manifests: tuple[Manifest, ...]) -> tuple[str, ...]:
    return evict_pod_log_directories(LOGS, look(*rows, manifests=manifests, node="Node1").fates)


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


def test_a_static_pod_that_is_up_awaits_nobody_else_of_its_name() -> None:
    old = sandbox("web-node1", NOT_READY, uid="u-old", sandbox_id="old")
    assert logs_that_go(old, manifests=(manifest(),)) == LOGS[2:]
    assert logs_that_go(old, sandbox("web-node1", uid="u-newer"), manifests=(manifest(),)) == LOGS


def test_an_evicted_pod_is_gone_though_a_manifest_describes_it() -> None:
    row = sandbox("web", NOT_READY, uid="u-new")
    evicted = look(row, manifests=(manifest(uid="u-new"),), evicted=("u-new",))
    assert evicted.fates.of("u-new") is PodFate.REMOVED


# --- names that make no sense -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["../../etc", "a/b", "a\nb", "", ".", "..", "-a", "a" * 254, "web\x00", "wéb"])
def test_a_name_that_is_none_is_one_problem_and_nobody_is_touched(name: str) -> None:
    for row in (sandbox(name, uid="u"), sandbox("a", namespace=name), sandbox("a", uid=name or " ")):
        found = look(row)
        assert found.active == ()
        assert len(found.problems) == 1
        assert "\n" not in found.problems[0].detail
        assert found.fates.of(row.uid) is PodFate.ACTIVE


def test_dots_and_dashes_are_names() -> None:
    assert names(look(sandbox("my.web-1"))) == ["my.web-1"]


def test_one_uid_of_two_pods_is_left_alone() -> None:
    found = look(sandbox("a", uid="same"), sandbox("b", uid="same"), sandbox("c"))
    assert names(found) == ["c"]
    assert [problem.source for problem in found.problems] == ["pod identity"] * 2
    assert found.fates.of("same") is PodFate.ACTIVE


@given(st.permutations([sandbox(name) for name in "abcd"] + [container(RUNNING, name) for name in "abcd"]))
def test_the_order_of_the_listing_changes_nothing(rows: list[Sandbox | Container]) -> None:
    assert names(look(*rows)) == list("abcd")
