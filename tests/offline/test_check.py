"""`evictd check`: effective thresholds, lints and exit codes, on nodes made of a few files."""

import argparse
import json
from pathlib import Path

import pytest

from evictd.config.file import load
from evictd.core.quantity import parse_quantity
from evictd.core.signal import Signal
from evictd.errors import ExitCode, InputError, NodeError
from evictd.offline.check import add_arguments, check, run

HEAD = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
COMPLETE = HEAD + (
    "evictionHard: {memory.available: 500Mi, nodefs.available: 10%, nodefs.inodesFree: 5%, pid.available: 5%}\n"
)


@pytest.fixture
def node(tmp_path: Path) -> Path:
    """A node of 8 GiB that has nothing else."""
    proc = tmp_path / "node" / "proc"
    proc.mkdir(parents=True)
    (proc / "meminfo").write_text("MemTotal: 8388608 kB\n")
    return tmp_path / "node"


def write(folder: Path, text: str, name: str = "c.yaml") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def outcome(*arguments: str) -> ExitCode:
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    return run(parser.parse_args(arguments))


def test_a_sound_configuration_is_done(tmp_path: Path, node: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert outcome(str(write(tmp_path, COMPLETE)), "--root", str(node)) is ExitCode.DONE
    assert "nothing to object to" in capsys.readouterr().out


def test_a_finding_is_a_no(tmp_path: Path, node: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert outcome(str(write(tmp_path, HEAD)), "--root", str(node)) is ExitCode.NO
    assert "NoPIDThreshold: pid.available: has no threshold" in capsys.readouterr().out


def test_a_wrong_configuration_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="unknown field"):
        outcome(str(write(tmp_path, HEAD + "x: 1\n")))


def test_a_root_that_is_not_there_is_a_node_that_is_not_reached(tmp_path: Path) -> None:
    with pytest.raises(NodeError, match="is no directory"):
        outcome(str(write(tmp_path, COMPLETE)), "--root", str(tmp_path / "none"))


def test_every_wrong_override_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        outcome(str(write(tmp_path, COMPLETE)), "--memory-capacity=much", "--pid-capacity=1K")
    assert [line.partition(":")[0] for line in caught.value.problems] == ["--memory-capacity", "--pid-capacity"]


def test_the_file_may_be_given_as_a_flag_and_flags_win(
    tmp_path: Path, node: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path, COMPLETE)
    outcome("--config", str(path), "--root", str(node), "--output=json", "--eviction-hard=pid.available<7")
    data = json.loads(capsys.readouterr().out)
    assert [(row["signal"], row["value"]) for row in data["thresholds"]] == [("pid.available", "7")]


def test_percentages_become_amounts_of_this_node_or_of_the_one_that_is_assumed(tmp_path: Path, node: Path) -> None:
    settings = load(write(tmp_path, HEAD + "evictionHard: {memory.available: 10%}\n"))
    assert check(settings, node).capacities[Signal.MEMORY_AVAILABLE].value() == 8 * 2**30
    assumed = {Signal.MEMORY_AVAILABLE: parse_quantity("1Gi")}
    assert check(settings, node, assumed).capacities[Signal.MEMORY_AVAILABLE].value() == 2**30


@pytest.mark.parametrize(("layout", "value"), [("single", 0.1), ("dedicated", 0.15), ("split", 0.1)])
def test_containerfs_thresholds_follow_the_layout(tmp_path: Path, node: Path, layout: str, value: float) -> None:
    thresholds = check(load(write(tmp_path, HEAD)), node, layout=layout).thresholds
    (found,) = [one for one in thresholds if one.signal is Signal.CONTAINERFS_AVAILABLE]
    assert found.value.fraction == pytest.approx(value)


def test_the_kubelet_of_this_node_is_compared_with(tmp_path: Path, node: Path) -> None:
    write(node, COMPLETE, "var/lib/kubelet/config.yaml")
    lints = {one.lint.value for one in check(load(write(tmp_path, COMPLETE)), node).findings}
    assert lints == {"KubeletActsFirst"}


def test_the_kubelets_own_file_is_not_compared_with_itself(node: Path) -> None:
    path = write(node, COMPLETE, "var/lib/kubelet/config.yaml")
    assert check(load(path), node).findings == ()


def test_a_kubelet_may_be_named(tmp_path: Path, node: Path) -> None:
    kubelet = write(tmp_path, '{"kubeletconfig": {"evictionHard": {"memory.available": "1Gi"}}}', "configz.json")
    findings = check(load(write(tmp_path, COMPLETE)), node, kubelet_config=kubelet).findings
    assert [finding.signal for finding in findings] == [Signal.MEMORY_AVAILABLE]


def test_the_kernels_reserve_is_compared_with(tmp_path: Path, node: Path) -> None:
    (node / "proc/zoneinfo").write_text("Node 0\n        low      1000000\n")
    lints = [one.lint.value for one in check(load(write(tmp_path, COMPLETE)), node).findings]
    assert lints == ["BelowLowWatermark"]
