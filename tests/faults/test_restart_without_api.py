"""A restart while the API server gives no list, or one that is not true: the runtime's knowledge decides."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.faults.cri_server import fake_runtime
from tests.faults.harness import Run
from tests.faults.node_double import OF_API, FakeNode, FakePod
from tests.kube import objects
from tests.kube.api_server import ApiServer
from tests.kube.faults import Fault

pytestmark = pytest.mark.slow

MI = 1 << 20


def node_of(folder: Path, *pods: FakePod) -> FakeNode:
    """A node that runs these pods only."""
    node = FakeNode(folder)
    for name in tuple(node.pods):
        node.end(name)
    for pod in pods:
        node.add(pod)
    return node


def down(api: ApiServer) -> None:
    api.down()


def empty_objects(api: ApiServer) -> None:
    """Every answer is 200 and `{}`. `make soak` found it: taken for a list without pods, it hid the leaker for a minute."""
    api.faults.add(Fault(status=200, body=b"{}"))
    api.cut_connections()


@pytest.mark.parametrize("spoil", [down, empty_objects])
@pytest.mark.parametrize(
    ("newcomer", "victim"),
    [
        (FakePod("newcomer", 1024 * MI, request=2048 * MI), "leaker"),
        (FakePod("newcomer", 3072 * MI, request=2048 * MI), "newcomer"),
        (FakePod("newcomer", 1024 * MI), "newcomer"),
    ],
    ids=["within its request", "beyond its request", "without a request"],
)
def test_a_pod_that_began_meanwhile_goes_by_its_request(
    tmp_path: Path, newcomer: FakePod, victim: str, spoil: Callable[[ApiServer], None]
) -> None:
    """`make soak` found it: its request counted as none, so it went before a pod that exceeded its own."""
    leaker, newcomer = FakePod("leaker", 300 * MI, request=200 * MI), replace(newcomer)
    node = node_of(tmp_path, leaker)
    with ApiServer(tmp_path) as api, fake_runtime(tmp_path / "s", node.answers()) as endpoint:
        api.store.create("nodes", objects.node("n1", kubelet=False))
        api.store.create("pods", leaker.api_object())
        with Run(node, endpoint, api) as run:
            known = run.state / "pods.json"
            run.cycle_until(lambda: known.exists() and b"leaker" in known.read_bytes())
            run.crash()
            spoil(api)
            node.add(newcomer)
            node.press()
            run.start()
            run.cycle_until(lambda: node.stopped)
    assert node.stopped == [victim]


def test_a_pod_that_runs_and_is_not_listed_goes_before_those_that_keep_to_their_requests(tmp_path: Path) -> None:
    """The list of a stale cache, or a pod that was deleted by force and does not end: the listed pods went for it, one by one."""
    hog = FakePod("hog", 3072 * MI, request=200 * MI, annotations=dict(OF_API))
    listed = FakePod("listed", MI, request=2 * MI)
    node = node_of(tmp_path, hog, listed)
    with ApiServer(tmp_path) as api, fake_runtime(tmp_path / "s", node.answers()) as endpoint:
        api.store.create("nodes", objects.node("n1", kubelet=False))
        api.store.create("pods", listed.api_object())
        with Run(node, endpoint, api) as run:
            named = "does not list pods that run here: ns/hog"
            run.cycle_until(lambda: any(named in line for line in run.warnings()))
            node.press()
            run.cycle_until(lambda: node.stopped)
    assert node.stopped == ["hog"]
