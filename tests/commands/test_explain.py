"""`evictd explain`: who would go next, from a file and on this machine."""

import json
from argparse import ArgumentParser
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evictd.cli import main
from evictd.clients.cri.values import FilesystemUsage, ImageFsInfo
from evictd.codec.config.eviction_config import encode_eviction_config
from evictd.commands import explain
from evictd.commands.explain import this_machine
from evictd.core.model.oom import OomScoreDifference
from evictd.core.model.threshold import Origin
from evictd.daemon.telemetry.http import HttpServer, json_page
from evictd.observe.reading.roots import Roots
from evictd.observe.runtime.runtime_view import RuntimeReader
from evictd.render.console import make_console
from evictd.render.node_view import explanation_document, node_view
from evictd.render.simulation.tables import TableView, print_explanation
from tests.daemon.world import CONFIG
from tests.observe.runtime_double import view
from tests.recorded_errors import NoErrors
from tests.settings import settings_with
from tests.stories import SCENARIOS, check_golden, played

PATH = str(SCENARIOS / "disk-reclaim-then-evict.yaml")


def _explained(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    assert main(["explain", *arguments, "--output", "json"]) == 0
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return document


def test_a_time_after_the_last_step_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    """`--at 9h` showed the last step without a word, as if nothing were known to change until then."""
    assert main(["explain", PATH, "--at", "9h"]) == 0
    after = capsys.readouterr().err
    assert after.startswith("evictd: --at 9h is after the last step; that is shown, ")
    assert main(["explain", PATH, "--at", "20s"]) == 0
    assert capsys.readouterr().err == ""


def test_who_would_go_next_and_why(capsys: pytest.CaptureFixture[str]) -> None:
    document = _explained([PATH, "--at", "20s"], capsys)
    (queue,) = document["queues"]
    assert queue["signals"] == ["nodefs.available", "containerfs.available"], "one filesystem, one order"
    assert [(row["name"], row["why"]) for row in queue["rows"]] == [
        ("etl", "exceeds its request by 31.4Gi, default/logger by only 307Mi"),
        ("logger", "exceeds its request by 307Mi, while default/web does not exceed its own"),
        ("web", "512Mi within its request"),
    ]


def test_the_last_step_is_the_default(capsys: pytest.CaptureFixture[str]) -> None:
    assert _explained([PATH], capsys)["title"] == "disk-reclaim-then-evict at 1m0s"
    assert _explained([PATH, "--at", "25s"], capsys)["title"] == "disk-reclaim-then-evict at 20s"


def test_whoever_is_on_the_way_out_is_not_next(capsys: pytest.CaptureFixture[str]) -> None:
    document = _explained([PATH, "--at", "30s"], capsys)
    assert [row["name"] for row in document["queues"][0]["rows"]] == ["logger", "web"]


def test_the_pod_that_is_being_evicted_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    """At this step `simulate` says that it is evicted, and it is no row of any order."""
    assert main(["explain", str(SCENARIOS / "ten-minutes.yaml"), "--at", "5m"]) == 0
    assert "being evicted, and in no order below: batch/crawler\n" in capsys.readouterr().out


def test_the_text_is_as_before(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["explain", str(SCENARIOS / "protected-culprit.yaml")]) == 0
    text = "\n".join(line.rstrip() for line in capsys.readouterr().out.splitlines()) + "\n"
    check_golden("explain.protected-culprit.txt", text)


@pytest.mark.parametrize("at", ["5", "soon", "1 m"])
def test_a_time_that_is_none(at: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", PATH, "--at", at]) == 2
    assert f"--at: {at}: time:" in capsys.readouterr().err


@pytest.mark.usefixtures("memory_cgroups")
def test_this_machine_without_a_runtime(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The node's own signals are shown, with their sources, and it says that nobody told of pods."""
    endpoint = f"unix://{tmp_path}/none.sock"
    assert main(["explain", "--container-runtime-endpoint", endpoint, "--root-dir", str(tmp_path)]) == 0
    text = capsys.readouterr().out
    assert text.startswith("this machine: policy Standard")
    assert "the pods are unknown: no container runtime answers" in " ".join(text.split())
    document = _explained(["--container-runtime-endpoint", endpoint, "--root-dir", str(tmp_path)], capsys)
    thresholds = {finding["threshold"]["signal"]: finding for finding in document["thresholds"]}
    assert thresholds["memory.available"]["source"].startswith("cgroup v")
    assert any(problem["source"] == "container runtime" for problem in document["problems"])


@pytest.mark.usefixtures("memory_cgroups")
def test_the_row_of_a_disk_that_the_daemon_does_not_read_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The row said `hard: ok` and `evictd status` had no reading; only a note at the end told both together."""
    monkeypatch.setenv("COLUMNS", "200")
    flags = ["--container-runtime-endpoint", f"unix://{tmp_path}/no.sock", "--eviction-hard", "nodefs.available<1Ki"]
    images = FilesystemUsage(time=1, mountpoint=str(tmp_path), used_bytes=1, inodes_used=1)
    listed = replace(view(), image_fs=ImageFsInfo(image_filesystems=(images,), container_filesystems=()))
    (tmp_path / "no.sock").touch()
    monkeypatch.setattr(RuntimeReader, "read", lambda *_, **__: listed)
    for root_dir, said in ((tmp_path / "none", "hard: a daemon could not read it"), (tmp_path, "hard: ok")):
        assert main(["explain", *flags, "--root-dir", str(root_dir)]) == 0
        (row,) = [each for each in capsys.readouterr().out.splitlines() if each.startswith("nodefs.available ")]
        assert said in row


@pytest.mark.usefixtures("memory_cgroups")
def test_without_a_runtime_no_threshold_on_a_disk_is_tested_as_in_a_daemon(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`explain` said `DiskPressure` and `hard: met` while `status` of the daemon beside it had no reading of the disk."""
    monkeypatch.setenv("COLUMNS", "200")
    flags = ["--container-runtime-endpoint", f"unix://{tmp_path}/no.sock", "--root-dir", str(tmp_path)]
    assert main(["explain", *flags, "--eviction-hard", "nodefs.available<99.9%"]) == 0
    text = capsys.readouterr().out
    assert "conditions: none" in text
    assert "hard: met" not in text
    assert "- no observation of nodefs.available" in text
    assert "- it is not known which disks hold images and pods; thresholds on disks wait for it" in text


@pytest.mark.usefixtures("memory_cgroups")
def test_a_configuration_is_obeyed_on_this_machine(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = _explained(
        ["--container-runtime-endpoint", f"unix://{tmp_path}/no.sock", "--eviction-hard", "pid.available<10"], capsys
    )
    assert [finding["threshold"]["signal"] for finding in document["thresholds"]] == ["pid.available"]


@pytest.mark.usefixtures("memory_cgroups")
def test_settings_alone_are_enough(tmp_path: Path) -> None:
    explained = this_machine(settings_with(root_dir=tmp_path, container_runtime_endpoint=f"unix://{tmp_path}/no.sock"))
    assert explained.thresholds == ()
    assert explanation_document(explained, rows=None)["policy"] == "Standard"


def test_oom_score_differences_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    import io

    _, cycles = played("memory-with-priorities")
    turn = cycles[0].turns[0]
    from evictd.core.model.config import EvictionConfig

    difference = OomScoreDifference(
        pod=turn.observation.pods[0], container="main", expected=970, found=0, cgroup="/kubepods/x", pids=(1,)
    )
    config = EvictionConfig()
    explained = node_view(
        "x", config, turn.observation, turn.step.state, turn.step.findings, now=cycles[-1].at, oom_scores=(difference,)
    )
    assert explanation_document(explained, rows=None)["oomScoreDifferences"] == [
        {"pod": "default/report", "container": "main", "expected": 970, "found": 0, "cgroup": "/kubepods/x"}
    ]
    out = io.StringIO()
    print_explanation(explained, TableView(config=config), make_console(out, 100))
    assert "oom_score_adj of default/report main is 0, documented is 970" in out.getvalue()


@pytest.mark.parametrize("readable", [True, False])
def test_the_runtime_and_the_node_s_name_are_those_of_the_running_daemon(
    readable: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Beside a daemon with another socket or with an API server it read other pods than the daemon."""
    file = tmp_path / "config.yaml"
    if readable:
        file.write_text(
            "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
            "containerRuntimeEndpoint: unix:///daemons\nevictionHard: {memory.available: 7Mi}\n"
        )
    page = {
        "evictionconfig": encode_eviction_config(settings_with(eviction=CONFIG).eviction),
        "arguments": [f"--config={file}", "--node-name=n1", "--root-dir=/daemons", "--flag-of-the-next-version=x"],
    }
    server = HttpServer("127.0.0.1:0", {"/configz": lambda: json_page(page)}, NoErrors())
    parser = ArgumentParser()
    explain.add_arguments(parser)
    try:
        here = parser.parse_args([f"--address=127.0.0.1:{server.port}", "--root-dir=/here"])
        settings, _ = explain.node_of(here)
    finally:
        server.close()
    assert settings.eviction.thresholds == CONFIG.thresholds
    assert settings.evictd.root_dir == Path("/here")
    endpoint = settings.kubelet.container_runtime_endpoint
    assert (endpoint == "unix:///daemons", settings.evictd.cluster.node_name == "n1") == (readable, readable)
    assert (f"but for its files ({file}: No such file" in capsys.readouterr().err) == (not readable)


@pytest.mark.parametrize("there", [True, False])
def test_it_reads_the_machine_that_the_daemon_reads(tmp_path: Path, *, there: bool) -> None:
    """It took the configuration of a daemon with another --proc and --cgroup, and showed the pods of this machine."""
    proc, cgroup = tmp_path / "proc", tmp_path / "cgroup"
    if there:
        proc.mkdir()
        cgroup.mkdir()
    page = {
        "evictionconfig": encode_eviction_config(settings_with(eviction=CONFIG).eviction),
        "arguments": [f"--proc={proc}", f"--cgroup={cgroup}", "--node-cgroup=/node"],
    }
    server = HttpServer("127.0.0.1:0", {"/configz": lambda: json_page(page)}, NoErrors())
    parser = ArgumentParser()
    explain.add_arguments(parser)
    try:
        _, machine = explain.node_of(parser.parse_args([f"--address=127.0.0.1:{server.port}"]))
    finally:
        server.close()
    assert machine == (Roots(proc=proc, cgroup=cgroup, node_cgroup="/node") if there else Roots())


def test_without_a_configuration_the_running_daemon_s_is_taken(capsys: pytest.CaptureFixture[str]) -> None:
    """Also with flags that do not concern decisions. It said "100Mi, ok" beside a daemon with a threshold of 1.32Gi."""
    config = settings_with(eviction=CONFIG).eviction
    page = {"evictionconfig": encode_eviction_config(config)}
    server = HttpServer("127.0.0.1:0", {"/configz": lambda: json_page(page)}, NoErrors())
    here = [f"--listen-address=127.0.0.1:{server.port}", "--container-runtime-endpoint=unix:///nowhere"]
    parser = ArgumentParser()
    explain.add_arguments(parser)
    try:
        settings, _ = explain.node_of(parser.parse_args(here))
        assert (settings.eviction, settings.kubelet.container_runtime_endpoint) == (config, "unix:///nowhere")
        said = capsys.readouterr().err
        assert "with the configuration of the evictd at 127.0.0.1:" in said
        assert "`evictd status` shows what it would do" in said, "the two named different pods"
        asked, _ = explain.node_of(parser.parse_args([*here, "--eviction-hard=memory.available<7Mi"]))
    finally:
        server.close()
    assert [str(each.value.quantity) for each in asked.eviction.thresholds if each.origin is Origin.SET] == ["7Mi"]
    alone = explain.node_of(parser.parse_args(here))[0].eviction
    assert "100Mi" in {str(each.value.quantity) for each in alone.thresholds}, (
        "no evictd answers: the kubelet's defaults"
    )
    assert "no evictd answers at 127.0.0.1:" in capsys.readouterr().err
