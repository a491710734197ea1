"""Faulty runtimes: none, another server, late, truncated or invalid responses. Each is one error, followed by recovery."""

import socket
import threading
from pathlib import Path

import grpc
import pytest
from cri_api.v1 import api_pb2 as pb

from evictd.clients.cri.client import CriClient
from evictd.errors import (
    EvictdError,
    RuntimeNotFoundError,
    RuntimeRefusedError,
    RuntimeUnavailableError,
    RuntimeUnimplementedError,
)
from evictd_testnode.tool import wait_for
from tests.faults.cri_server import Answer, failing, fake_runtime, foreign_server

VERSION = pb.VersionResponse(runtime_name="fake", runtime_version="1", runtime_api_version="v1").SerializeToString()


def one_line(error: pytest.ExceptionInfo[EvictdError]) -> str:
    text = str(error.value)
    assert "\n" not in text
    assert len(text) < 400
    return text


@pytest.mark.parametrize("kind", ["nothing", "file", "folder", "deserted socket"])
def test_a_missing_socket(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "s"
    if kind == "file":
        path.write_text("no socket")
    elif kind == "folder":
        path.mkdir()
    elif kind == "deserted socket":
        deserted = socket.socket(socket.AF_UNIX)
        deserted.bind(str(path))
        deserted.close()
    with CriClient(f"unix://{path}") as client, pytest.raises(RuntimeUnavailableError) as error:
        client.list_containers()
    assert one_line(error).startswith("ListContainers: UNAVAILABLE: ")
    assert str(path) in str(error.value)


@pytest.mark.parametrize(
    "greeting", [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"SSH-2.0-OpenSSH_9\r\n", b"\0" * 64, b"\xff" * 4096, None]
)
def test_another_kind_of_server(tmp_path: Path, greeting: bytes | None) -> None:
    def greet(connection: socket.socket) -> None:
        if greeting is not None:
            connection.sendall(greeting)
        connection.close()

    with foreign_server(tmp_path / "s", greet) as endpoint, CriClient(endpoint, timeout_seconds=5) as client:
        with pytest.raises((RuntimeUnavailableError, RuntimeRefusedError)) as error:
            client.version()
        one_line(error)


def test_a_server_that_never_responds(tmp_path: Path) -> None:
    with foreign_server(tmp_path / "s", lambda _: None) as endpoint, CriClient(endpoint, timeout_seconds=1) as client:
        with pytest.raises(RuntimeUnavailableError) as error:
            client.version()
        one_line(error)


def test_a_response_after_the_deadline(tmp_path: Path) -> None:
    release = threading.Event()

    def late(_: bytes, __: grpc.ServicerContext) -> bytes:
        release.wait(60)
        return VERSION

    with fake_runtime(tmp_path / "s", {"Version": late}) as endpoint, CriClient(endpoint, timeout_seconds=1) as client:
        with pytest.raises(RuntimeUnavailableError, match="Version: DEADLINE_EXCEEDED"):
            client.version()
        release.set()
        assert wait_for(lambda: answers(client))


def test_a_runtime_that_stops_during_a_call_and_restarts(tmp_path: Path) -> None:
    asked, release = threading.Event(), threading.Event()

    def stuck(_: bytes, context: grpc.ServicerContext) -> bytes:
        context.add_callback(release.set)  # the server ends the call, and waits for this thread
        asked.set()
        release.wait(60)
        return b""

    path = tmp_path / "s"
    with CriClient(f"unix://{path}") as client:
        with fake_runtime(path, {"StopContainer": stuck}):
            pending = client.begin_stop_container("c1", 30)
            assert asked.wait(60)
        with pytest.raises((RuntimeUnavailableError, RuntimeRefusedError), match="StopContainer c1"):
            pending.result()
        with fake_runtime(path, {"Version": lambda *_: VERSION}):
            assert wait_for(lambda: answers(client))


def answers(client: CriClient) -> bool:
    try:
        return client.version().runtime_name == "fake"
    except RuntimeUnavailableError:
        return False


def test_a_server_that_implements_no_call(tmp_path: Path) -> None:
    with (
        fake_runtime(tmp_path / "s", {}) as endpoint,
        CriClient(endpoint) as client,
        pytest.raises(RuntimeUnimplementedError, match="ListContainers: UNIMPLEMENTED"),
    ):
        client.list_containers()


GARBAGE = [b"\xff", b"\x0a\xff\xff\xff\xff\x0f", b"\x08", b"HTTP/1.1 200 OK", bytes(range(256))]


@pytest.mark.parametrize("garbage", GARBAGE, ids=range(len(GARBAGE)))
def test_random_bytes_are_refused_or_empty(tmp_path: Path, garbage: bytes) -> None:
    """Bytes that parse give entries without an identity, which are skipped."""
    answers: dict[str, Answer] = {
        name: lambda *_: garbage
        for name in ("ListContainers", "ListPodSandbox", "ListImages", "ContainerStatus", "ListContainerStats")
    }
    with fake_runtime(tmp_path / "s", answers) as endpoint, CriClient(endpoint) as client:
        for call in (client.list_containers, client.list_sandboxes, client.list_images, client.list_container_stats):
            try:
                assert call() == ()
            except RuntimeRefusedError as error:
                assert "\n" not in str(error)
        with pytest.raises(RuntimeRefusedError) as refused:
            client.container_status("c1")
        one_line(refused)


def test_random_bytes_are_refused_by_concurrent_calls_too(tmp_path: Path) -> None:
    """A failed stop must not count as done, nor a listing keep the victim in flight for good."""
    answers: dict[str, Answer] = {name: lambda *_: b"\xff" for name in ("StopContainer", "ListContainers")}
    with fake_runtime(tmp_path / "s", answers) as endpoint, CriClient(endpoint) as client:
        for pending in (client.begin_stop_container("c1", 0), client.begin_list_containers()):
            with pytest.raises(RuntimeRefusedError, match="cannot be decoded") as refused:
                pending.result()
            one_line(refused)


def test_a_truncated_response_is_refused(tmp_path: Path) -> None:
    half = pb.ContainerStatusResponse(status=pb.ContainerStatus(id="c1", created_at=1)).SerializeToString()
    with fake_runtime(tmp_path / "s", {"ContainerStatus": lambda *_: half}) as endpoint, CriClient(endpoint) as client:
        with pytest.raises(RuntimeRefusedError, match=r"ContainerStatus: .* lacks metadata, image_ref") as error:
            client.container_status("c1")
        one_line(error)


def test_a_response_above_the_limit_is_refused(tmp_path: Path) -> None:
    image = pb.Image(id="i", repo_tags=["x" * 1000])
    huge = pb.ListImagesResponse(images=[image] * 20_000).SerializeToString()
    with fake_runtime(tmp_path / "s", {"ListImages": lambda *_: huge}) as endpoint, CriClient(endpoint) as client:
        with pytest.raises(RuntimeRefusedError, match="ListImages: RESOURCE_EXHAUSTED") as error:
            client.list_images()
        one_line(error)


@pytest.mark.parametrize("details", ["", "line one\nline two\r\n" * 100, "\x1b[31m red", "x" * 3000])
def test_a_hostile_message_stays_in_one_line(tmp_path: Path, details: str) -> None:
    answer = failing(grpc.StatusCode.UNKNOWN, details)
    with fake_runtime(tmp_path / "s", {"RemoveImage": answer}) as endpoint, CriClient(endpoint) as client:
        with pytest.raises(RuntimeRefusedError) as error:
            client.remove_image("localhost/app:1")
        assert one_line(error).startswith("RemoveImage localhost/app:1: UNKNOWN: ")
        assert str(error.value).isprintable()


@pytest.mark.parametrize(
    "method", ["StopContainer", "StopPodSandbox", "RemoveContainer", "RemovePodSandbox", "RemoveImage"]
)
def test_not_found_is_success_for_stop_and_remove(tmp_path: Path, method: str) -> None:
    gone = failing(grpc.StatusCode.NOT_FOUND, "no such thing")
    with (
        fake_runtime(tmp_path / "s", {method: gone, "ContainerStatus": gone}) as endpoint,
        CriClient(endpoint) as client,
    ):
        calls = {
            "StopContainer": lambda: client.stop_container("x", 1),
            "StopPodSandbox": lambda: client.stop_sandbox("x"),
            "RemoveContainer": lambda: client.remove_container("x"),
            "RemovePodSandbox": lambda: client.remove_sandbox("x"),
            "RemoveImage": lambda: client.remove_image("x"),
        }
        calls[method]()
        with pytest.raises(RuntimeNotFoundError):
            client.container_status("x")


def test_a_split_image_filesystem_as_cri_o_reports_it(tmp_path: Path) -> None:
    def usage(mountpoint: str) -> pb.FilesystemUsage:
        return pb.FilesystemUsage(
            timestamp=1,
            fs_id=pb.FilesystemIdentifier(mountpoint=mountpoint),
            used_bytes=pb.UInt64Value(value=7),
            inodes_used=pb.UInt64Value(value=3),
        )

    split = pb.ImageFsInfoResponse(
        image_filesystems=[usage("/images")], container_filesystems=[usage("/containers")]
    ).SerializeToString()
    with fake_runtime(tmp_path / "s", {"ImageFsInfo": lambda *_: split}) as endpoint, CriClient(endpoint) as client:
        info = client.image_fs_info()
    assert [each.mountpoint for each in info.image_filesystems] == ["/images"]
    assert [(each.mountpoint, each.used_bytes) for each in info.container_filesystems] == [("/containers", 7)]
