"""The client's deadlines, lazy connection and end."""

from pathlib import Path
from typing import NoReturn

import pytest

from evictd.clients.cri.channel import Channel
from evictd.clients.cri.client import DEFAULT_TIMEOUT_SECONDS, READ_TIMEOUT_SECONDS, CriClient
from evictd.errors import InvalidValueError, RuntimeRefusedError, RuntimeUnavailableError


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
