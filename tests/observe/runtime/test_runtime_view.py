"""Listing a runtime: real containerd of every available version, and unusual responses."""

import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from evictd.clients.cri.client import CriClient
from evictd.clients.cri.values import ContainerStatus, CriContainer, SandboxState, SandboxStatus
from evictd.core.gc.container_gc import ContainerState
from evictd.core.model.pod import PodSource
from evictd.core.model.resources import Container, QOSClass
from evictd.errors import RuntimeRefusedError, RuntimeUnavailableError
from evictd.observe.pods.manifests import ManifestReader
from evictd.observe.pods.node_pods import described_by, node_pods
from evictd.observe.runtime import runtime_view
from evictd.observe.runtime.runtime_view import (
    RuntimeReader,
    expand_slice,
    running_ids,
    running_uids,
    sandbox_pod_cgroup,
    sidecar_ids,
    with_known_layers,
)
from evictd_testnode.node import DisposableNode
from evictd_testnode.pods import ContainerRecipe, PodRecipe
from tests.act.test_standalone import VIEW
from tests.daemon.world import HOG
from tests.observe.runtime_double import container, stats, view
from tests.threads import no_thread_to_give

real = [pytest.mark.root, pytest.mark.containerd]


@pytest.mark.parametrize(
    ("path", "cgroup"),
    [
        ("/kubepods/burstable/pod1/abc", "/kubepods/burstable/pod1"),
        ("/evictd-1/kubepods/pod1/abc", "/evictd-1/kubepods/pod1"),
        (
            "kubepods-burstable-pod1_2.slice:cri-containerd:abc",
            "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1_2.slice",
        ),
        ("system.slice:runc:abc", "/system.slice"),
        ("/abc", None),
        ("abc", None),
        ("", None),
        (None, None),
        ("/a/../../etc/abc", None),
        ("/a//abc", None),
        ("/a\n/abc", None),
        ("../x.slice:a:b", None),
        ("a--b.slice:a:b", None),
        (":a:b", None),
    ],
)
def test_a_pods_cgroup_is_the_parent_of_its_sandboxs(path: str | None, cgroup: str | None) -> None:
    assert sandbox_pod_cgroup(path) == cgroup


def test_the_path_of_a_slice_follows_from_its_name() -> None:
    assert expand_slice("a-b-c.slice") == "/a.slice/a-b.slice/a-b-c.slice"
    assert expand_slice("a.service") is None


class CountingClient(CriClient):
    """A client that counts the requests of single ids, and can refuse them."""

    def __init__(self, endpoint: str) -> None:
        super().__init__(endpoint)
        self.asked: Counter[str] = Counter()
        self.refuses = False

    def sandbox_status(self, sandbox_id: str, *, verbose: bool = False) -> SandboxStatus:
        self.asked["sandbox"] += 1
        if self.refuses:
            raise RuntimeRefusedError("PodSandboxStatus: UNKNOWN: not today")
        return super().sandbox_status(sandbox_id, verbose=verbose)

    def container_status(self, container_id: str, *, verbose: bool = False) -> ContainerStatus:
        self.asked["container"] += 1
        return super().container_status(container_id, verbose=verbose)


class TestOnContainerd:
    """With pods of a real runtime."""

    pytestmark = real

    def test_pods_are_found_with_cgroup_requests_and_source(self, each_node: DisposableNode) -> None:
        limited = ContainerRecipe(requests={"memory": "16Mi"}, limits={"memory": "32Mi"})
        web = each_node.run_pod(PodRecipe(name="web", containers=(limited,), priority=5))
        static = each_node.run_pod(PodRecipe(name="static", source="file"))
        bare = each_node.run_pod(PodRecipe(name="bare", manifest=False, containers=(limited,)))
        view = RuntimeReader(each_node.client).read(0)
        pods = {pod.name: pod for pod in node_pods(view, ManifestReader(each_node.manifests).read()).active}
        assert view.problems == ()
        assert view.pod_cgroups == {pod.uid: pod.cgroup_parent for pod in (web, static, bare)}
        assert (pods["web"].priority, pods["web"].source, pods["web"].spec_known) == (5, PodSource.API, True)
        assert pods["static"].source is PodSource.STATIC
        assert (pods["bare"].qos_class, pods["bare"].spec_known) == (QOSClass.BURSTABLE, False)
        assert pods["bare"].containers[0].limits["memory"].value() == 32 << 20
        assert pods["bare"].termination_grace_period_seconds == 30

    def test_statistics_and_image_filesystem_come_along_where_they_are_wanted(self, each_node: DisposableNode) -> None:
        pod = each_node.run_pod(PodRecipe(name="web"))
        reader = RuntimeReader(each_node.client)
        view = reader.read(0)
        assert view.stats is not None
        assert pod.container_id in view.stats
        assert view.image_fs is not None
        bare = reader.read(0, with_stats=False)
        assert bare.stats is None
        assert bare.image_fs is not None
        assert reader.read(0, with_image_fs=False).image_fs is None

    def test_what_cannot_change_is_asked_once(self, each_node: DisposableNode) -> None:
        with CountingClient(each_node.endpoint) as client:
            reader = RuntimeReader(client)
            first = each_node.run_pod(PodRecipe(name="first"))
            reader.read(0)
            reader.read(1)
            assert client.asked == {"sandbox": 1, "container": 1}
            each_node.remove_pod(first)
            each_node.run_pod(PodRecipe(name="second"))
            view = reader.read(2)
        assert client.asked == {"sandbox": 2, "container": 2}
        assert len(view.pod_cgroups) == len(view.statuses) == 1

    def test_containers_of_a_pod_that_is_described_elsewhere_are_not_asked_about(
        self, each_node: DisposableNode
    ) -> None:
        each_node.run_pod(PodRecipe(name="web"))
        bare = each_node.run_pod(PodRecipe(name="bare", manifest=False))
        described = described_by(ManifestReader(each_node.manifests).read())
        view = RuntimeReader(each_node.client).read(0, with_stats=False, described=described)
        assert view.statuses.keys() == {bare.container_id}
        assert len(view.pod_cgroups) == 2

    def test_a_refused_status_is_one_problem_and_requested_again(self, each_node: DisposableNode) -> None:
        pod = each_node.run_pod(PodRecipe(name="web"))
        with CountingClient(each_node.endpoint) as client:
            reader = RuntimeReader(client)
            client.refuses = True
            view = reader.read(0)
            assert [problem.detail for problem in view.problems] == ["PodSandboxStatus: UNKNOWN: not today"]
            assert view.pod_cgroups == {}
            client.refuses = False
            assert reader.read(1).pod_cgroups == {pod.uid: pod.cgroup_parent}

    def test_an_answer_about_another_id_is_a_problem_and_never_believed(self, each_node: DisposableNode) -> None:
        class Confused(CriClient):
            """Answers every question with the same pod."""

            def sandbox_status(self, sandbox_id: str, *, verbose: bool = False) -> SandboxStatus:
                del sandbox_id
                return super().sandbox_status(first.sandbox_id, verbose=verbose)

        first, second = (each_node.run_pod(PodRecipe(name=name)) for name in ("first", "second"))
        with Confused(each_node.endpoint) as client:
            view = RuntimeReader(client).read(0, with_stats=False)
        assert view.pod_cgroups == {first.uid: first.cgroup_parent}
        assert [problem.source for problem in view.problems] == [f"sandbox {second.sandbox_id[:12]!r}"]

    def test_ids_that_vanish_between_list_and_status_are_no_problem(self, each_node: DisposableNode) -> None:
        class Late(CriClient):
            """Answers with the list of a moment ago."""

            def list_sandboxes(self, uid: str = "") -> Any:
                return old_sandboxes

            def list_containers(self, uid: str = "") -> Any:
                return old_containers

        pod = each_node.run_pod(PodRecipe(name="web"))
        old_sandboxes, old_containers = each_node.client.list_sandboxes(), each_node.client.list_containers()
        each_node.remove_pod(pod)
        with Late(each_node.endpoint) as client:
            view = RuntimeReader(client).read(0)
        assert len(view.sandboxes) == len(view.containers) == 1
        assert (view.pod_cgroups, view.statuses, view.problems) == ({}, {}, ())


def test_no_answer_is_never_an_empty_node() -> None:
    with CriClient("unix:///nonexistent/runtime.sock") as client, pytest.raises(RuntimeUnavailableError):
        RuntimeReader(client).read(0)


def row(number: int) -> CriContainer:
    return container(f"c{number}", f"c{number}", sandbox_id="gone")


class Slow:
    """A runtime with these containers, that describes only so many of them before the test lets it go on."""

    def __init__(self, containers: int, *, quick: int) -> None:
        self.containers = tuple(row(number) for number in range(containers))
        self.asked: list[str] = []
        self.quick = quick
        self.go_on = threading.Event()

    def list_sandboxes(self) -> Any:
        return ()

    def list_containers(self) -> Any:
        return self.containers

    def list_container_stats(self) -> Any:
        return ()

    def image_fs_info(self) -> Any:
        return None

    def sandbox_status(self, sandbox_id: str, *, verbose: bool) -> Any:
        raise AssertionError(f"there is no sandbox {sandbox_id}")

    def container_status(self, container_id: str) -> Any:
        self.asked.append(container_id)
        if len(self.asked) > self.quick:
            self.go_on.wait(60)
        return SimpleNamespace(id=container_id)


def test_a_slow_runtime_ends_the_reading_and_the_next_one_requests_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    runtime: Any = Slow(100, quick=10)

    class Pool(ThreadPoolExecutor):
        """Lets the runtime continue as soon as no caller waits for the rest."""

        def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
            super().shutdown(wait=False, cancel_futures=cancel_futures)
            runtime.go_on.set()
            super().shutdown(wait=wait)

    monkeypatch.setattr(runtime_view, "ThreadPoolExecutor", Pool)
    monkeypatch.setattr(runtime_view, "PATIENCE_SECONDS", 0.05)
    reader = RuntimeReader(runtime)
    with pytest.raises(RuntimeUnavailableError, match=r"container statuses: \d+ of 100"):
        reader.read(0)
    asked = set(runtime.asked)
    assert len(asked) <= 14  # the quick ones, and what was under way
    monkeypatch.setattr(runtime_view, "PATIENCE_SECONDS", 60)
    runtime.asked.clear()
    view = reader.read(1)
    assert len(view.statuses) == 100
    assert asked.isdisjoint(runtime.asked)


def test_a_reading_reports_each_step() -> None:
    runtime: Any = Slow(3, quick=3)
    steps: list[int] = []
    alive = SimpleNamespace(sign_of_life=lambda: steps.append(len(runtime.asked)))
    RuntimeReader(runtime, alive=alive).read(0)
    assert steps == [0, 0, 0, 0, 3, 3]


def test_a_node_without_a_free_thread_is_read_in_turn() -> None:
    """PIDs run out on the very nodes on which a pod has to go for it; `tests/faults/test_out_of_pids.py` has the real client."""
    runtime: Any = Slow(5, quick=5)
    with no_thread_to_give():
        assert len(RuntimeReader(runtime).read(0).statuses) == 5
    assert sorted(runtime.asked) == [row(number).id for number in range(5)]


def test_missing_layers_are_those_of_the_last_statistics() -> None:
    both = (container("c1", "main"), container("c2", "side"))
    told = {"c1": stats(100, 1, memory=5, time=3), "c2": stats(200, 2, time=3), "gone": stats(9, 9, time=3)}
    last = view(*both, stats=told)
    failed = with_known_layers(view(*both), last).stats
    assert failed is not None
    assert failed == {"c1": replace(told["c1"], memory=None), "c2": told["c2"]}
    restarted = view(*both, stats={"c1": stats(None, None, memory=7, time=0), "c2": stats(300, 3, time=9)})
    filled = with_known_layers(restarted, last).stats
    assert filled is not None
    assert filled["c1"] == stats(100, 1, memory=7, time=3)
    assert filled["c2"] == stats(300, 3, time=9)


def test_a_layer_never_reported_stays_absent() -> None:
    both = (container("c1", "main"),)
    assert with_known_layers(view(*both), view(*both)).stats is None
    assert with_known_layers(view(*both), view(stats={"gone": stats(1, 1)})).stats is None
    unread = view(*both, stats={"c1": stats(None, None, time=0)})
    assert with_known_layers(unread, unread) == unread


def test_containers_that_have_ended_do_not_run() -> None:
    assert running_ids(VIEW, HOG.uid) == (("c1",), ("s1",))
    assert running_ids(VIEW, "other") == ((), ())


def test_a_pod_runs_with_a_ready_sandbox_or_a_container() -> None:
    not_ready = tuple(replace(each, state=SandboxState.NOT_READY) for each in VIEW.sandboxes)
    assert running_uids(replace(VIEW, containers=())) == {HOG.uid}
    assert running_uids(replace(VIEW, sandboxes=not_ready)) == {HOG.uid}
    assert running_uids(replace(VIEW, sandboxes=not_ready, containers=())) == frozenset()


def test_sidecars_stop_in_the_reverse_of_their_order() -> None:
    """Those that run, by the ids of their instances; an init container that is no sidecar has ended long ago."""
    names = ("a", "init", "b", "c")
    spec = replace(HOG, init_containers=tuple(Container(name=name, sidecar=name != "init") for name in names))
    rows = [replace(VIEW.containers[0], id=f"id-{name}", name=name) for name in ("main", "a", "b", "c")]
    rows[3] = replace(rows[3], state=ContainerState.EXITED)
    view = replace(VIEW, containers=tuple(rows))
    assert sidecar_ids(view, spec) == ("id-b", "id-a")
    assert sidecar_ids(view, HOG) == ()
