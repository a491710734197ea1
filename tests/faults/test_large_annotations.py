"""Pods whose annotations make a listing larger than one response may be."""

import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from types import SimpleNamespace

import grpc
import pytest
from cri_api.v1 import api_pb2 as pb

from evictd.act.stop.termination import RunningIds, RuntimeTermination, Termination
from evictd.clients.cri.channel import MAX_RECEIVE_BYTES
from evictd.clients.cri.client import CriClient
from evictd.errors import RuntimeResponseTooLargeError
from evictd.observe.runtime.listing import SOURCE
from evictd.observe.runtime.runtime_view import RuntimeReader
from evictd_testnode.tool import wait_for
from tests.faults.cri_server import Answer, fake_runtime

PODS = 68
ANNOTATION = "x" * (255 << 10)
UID_LABEL = "io.kubernetes.pod.uid"


def server(uids: Iterable[str], annotation: str = ANNOTATION, *, own_limit: bool = False) -> dict[str, Answer]:
    """A runtime with one sandbox and one container a pod; with `own_limit` it sends no larger one, as containerd."""
    sandboxes = {
        uid: pb.PodSandbox(
            id=f"s-{uid}", metadata=pb.PodSandboxMetadata(name=uid, uid=uid, namespace="ns"), labels={UID_LABEL: uid},
            annotations={"note": annotation},
        )
        for uid in uids
    }  # fmt: skip
    containers = {
        uid: pb.Container(
            id=f"c-{uid}", pod_sandbox_id=f"s-{uid}", metadata=pb.ContainerMetadata(name="main"),
            labels={UID_LABEL: uid}, state=pb.CONTAINER_RUNNING, image=pb.ImageSpec(image="app"),
        )
        for uid in sandboxes
    }  # fmt: skip

    def list_sandboxes(request: bytes, context: grpc.ServicerContext) -> bytes:
        uid = pb.ListPodSandboxRequest.FromString(request).filter.label_selector.get(UID_LABEL)
        rows = [row for each, row in sandboxes.items() if uid is None or uid == each]
        answer = pb.ListPodSandboxResponse(items=rows).SerializeToString()
        if own_limit and len(answer) > MAX_RECEIVE_BYTES:
            context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "trying to send message larger than max")
        return answer

    def list_containers(request: bytes, _: grpc.ServicerContext) -> bytes:
        uid = pb.ListContainersRequest.FromString(request).filter.label_selector.get(UID_LABEL)
        rows = [row for each, row in containers.items() if uid is None or uid == each]
        return pb.ListContainersResponse(containers=rows).SerializeToString()

    def sandbox_status(request: bytes, _: grpc.ServicerContext) -> bytes:
        asked = pb.PodSandboxStatusRequest.FromString(request).pod_sandbox_id
        uid = asked.removeprefix("s-")
        status = pb.PodSandboxStatus(
            id=asked, created_at=1, metadata=sandboxes[uid].metadata, annotations=sandboxes[uid].annotations,
            linux=pb.LinuxPodSandboxStatus(), network=pb.PodSandboxNetworkStatus(),
        )  # fmt: skip
        detail = f'{{"runtimeSpec": {{"linux": {{"cgroupsPath": "/kubepods/pod{uid}/{asked}"}}}}}}'
        return pb.PodSandboxStatusResponse(status=status, info={"info": detail}).SerializeToString()

    return {"ListPodSandbox": list_sandboxes, "ListContainers": list_containers, "PodSandboxStatus": sandbox_status}


@pytest.mark.parametrize("own_limit", [False, True], ids=["the client's limit", "the runtime's limit"])
def test_pods_with_large_annotations_are_listed_one_by_one(tmp_path: Path, own_limit: bool) -> None:
    """17 MB of ListPodSandbox against 16 MiB: no pod was known and none evicted."""
    uids = [f"uid-{number:02}" for number in range(PODS)]
    with fake_runtime(tmp_path / "s", server(uids, own_limit=own_limit)) as endpoint, CriClient(endpoint) as client:
        with pytest.raises(RuntimeResponseTooLargeError):
            client.list_sandboxes()
        pods = SimpleNamespace(pod_uids=lambda: uids)
        view = RuntimeReader(client, pods=pods).read(0, with_stats=False, with_image_fs=False, described=lambda _: True)
    assert [row.uid for row in view.sandboxes] == uids
    assert [row.id for row in view.containers] == [f"c-{uid}" for uid in uids]
    assert view.pod_cgroups == {uid: f"/kubepods/pod{uid}" for uid in uids}
    assert not view.complete
    (problem,) = view.problems
    assert problem.source == SOURCE


def test_one_pod_that_exceeds_the_limit_alone_hides_no_other(tmp_path: Path) -> None:
    uids = ["small", "huge"]
    answers = server(uids, "x" * (17 << 20))
    small = server(["small"], "")

    def list_sandboxes(request: bytes, context: grpc.ServicerContext) -> bytes:
        one = b"small" in request
        return (small if one else answers)["ListPodSandbox"](request, context)

    with (
        fake_runtime(tmp_path / "s", {**answers, **small, "ListPodSandbox": list_sandboxes}) as endpoint,
        CriClient(endpoint) as client,
    ):
        pods = SimpleNamespace(pod_uids=lambda: uids)
        view = RuntimeReader(client, pods=pods).read(0, with_stats=False, with_image_fs=False, described=lambda _: True)
    assert [row.uid for row in view.sandboxes] == ["small"]
    assert [problem.source for problem in view.problems] == [SOURCE, f"{SOURCE} of 'huge'"]


def test_without_the_pods_cgroups_the_listing_fails_rather_than_being_empty(tmp_path: Path) -> None:
    uids = [f"uid-{number:02}" for number in range(PODS)]
    with (
        fake_runtime(tmp_path / "s", server(uids)) as endpoint,
        CriClient(endpoint) as client,
        pytest.raises(RuntimeResponseTooLargeError, match="ListPodSandbox: RESOURCE_EXHAUSTED"),
    ):
        RuntimeReader(client).read(0)


def test_a_victim_among_them_is_seen_to_be_gone(tmp_path: Path) -> None:
    """The listing after the stop is that of the victim alone, else the termination would never finish."""
    uids = [f"uid-{number:02}" for number in range(PODS)]
    changed = threading.Event()
    with fake_runtime(tmp_path / "s", server(uids)) as endpoint, CriClient(endpoint) as client:
        state = Termination(uid="gone", started_at=0, grace_ends_at=1)
        ours = RuntimeTermination(
            client, state, RunningIds(frozenset(), frozenset()), minimum_grace_seconds=1, changed=changed
        )
        ours.start(0)
        assert wait_for(advancing(ours), seconds=60)


def advancing(ours: RuntimeTermination) -> Callable[[], bool]:
    def finished() -> bool:
        ours.advance(1)
        return ours.state.finished

    return finished
