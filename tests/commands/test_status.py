"""The command that asks a running daemon."""

import argparse
import json
import random
import socket
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from evictd.cli import main
from evictd.commands import status
from evictd.config.settings import Settings
from evictd.daemon.configuration import Configuration
from evictd.daemon.telemetry.http import HttpServer, Page, json_page
from evictd.daemon.telemetry.metrics import Metrics
from evictd.daemon.telemetry.pages import Pages
from evictd.daemon.telemetry.snapshot import LatestSnapshot
from evictd.daemon.telemetry.statusz.status_page import snapshot_view
from evictd.errors import ExitCode, InputError, NodeError
from evictd.render.node_view import explanation_document
from tests.daemon.status import status_of
from tests.daemon.world import GI, NOW, snapshot
from tests.recorded_errors import NoErrors


@pytest.fixture
def address() -> Iterator[str]:
    pages = {
        "/statusz": lambda: json_page(status_of(snapshot(GI // 2), NOW)),
        "/text": lambda: Page(body=b"hello"),
    }
    server = HttpServer("127.0.0.1:0", pages, NoErrors())
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
    assert "being evicted: default/hog" in shown


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
    with pytest.raises(NodeError, match=rf"at 127.0.0.1:{port}: Connection refused; is `evictd run` running"):
        status.fetch(f"127.0.0.1:{port}")


def test_the_address_may_be_the_url_of_the_page(address: str) -> None:
    assert status.fetch(f"http://{address}/") == status.fetch(address)


@pytest.mark.parametrize(
    "address",
    ["nonsense", "127.0.0.1:x", "127.0.0.1", "https://127.0.0.1:10277", "http://127.0.0.1:10277/statusz", "http://"],
)
def test_a_malformed_address_is_one_clear_error(address: str) -> None:
    with pytest.raises(InputError, match="is no host:port"):
        status.fetch(address)


@pytest.mark.parametrize("path", ["/text", "/missing"])
def test_somebody_else_s_answer_is_one_clear_error(address: str, path: str) -> None:
    with pytest.raises(NodeError):
        status.fetch(address, path)


@pytest.mark.parametrize("arguments", [["status"], ["why", "default/hog"]])
def test_an_evictd_that_is_starting_is_no_other_program(
    arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """While a runtime is silent the first cycle takes seconds, and the run book said to end the program that has the port."""
    published, settings = LatestSnapshot(), Settings()
    pages = Pages(published, Metrics(published), Configuration(settings, lambda: settings), lambda: NOW).by_path()
    server = HttpServer("127.0.0.1:0", pages, NoErrors())
    address = f"127.0.0.1:{server.port}"
    journal = ["--directory", str(tmp_path)] if arguments[0] == "why" else []
    try:
        assert main([*arguments, *journal, "--address", address]) == ExitCode.UNREACHABLE
    finally:
        server.close()
    more = "; --journal reads the files of a node that is away" if journal else ""
    assert capsys.readouterr().err == f"evictd: {address}: evictd is starting: no cycle has ended yet{more}\n"


def damaged(document: dict[str, Any], seed: int) -> dict[str, Any]:
    """Return the document with one of its values replaced by another one."""
    chosen = random.Random(seed)
    made: dict[str, Any] = json.loads(json.dumps(document))
    part: Any = made
    while True:
        key = chosen.choice(list(part) if isinstance(part, dict) else range(len(part)))
        if not (isinstance(part[key], dict | list) and part[key]) or chosen.random() < 0.2:
            part[key] = chosen.choice([None, "x", -1, 10**400, [], {}, [None], {"x": 1}])
            return made
        part = part[key]


@pytest.mark.parametrize("arguments", [["status"], ["why", "default/hog"]])
def test_an_answer_of_another_program_or_version_is_one_clear_error(
    arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Any program of the node can listen where no evictd does."""
    published = LatestSnapshot()
    published.latest = snapshot(GI // 2)
    explained = explanation_document(snapshot_view(published.latest), rows=None)
    real = {"/statusz": status_of(published.latest, NOW), "/explainz": json.loads(json.dumps(explained))}
    answers = [dict.fromkeys(real, body) for body in (b"[" * 100_000, b"{}", b"x" * 1000)]
    answers += [
        {path: json.dumps(damaged(document, seed)).encode() for path, document in real.items()} for seed in range(80)
    ]
    answer = answers[0]
    pages = {path: partial(lambda path: Page(body=answer[path]), path) for path in real}
    server = HttpServer("127.0.0.1:0", pages, NoErrors())
    journal = ["--directory", str(tmp_path)] if arguments[0] == "why" else []
    try:
        for answer in answers:  # noqa: B007 - the pages give it
            code = main([*arguments, *journal, "--address", f"127.0.0.1:{server.port}"])
            shown = capsys.readouterr()
            assert code in {ExitCode.DONE, ExitCode.NO} or shown.err.startswith("evictd: ")
    finally:
        server.close()


def test_an_endless_answer_is_one_clear_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(status, "_MOST_BYTES", 1000)
    server = HttpServer("127.0.0.1:0", {"/statusz": lambda: Page(body=b"[" + b" " * 1001 + b"]")}, NoErrors())
    with pytest.raises(NodeError, match="answers, but is no evictd"):
        status.fetch(f"127.0.0.1:{server.port}")
    server.close()


KUBERNETES_PORTS = {2379, 2380, 6443, *range(10248, 10264)}
"""Ports and protocols of the documentation, and pkg/cluster/ports: kubelet, kube-proxy, schedulers, controller managers."""


def test_the_default_port_is_no_component_s_of_kubernetes() -> None:
    """10258 is the cloud controller manager's: on a node of a cloud evictd did not start."""
    assert int(status.DEFAULT_ADDRESS.rpartition(":")[2]) not in KUBERNETES_PORTS


def test_the_default_address_is_the_settings_own() -> None:
    assert Settings().evictd.listen_address == status.DEFAULT_ADDRESS


def loaded_by(code: str) -> set[str]:
    """What a process has imported after this code."""
    argv = [sys.executable, "-c", f"import sys\n{code}\nprint(*sys.modules)"]
    return set(subprocess.run(argv, capture_output=True, text=True, check=True).stdout.split())


STATUS = "from evictd.cli import _load; _load('status')"
NOT_FOR_STATUS = {
    "asyncio",
    "concurrent.futures",
    "grpclib",
    "jinja2",
    "logging",
    "msgspec",
    "rich",
    "yaml",
}


def test_status_imports_what_it_needs() -> None:
    """Within a container's limits each import counts: configuration, decisions and pods are the daemon's."""
    loaded = loaded_by(STATUS)
    assert not loaded & NOT_FOR_STATUS
    assert {name for name in loaded if name.startswith("evictd.")} <= {
        "evictd.cli",
        "evictd.commands",
        "evictd.commands.status",
        "evictd.core",
        "evictd.core.frozen",
        "evictd.core.model",
        "evictd.core.model.problem",
        "evictd.daemon",
        "evictd.daemon.host",
        "evictd.daemon.host.limits",
        "evictd.errors",
        "evictd.render",
        "evictd.render.console",
        "evictd.render.output",
    }


def test_the_page_of_status_needs_no_decisions_and_no_pods() -> None:
    loaded = loaded_by(f"{STATUS}\nimport evictd.render.status.view")
    assert "rich.table" in loaded
    kinds = {
        "evictd.codec",
        "evictd.config",
        "evictd.core.model.decision",
        "evictd.core.model.pod",
        "evictd.simulation",
    }
    assert not loaded & (kinds | NOT_FOR_STATUS - {"rich", "logging"})


def test_the_literal_is_the_value_of_the_reason() -> None:
    from evictd.core.model.finding import NoActionReason
    from evictd.render.status.remedy_texts import NO_POD_MEASURED

    assert NoActionReason.NO_POD_MEASURED.value == NO_POD_MEASURED
