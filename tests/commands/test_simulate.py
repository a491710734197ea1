"""`evictd simulate`, as it is called: its outputs, its options, and what it says to bad files."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from evictd.cli import main
from evictd.commands.inputs import source
from evictd.config.file import parse_documents
from tests.stories import GI, SCENARIOS, memory_step, pod

NAMES = sorted(path.stem for path in SCENARIOS.glob("*.yaml"))


@pytest.mark.parametrize("name", NAMES)
def test_every_scenario_that_ships_can_be_simulated(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", str(SCENARIOS / f"{name}.yaml")]) == 0
    assert capsys.readouterr().out.startswith(f"{name}: decided by policy Standard\n")


def test_json_and_yaml_say_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    path = str(SCENARIOS / "min-reclaim.yaml")
    assert main(["simulate", path, "--output", "json"]) == 0
    as_json = json.loads(capsys.readouterr().out)
    assert main(["simulate", path, "--output", "yaml"]) == 0
    documents, problems = parse_documents(capsys.readouterr().out, "yaml", max_values=1_000_000)
    assert problems == []
    assert documents == [as_json]
    assert [step["evicted"] for step in as_json["steps"] if step["evicted"]] == [
        ["default/scratch-a"],
        ["default/scratch-b"],
    ]


def _evicted(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> list[str]:
    assert main(["simulate", *arguments, "--output", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    return [name for step in document["steps"] for name in step["evicted"]]


def test_the_policies_differ_where_they_say_so(capsys: pytest.CaptureFixture[str]) -> None:
    """A protected culprit costs nobody under Standard, and everybody else under Kubelet."""
    path = str(SCENARIOS / "protected-culprit.yaml")
    assert _evicted([path], capsys) == []
    assert _evicted([path, "--policy", "Kubelet"], capsys) == ["default/toolbox", "default/web", "default/api"]


def test_missing_stats_cost_the_database_under_kubelet_only(capsys: pytest.CaptureFixture[str]) -> None:
    path = str(SCENARIOS / "missing-stats.yaml")
    assert _evicted([path], capsys) == ["default/leak"]
    assert _evicted([path, "--policy", "Kubelet"], capsys) == ["default/database"]


def test_another_configuration_decides_differently(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = tmp_path / "config.yaml"
    config.write_text(
        "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nevictionHard: {memory.available: 10Mi}\n"
    )
    path = str(SCENARIOS / "memory-with-priorities.yaml")
    assert _evicted([path], capsys) == ["default/report"]
    assert _evicted([path, "--config", str(config)], capsys) == []
    assert main(["simulate", path, "--config", str(config)]) == 0
    assert f"decidedby{config}" in "".join(capsys.readouterr().out.split()), "it had the policy only"


def test_the_scenario_names_its_policy_and_options(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "scenario.json"
    document = json.loads(_document())
    document["evictd"] = {"decisionPolicy": "Kubelet", "reclaim": {"images": "Off"}}
    path.write_text(json.dumps(document))
    assert main(["simulate", str(path), "--output", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["policy"] == "Kubelet"


# --- bad input --------------------------------------------------------------------------------------------------------


def _document(**changes: Any) -> str:
    fields = {
        "name": "s",
        "config": {"evictionHard": {"memory.available": "500Mi"}},
        "pods": [pod("a", memory="1Gi")],
        "steps": [memory_step("0s", GI, {"a": GI})],
        **changes,
    }
    return json.dumps(fields)


def _with_request(text: str) -> str:
    return _document(pods=[pod("a", memory=text)])


BAD = {
    "nothing": ("", "is empty; a file holds one scenario, a map with `steps`, or one world"),
    "a list": ("[1, 2]", "is no map"),
    "two documents": ("a: 1\n---\nb: 2\n", "holds 2 documents"),
    "no steps": ('{"name": "x"}', "steps"),
    "empty steps": (_document(steps=[]), "steps: there is none"),
    "unknown field": (_document(colour="red"), "colour"),
    "unknown field of a step": (_document(steps=[{"at": "0s", "sumary": {}}]), "steps[0]"),
    "wrong kind": (_document(kind="Pod"), "kind: Pod: not a scenario"),
    "another kind of number": (_document(steps=[{"at": 5}]), "steps[0].at"),
    "no unit": (_document(steps=[{"at": "5"}]), "steps[0].at: 5: time: missing unit"),
    "a step back in time": (
        _document(steps=[memory_step("10s", GI, {}), memory_step("5s", GI, {})]),
        "steps[1].at: 5s: a step back in time",
    ),
    "a malformed request": (_with_request("1GiB"), "pods[0]"),
    "a percentage as a request": (_with_request("10%"), "pods[0]"),
    "non-ASCII digits": (_with_request("\uff11Gi"), "pods[0]"),
    "a class that does not exist": (
        _document(pods=[{**pod("a"), "status": {"qosClass": "Foo"}}]),
        "Invalid enum value 'Foo' - at `$.status.qosClass`",
    ),
    "half of a surrogate pair": (_with_request("\ud800"), "is no Unicode text"),
    "half of a surrogate pair as a name": (_document(**{"\ud800": 1}), "is not the name of a field"),
    "a time beyond year 9999": (
        _document(steps=[{"at": "0s", "summary": {"node": {"fs": {"time": "9999-12-31T23:59:59-23:00"}}}}]),
        "years 1 to 9999",
    ),
    "a name that a terminal acts on": (_document(**{"\x1b[31m\u202e": 1}), "\\x1b[31m\\u202e"),
    "NaN": (_document().replace(str(GI), "NaN", 1), "steps[0]"),
    "YAML's nan": (
        "steps: [{at: 0s, summary: {node: {memory: {availableBytes: .nan, workingSetBytes: 1}}}}]",
        "steps[0]",
    ),
    "a text for a number": (_document().replace(str(GI), '"much"', 1), "steps[0]"),
    "no uid": (_document(pods=[{"metadata": {"name": "a"}, "spec": {}}]), "pods[0].metadata.uid"),
    "one uid twice": (_document(pods=[pod("a"), pod("a")]), "pods[1].metadata.uid: a: another pod has it"),
    "unknown signal": (
        _document(config={"evictionHard": {"disk.available": "1Gi"}}),
        "config.evictionHard[disk.available]",
    ),
    "more than all": (
        _document(config={"evictionHard": {"memory.available": "101%"}}),
        "config.evictionHard[memory.available]: 101%",
    ),
    "negative": (_document(config={"evictionHard": {"memory.available": "-1Gi"}}), "must be positive"),
    "soft without grace": (
        _document(config={"evictionSoft": {"memory.available": "1Gi"}}),
        "grace period must be specified",
    ),
    "unknown configuration field": (_document(config={"evictionHrd": {}}), "config.evictionHrd: unknown field"),
    "unknown policy": (_document(evictd={"decisionPolicy": "Lenient"}), "evictd.decisionPolicy"),
    "duplicate keys": ("name: a\nname: b\nsteps: []\n", "name: appears twice"),
    "a bomb": (
        "a: &a [x, x, x, x, x, x, x, x, x]\n"
        + "".join(f"{chr(98 + i)}: &{chr(98 + i)} [{', '.join([f'*{chr(97 + i)}'] * 9)}]\n" for i in range(9)),
        "too many values",
    ),
    "deep": ("[" * 5000, "nested"),
    "a tag": ("steps: !!python/object/apply:os.system [ls]", "tag"),
    "broken YAML": ("steps: [", "line 2, column 1"),
    "no text": ("\x00\x01", ""),
}


@pytest.mark.parametrize(("text", "expected"), BAD.values(), ids=list(BAD))
def test_a_bad_scenario_is_refused_in_words(
    text: str, expected: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit status 2, each fault a line with the file's name, no traceback, nothing on standard output."""
    path = tmp_path / "bad.yaml"
    path.write_text(text, encoding="utf-8")
    assert main(["simulate", str(path)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    lines = captured.err.splitlines()
    assert lines
    assert all(str(path) in line for line in lines)
    assert all(len(line) < 500 for line in lines)
    assert "Traceback" not in captured.err
    assert all(line.isprintable() for line in lines)
    assert expected in captured.err


def test_a_file_of_100_mb_is_refused_without_being_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "big.json"
    with path.open("wb") as file:
        file.truncate(100 * 10**6)
    assert main(["simulate", str(path)]) == 2
    assert f"{path}: 100000000 bytes: is too large; at most {source.MAX_BYTES}" in capsys.readouterr().err


def test_a_missing_file_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", str(tmp_path / "none.yaml")]) == 2
    assert "none.yaml: No such file or directory" in capsys.readouterr().err


def test_a_pipe_without_a_writer_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It hung for ever, also as the daemon's configuration."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    assert main(["simulate", str(path)]) == 2
    assert main(["check", "--config", str(path)]) == 2
    assert capsys.readouterr().err.count("is no regular file") == 2
