"""`evictd advise`: which nodes are found, and that processes and a Dask cluster find the same."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from evictd.cli import main
from evictd.codec.checksum import unsealed
from evictd.commands.advise import evidence_of, find_nodes
from tests.commands.test_replay import journal_of
from tests.stories import SCENARIOS
from tests.tools.fleet import write_node
from tools.incidents import incident_files


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six nodes for a day."""
    folder = tmp_path_factory.mktemp("fleet")
    for number in range(6):
        write_node(folder, 24, number)
    return folder


def advice(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    assert main(["advise", *arguments, "--output", "json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_nodes_are_folders_with_journals_and_single_files(tmp_path: Path) -> None:
    for name in (
        "a/journal.jsonl",
        "a/journal.1.jsonl",
        "a/state.json",
        "a/conditions.json",
        "a/pods.json",
        "b/c/journal.jsonl",
        "day.jsonl",
        "d/capture.yaml",
        "codec/records/journal.py",
        "notes.txt",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    found = {name: [path.name for path in files] for name, files in find_nodes([tmp_path])}
    assert found == {
        "day": ["day.jsonl"],
        "a": ["journal.1.jsonl", "journal.jsonl"],
        "b/c": ["journal.jsonl"],
        "d/capture": ["capture.yaml"],
    }
    assert find_nodes([tmp_path / "day.jsonl"]) == [("day", (tmp_path / "day.jsonl",))]


def test_nodes_of_the_same_name_in_two_folders_are_all_counted(
    fleet: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The evidence of the last one replaced that of the others: 5 of 10 evictions, and the order decided which."""
    for number in (6, 7):
        write_node(tmp_path / f"{number}", 24, number)
        (tmp_path / f"{number}" / f"node-000{number}").rename(tmp_path / f"{number}" / "node-0000")
    folders = [str(fleet), str(tmp_path / "6"), str(tmp_path / "7")]
    alone = [advice(capsys, each)["signals"][0]["evictions"] for each in folders]
    found = advice(capsys, *folders)
    assert (found["nodes"], found["signals"][0]["evictions"]) == (8, sum(alone))
    assert advice(capsys, *reversed(folders)) == found
    assert not found["problems"]
    names = {name for name, _ in find_nodes(map(Path, folders))}
    assert {"node-0001", str(fleet / "node-0000"), str(tmp_path / "7" / "node-0000")} <= names


def test_files_that_are_given_twice_count_once(fleet: Path, capsys: pytest.CaptureFixture[str]) -> None:
    alone = advice(capsys, str(fleet))
    journal = next((fleet / "node-0000").glob("*.jsonl"))
    assert advice(capsys, str(fleet), str(journal), str(fleet), str(fleet / "node-0001")) == alone


def test_a_copy_of_a_journal_is_a_problem(fleet: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copytree(fleet / "node-0000", tmp_path / "node-0000")
    found = advice(capsys, str(fleet / "node-0000"), str(tmp_path / "node-0000"))
    assert f"in common with {min(fleet, tmp_path) / 'node-0000'}, counted twice" in found["problems"][0]


def test_a_journal_of_two_nodes_is_a_problem(fleet: Path, tmp_path: Path) -> None:
    """Two nodes in one file counted as one without a word."""
    lines = [unsealed(each) for each in (fleet / "node-0000" / "journal.jsonl").read_bytes().splitlines()]
    head = b'"summary":{"node":{'
    a, b = ([each.replace(head, head + name) for each in lines] for name in (b'"nodeName":"a",', b'"nodeName":"b",'))
    both = tmp_path / "both.jsonl"
    both.write_bytes(b"\n".join([*a, *b]))
    (problem,) = evidence_of(("both", (both,))).problems
    assert problem == "has readings of 2 nodes (a, b), which count as one; give a file of each"
    both.write_bytes(b"\n".join(a))
    assert not evidence_of(("both", (both,))).problems


def test_a_folder_without_nodes_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["advise", str(tmp_path)]) == 2
    assert "there is no journal and no capture below it" in capsys.readouterr().err


def test_processes_find_what_one_process_finds(fleet: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, two = (advice(capsys, str(fleet), "--jobs", jobs) for jobs in "12")
    assert one == two
    assert (one["nodes"], [each["signal"] for each in one["signals"]]) == (6, ["memory.available"])
    assert one["signals"][0]["keeps"] is ("evictionHard" not in one["configuration"]["kubelet"])


def test_what_cannot_be_read_is_a_problem_of_its_node(
    fleet: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "bad.jsonl").write_text("no journal\n")
    found = advice(capsys, str(fleet / "node-0000"), str(tmp_path / "bad.jsonl"), "--jobs", "1")
    assert found["nodes"] == 1, "what could not be read is no node with evidence"
    assert found["problems"][0].startswith("bad: ")
    assert main(["advise", str(tmp_path / "bad.jsonl")]) == 2


def test_wrong_arguments_are_named_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["advise", str(tmp_path / "none.jsonl")]) == 2
    assert capsys.readouterr().err.count("none") == 1
    for cover in ("0", "101", "x"):
        with pytest.raises(SystemExit):
            main(["advise", str(tmp_path), "--cover", cover])
        assert f"'{cover}' is not a percentage from 1 to 100" in capsys.readouterr().err


def test_the_yaml_is_a_file_that_check_accepts(fleet: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It was a document of its own kind, which `evictd check` refused."""
    assert main(["advise", str(fleet), "--output", "yaml"]) == 0
    (file := tmp_path / "advised.yaml").write_text(capsys.readouterr().out)
    assert file.read_text().startswith("# 6 nodes, ")
    assert main(["check", "--syntax", str(file)]) == 0


def test_an_eviction_for_a_stall_is_not_called_none(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["advise", str(SCENARIOS / "thrashing.yaml")]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert shown.startswith("1 node, 6 readings, 0 evictions")
    assert "no eviction for pressure" not in shown
    assert "1 eviction for stalled tasks" in shown


def test_a_capture_tells_what_the_journal_of_it_would(tmp_path: Path) -> None:
    journal = journal_of("memory-with-priorities", tmp_path / "x.jsonl")
    of_journal = evidence_of(("n", (journal,))).episodes
    of_capture = evidence_of(("n", (SCENARIOS / "memory-with-priorities.yaml",))).episodes
    assert [(e.pod, e.used, e.took) for e in of_capture] == [(e.pod, e.used, e.took) for e in of_journal]


def test_kills_by_the_kernel_are_counted_and_the_pod_that_would_have_gone_first_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It proposed a threshold without a word of the seven kills, nor that it evicts an innocent pod first (world 43)."""
    (world,) = (each for each in incident_files() if each.name.startswith("43-"))
    assert main(["simulate", str(world), "--journal", str(tmp_path / "43")]) == 0
    capsys.readouterr()
    assert main(["advise", str(tmp_path / "43")]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "the kernel killed 7 processes for want of memory of the node: 7 of default/api on 43" in text
    assert "It would have evicted default/api (exceeds its request by 244Mi) first, by what the pods requested" in text
    found = advice(capsys, str(tmp_path / "43"))
    assert found["kernelKilled"] == [{"node": "43", "where": "default/api", "count": 7}]
    assert found["missing"][0]["evictedFirst"] == "default/api"


@pytest.mark.slow
def test_a_dask_cluster_finds_the_same(
    fleet: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two workers of a local cluster, each a process of its own."""
    distributed = pytest.importorskip("distributed", reason="the extra `fleet` is not installed")
    alone = advice(capsys, str(fleet), "--jobs", "1")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=None
    ) as cluster:
        assert advice(capsys, str(fleet), "--dask", cluster.scheduler_address) == alone


def test_without_dask_the_extra_is_named(
    fleet: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    assert main(["advise", str(fleet), "--dask", "tcp://127.0.0.1:1"]) == 2
    shown = capsys.readouterr().err
    assert "the extra `fleet`: in a clone run make setup" in shown
    assert "pip --python /usr/lib/evictd/bin/python3 install" in shown


def test_an_empty_journal_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "journal.jsonl").touch()
    assert main(["advise", str(tmp_path)]) == 2
    assert "journal.jsonl: there is no journal entry in it" in capsys.readouterr().err
