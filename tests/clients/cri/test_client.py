"""The client's deadlines, lazy connection and end; a listing is parsed row by row."""

import subprocess
import sys
from pathlib import Path
from typing import NoReturn

import pytest

from evictd.clients.cri import api_pb2 as pb
from evictd.clients.cri import client as cri
from evictd.clients.cri.channel import Channel
from evictd.clients.cri.client import DEFAULT_TIMEOUT_SECONDS, READ_TIMEOUT_SECONDS, CriClient
from evictd.core.model.pod import MOST_LABELS
from evictd.errors import InvalidValueError, RuntimeRefusedError, RuntimeUnavailableError

METADATA = pb.PodSandboxMetadata(name="web", namespace="ns", uid="u")
GROWTH = """
import sys
from pathlib import Path
from evictd.clients.cri import client

def mib(name):
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith(name)) >> 10

before = mib("VmRSS")
kept = client._sandboxes(client.Rows.FromString(Path(sys.argv[1]).read_bytes()))
assert len(kept) == 5
print(mib("VmHWM") - before)
"""


def test_nothing_is_connected_before_the_first_call(tmp_path: Path) -> None:
    expected = pytest.raises(RuntimeUnavailableError, match=r"Version: UNAVAILABLE: .*none.sock")
    with CriClient(f"unix://{tmp_path}/none.sock") as client, expected:
        client.version()


def test_a_closed_client_is_unavailable(tmp_path: Path) -> None:
    client = CriClient(f"unix://{tmp_path}/none.sock")
    client.close()
    with pytest.raises(RuntimeUnavailableError):
        client.list_containers()
    with pytest.raises(RuntimeUnavailableError):
        client.begin_stop_container("some", 1).result()


def test_reads_do_not_wait_as_long_as_changes() -> None:
    assert READ_TIMEOUT_SECONDS < DEFAULT_TIMEOUT_SECONDS


@pytest.mark.parametrize(
    "endpoint", ["", "tcp://127.0.0.1:1", "relative.sock", "unix://relative", "unix:///" + "x" * 110]
)
def test_only_a_unix_sockets_path_is_an_endpoint(endpoint: str) -> None:
    with pytest.raises(InvalidValueError, match="containerRuntimeEndpoint"):
        CriClient(endpoint)


def test_a_removal_lets_other_refusals_than_not_found_through(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> NoReturn:
        raise RuntimeRefusedError("no")

    monkeypatch.setattr(Channel, "call", refuse)
    with CriClient("unix:///none.sock") as client, pytest.raises(RuntimeRefusedError, match="no"):
        client.remove_container("some")


def test_the_rows_of_both_listings_are_those_of_the_messages() -> None:
    boxes = [pb.PodSandbox(id=name, metadata=METADATA, labels={"app": name}) for name in ("a", "b")]
    answer = pb.ListPodSandboxResponse(items=boxes).SerializeToString()
    assert [(row.id, row.labels) for row in cri._sandboxes(cri.Rows.FromString(answer))] == [
        ("a", {"app": "a"}),
        ("b", {"app": "b"}),
    ]
    one = pb.Container(id="c", metadata=pb.ContainerMetadata(name="main"), image=pb.ImageSpec(image="i"))
    listed = pb.ListContainersResponse(containers=[one]).SerializeToString()
    assert [row.id for row in cri._containers(cri.Rows.FromString(listed))] == ["c"]


def test_pods_of_a_hundred_thousand_labels_take_little_memory(tmp_path: Path) -> None:
    """An API server takes 1.5 MiB of labels; ten such pods took 200 MiB, more than the DaemonSet may have."""
    labels = {f"l{number}": "" for number in range(110_000)}
    boxes = [pb.PodSandbox(id=f"s{number}", metadata=METADATA, labels=labels) for number in range(5)]
    answer = tmp_path / "answer"
    answer.write_bytes(pb.ListPodSandboxResponse(items=boxes).SerializeToString())
    found = subprocess.run([sys.executable, "-c", GROWTH, answer], capture_output=True, text=True, check=True)
    assert int(found.stdout) < 45


def test_of_a_pod_a_bounded_number_of_labels_is_kept() -> None:
    box = pb.PodSandbox(id="s", metadata=METADATA, labels={f"l{number}": "" for number in range(1000)})
    answer = pb.ListPodSandboxResponse(items=[box]).SerializeToString()
    (row,) = cri._sandboxes(cri.Rows.FromString(answer))
    assert len(row.labels) == MOST_LABELS
