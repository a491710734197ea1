"""The command that asks a running daemon."""

import argparse
import json
import socket
from collections.abc import Iterator

import pytest

from evictd.daemon.http import HttpServer, Page, json_page
from evictd.daemon.status_page import status_document
from evictd.errors import ExitCode, NodeError
from evictd.offline import status
from tests.daemon.world import GI, NOW, snapshot


@pytest.fixture
def address() -> Iterator[str]:
    pages = {
        "/statusz": lambda: json_page(status_document(snapshot(GI // 2), NOW)),
        "/text": lambda: Page(body=b"hello"),
    }
    server = HttpServer("127.0.0.1:0", pages, lambda *_: None)
    yield f"127.0.0.1:{server.port}"
    server.close()


def command(*arguments: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    status.add_arguments(parser)
    return parser.parse_args(arguments)


def test_a_person_gets_a_page(address: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert status.run(command("--address", address)) is ExitCode.DONE
    shown = capsys.readouterr().out
    assert "memory.available" in shown
    assert "leaving: default/hog" in shown


@pytest.mark.parametrize("form", ["json", "yaml"])
def test_a_program_gets_the_document(address: str, form: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert status.run(command("--address", address, "--output", form)) is ExitCode.DONE
    shown = capsys.readouterr().out
    if form == "json":
        assert json.loads(shown)["phase"]["name"] == "CleaningUp"
    else:
        assert "kind: Status" in shown


def test_nobody_there_is_one_clear_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    with pytest.raises(NodeError, match="is `evictd run` running"):
        status.fetch(f"127.0.0.1:{port}")


@pytest.mark.parametrize("address", ["nonsense", "127.0.0.1:x", "127.0.0.1"])
def test_a_malformed_address_is_one_clear_error(address: str) -> None:
    with pytest.raises(NodeError, match="is no host:port"):
        status.fetch(address)


@pytest.mark.parametrize("path", ["/text", "/missing"])
def test_somebody_else_s_answer_is_one_clear_error(address: str, path: str) -> None:
    with pytest.raises(NodeError):
        status.fetch(address, path)
