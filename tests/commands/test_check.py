"""`evictd check`: effective thresholds, lints and exit codes, on nodes made of a few files."""

import argparse
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evictd.cli import main
from evictd.commands import check as command
from evictd.commands.check import add_arguments, run
from evictd.config.file import load
from evictd.config.flags import Flags
from evictd.config.lint_model import Lint, Severity
from evictd.config.settings import Settings
from evictd.core.model.config import MemoryFormula
from evictd.core.model.signal import Signal
from evictd.core.model.stats import FsStats
from evictd.core.model.threshold_config import DEFAULT_EVICTION_HARD
from evictd.core.units.quantity import Quantity, of_bytes, parse_quantity
from evictd.errors import ExitCode, InputError, NodeError
from evictd.observe.filesystems.filesystem import fs_stats
from evictd.observe.runtime_socket import NO_SOCKET
from evictd.render.check_report import CheckReport
from tests.trees import MOUNTINFO, Tree, plant, v2

HEAD = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
COMPLETE = HEAD + (
    "evictionHard: {memory.available: 500Mi, nodefs.available: 10%, nodefs.inodesFree: 5%, pid.available: 5%}\n"
)


MEMINFO = "MemTotal: 8388608 kB\n"


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A node of 8 GiB that has cgroups and nothing else. However full this machine's disk is, the node's has 45 % left."""

    def with_room(answer: os.statvfs_result, now: int) -> FsStats:
        found = fs_stats(answer, now)
        return replace(found, available_bytes=(found.capacity_bytes or 0) * 45 // 100, inodes_free=found.inodes)

    monkeypatch.setattr("evictd.observe.filesystems.filesystem.fs_stats", with_room)
    proc: Tree = {"meminfo": MEMINFO, "self": {"mountinfo": MOUNTINFO}}
    return plant(
        tmp_path / "node", {"proc": proc, "sys": {"fs": {"cgroup": v2(file=0)}}, "var": {"lib": {"kubelet": {}}}}
    )


def write(folder: Path, text: str, name: str = "c.yaml") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def check(*arguments: Any, **options: Any) -> CheckReport:
    """Return the report without notes: no tree of files has a runtime."""
    report = command.check(*arguments, **options)
    return replace(report, findings=tuple(one for one in report.findings if one.severity is not Severity.NOTE))


def outcome(*arguments: str) -> ExitCode:
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    return run(parser.parse_args(arguments))


def test_a_sound_configuration_is_done(tmp_path: Path, node: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert outcome(str(write(tmp_path, COMPLETE)), "--root", str(node)) is ExitCode.DONE
    assert "no findings" in capsys.readouterr().out


def test_a_missing_root_directory_is_said_to_leave_the_daemon_without_a_reading(
    tmp_path: Path, node: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The amounts of another directory were shown as the node's; the daemon then had none."""
    path = str(write(tmp_path, COMPLETE))
    outcome(path, "--root", str(node))
    assert "rootDir" not in capsys.readouterr().out
    (node / "var/lib/kubelet").rmdir()
    outcome(path, "--root", str(node))
    shown = " ".join(capsys.readouterr().out.split())
    assert f"rootDir {node}/var/lib/kubelet does not exist" in shown
    assert f"the amounts shown are of {node}/var/lib." in shown


def test_what_is_not_tested_for_another_node_is_said(
    tmp_path: Path, node: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(write(tmp_path, COMPLETE))
    assert outcome(path, "--root", str(node), "--memory-capacity", "64Gi") is ExitCode.DONE
    shown = " ".join(capsys.readouterr().out.split())
    assert "not tested for another node's memory" in shown
    assert "MemoryThresholdNeverMet, SoftAfterHard, BelowLowWatermark; run `evictd check` on that node" in shown
    assert "sizes as given: memory.available; all others are unknown" in shown
    outcome(path, "--root", str(node))
    assert "sizes as given" not in capsys.readouterr().out


@pytest.mark.parametrize(("threshold", "said"), [("pid.available: '200'", True), ("memory.available: 500Mi", False)])
def test_that_pids_of_another_node_are_not_tested_is_said(
    threshold: str, said: bool, tmp_path: Path, node: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A threshold of 200 PIDs, which is never met where 300 always count as available, passed without a word."""
    path = str(write(tmp_path, f"{HEAD}evictionHard: {{{threshold}}}\n"))
    outcome(path, "--root", str(node), "--pid-capacity", "32768")
    shown = " ".join(capsys.readouterr().out.split())
    assert ("not tested for another node's PIDs" in shown) is said


def test_a_threshold_below_the_kernels_share_of_another_node_is_named(
    tmp_path: Path, node: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    soft = "evictionSoft: {memory.available: 120Mi}\nevictionSoftGracePeriod: {memory.available: 5s}\n"
    path = write(tmp_path, f"{HEAD}evictionHard: {{memory.available: 1Mi}}\n{soft}")
    assert outcome(str(path), "--root", str(node), "--memory-capacity", "4Gi") is ExitCode.DONE
    shown = " ".join(capsys.readouterr().out.split())
    assert "memory.available<120Mi may never be met on a node of 4Gi, where 137Mi to 207Mi that" in shown
    assert "not tested for another node's memory" not in shown


def test_a_field_without_effect_is_a_warning(tmp_path: Path, node: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The file may be the kubelet's own, which obeys the field, so the exit status stays 0."""
    path = write(tmp_path, COMPLETE + "cgroupDriver: systemd\nvolumeStatsAggPeriod: 0s\n")
    assert outcome(str(path), "--root", str(node)) is ExitCode.DONE
    warnings = [line for line in capsys.readouterr().out.splitlines() if "has no effect" in line]
    assert warnings == ["warning: cgroupDriver has no effect on evictd; only the kubelet obeys it"]


def test_a_misspelt_field_is_a_no_and_the_daemon_starts_all_the_same(
    tmp_path: Path, node: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path, COMPLETE + "evictionHrad: {memory.available: 1Gi}\n")
    assert outcome(str(path), "--root", str(node)) is ExitCode.NO
    shown = " ".join(capsys.readouterr().out.split())
    assert shown.count("evictionHrad") == 1
    assert "error: " in shown
    assert "which has no effect; did you mean evictionHard? (FieldMisspelt)" in shown
    assert outcome(str(path), "--syntax") is ExitCode.DONE
    assert len(load(path).warnings) == 1


def test_a_field_that_only_a_newer_kubelet_knows_is_no_no(tmp_path: Path, node: Path) -> None:
    path = write(tmp_path, COMPLETE + "evictionSignalWindow: 5s\nimageGCPolicy: LRU\n")
    assert outcome(str(path), "--root", str(node)) is ExitCode.DONE


def test_a_warning_is_no_no(tmp_path: Path, node: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The file that kubeadm writes has no PID threshold, which is worth a line and not a failed check."""
    path = write(tmp_path, HEAD + "cgroupDriver: systemd\nevictionPressureTransitionPeriod: 0s\n")
    assert outcome(str(path), "--root", str(node)) is ExitCode.DONE
    assert "warning: pid.available: has no threshold" in capsys.readouterr().out


@pytest.mark.parametrize("value", ["5000Gi", "95%"])
def test_a_lethal_configuration_is_a_no(
    tmp_path: Path, node: Path, value: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path, HEAD + f"evictionHard: {{memory.available: {value}}}\n")
    assert outcome(str(path), "--root", str(node)) is ExitCode.NO
    assert "error: memory.available:" in capsys.readouterr().out


def test_an_amount_without_its_unit_is_a_no(tmp_path: Path, node: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """500 bytes cannot be meant, and the OOM killer acts instead; it was a warning."""
    path = write(tmp_path, HEAD + 'evictionHard: {memory.available: "500"}\n')
    assert outcome(str(path), "--root", str(node)) is ExitCode.NO
    assert "error: memory.available: 500 is 500 bytes" in capsys.readouterr().out


def test_met_already_on_this_node_is_a_no(tmp_path: Path, node: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path, HEAD + "evictionHard: {nodefs.available: 48%}\n")
    assert outcome(str(path), "--root", str(node), "--output=json") is ExitCode.NO
    data = json.loads(capsys.readouterr().out)
    row = next(row for row in data["thresholds"] if row["signal"] == "nodefs.available")
    assert row["available"] > 0
    kinds = {one["lint"] for one in data["findings"] if one["severity"] == "error"}
    assert kinds == {"MetAlready"}


def test_a_machine_without_cgroups_says_why_it_has_no_amounts(tmp_path: Path) -> None:
    report = check(load(write(tmp_path, COMPLETE)), tmp_path)
    assert report.capacities == {}
    assert [line for line in report.warnings if line.startswith("this node's amounts are unknown: ")]


def test_soft_thresholds_without_a_grace_period_are_warned_of(tmp_path: Path, node: Path) -> None:
    """The warning said 0s, although both policies give a container 2 s (docs/parity.md)."""
    text = "evictionSoft: {memory.available: 1Gi}\nevictionSoftGracePeriod: {memory.available: 1m, pid.available: 1m}\n"
    warnings = "\n".join(check(load(write(tmp_path, HEAD + text)), node).warnings)
    assert "evictionMaxPodGracePeriod is 0: soft thresholds leave pods 2 s to end" in warnings
    assert "evictionSoftGracePeriod.pid.available has no effect" in warnings


def test_a_soft_threshold_that_is_hard_by_its_grace_period_is_no_soft_one(tmp_path: Path, node: Path) -> None:
    """The pod grace period of soft thresholds was asked for, where a grace period of 0s makes the only one hard."""
    text = "evictionSoft: {memory.available: 1Gi}\nevictionSoftGracePeriod: {memory.available: 0s}\n"
    warnings = "\n".join(check(load(write(tmp_path, HEAD + text)), node).warnings)
    assert "evictionMaxPodGracePeriod" not in warnings


def test_a_minimum_reclaim_without_a_threshold_is_warned_of(tmp_path: Path, node: Path) -> None:
    text = "evictionHard: {memory.available: 500Mi}\nevictionMinimumReclaim: {memory.available: 1Gi, nodefs.available: 1Gi}\n"
    warnings = [each for each in check(load(write(tmp_path, HEAD + text)), node).warnings if "Reclaim" in each]
    assert warnings == ["evictionMinimumReclaim.nodefs.available has no effect: there is no threshold for it"]


def test_a_named_file_that_is_not_there_is_a_warning(
    tmp_path: Path, node: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The daemon did not start with a configuration that had passed; another machine than the node may lack the file."""
    cluster = "cluster: {kubeconfig: /etc/kubernetes/kubelet.conf}\n"
    path = str(write(tmp_path, COMPLETE + "---\napiVersion: evictd.io/v1alpha1\nkind: EvictdConfiguration\n" + cluster))
    assert outcome(path, "--root", str(node), "--output=json") is ExitCode.DONE
    finding, note = json.loads(capsys.readouterr().out)["findings"]
    assert note["severity"] == "note"
    assert (finding["lint"], finding["severity"], finding["signal"]) == ("FileUnreadable", "warning", None)
    assert outcome(path, "--root", str(node)) is ExitCode.DONE
    shown = " ".join(capsys.readouterr().out.split())
    assert "warning: cluster.kubeconfig: /etc/kubernetes/kubelet.conf: there is no such file" in shown


def test_a_wrong_configuration_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="maxPods"):
        outcome(str(write(tmp_path, HEAD + "maxPods: x\n")))


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


@pytest.mark.parametrize(("layout", "same"), [("single", {"imagefs", "containerfs"}), ("split", {"containerfs"})])
def test_a_capacity_of_nodefs_is_that_of_all_that_lies_on_it(
    tmp_path: Path, node: Path, layout: str, same: set[str]
) -> None:
    """What is available on this host's disk was shown beside the capacity of another one."""
    given = {Signal.NODEFS_AVAILABLE: parse_quantity("20G")}
    report = check(load(write(tmp_path, HEAD)), node, given, layout=layout)
    disks = {Signal.NODEFS_AVAILABLE, Signal.IMAGEFS_AVAILABLE, Signal.CONTAINERFS_AVAILABLE}
    found = {signal for signal in disks if (held := report.capacities.get(signal)) and held.value() == 20 * 10**9}
    assert {signal.value.partition(".")[0] for signal in found} == {"nodefs", *same}
    assert not found & report.available.keys()


def test_a_given_imagefs_is_not_that_of_nodefs(tmp_path: Path, node: Path) -> None:
    given = {Signal.NODEFS_AVAILABLE: parse_quantity("20G"), Signal.IMAGEFS_AVAILABLE: parse_quantity("9G")}
    report = check(load(write(tmp_path, HEAD)), node, given, layout="single")
    assert report.capacities[Signal.IMAGEFS_AVAILABLE].value() == 9 * 10**9


AMOUNTS = HEAD + (
    "evictionHard: {memory.available: 500Mi, nodefs.available: 20Gi, nodefs.inodesFree: 7%, imagefs.available: 60Gi, "
    "imagefs.inodesFree: 7%, pid.available: 5%}\n"
)
"""Amounts on disks: above 10 % of 200G, and below 15 % of 2T."""


def test_amounts_on_disks_of_another_node_are_compared_only_where_their_size_is_given(
    tmp_path: Path, node: Path
) -> None:
    """The percentages of the kubelet were taken of the disk of the machine on which the check ran."""
    settings = load(write(tmp_path, AMOUNTS))
    kubelet = write(tmp_path, HEAD + "systemReserved: {memory: 1Gi}\n", "kubelet.yaml")
    memory = {Signal.MEMORY_AVAILABLE: parse_quantity("256Gi")}
    disks = {Signal.NODEFS_AVAILABLE: parse_quantity("200G"), Signal.IMAGEFS_AVAILABLE: parse_quantity("2T")}

    def found(sizes: dict[Signal, Quantity]) -> tuple[list[Signal | None], list[str]]:
        report = check(settings, node, sizes, kubelet_config=kubelet)
        first = [one.signal for one in report.findings if one.lint in {Lint.KUBELET_ACTS_FIRST, Lint.MET_ALREADY}]
        assert report.available == {}
        return first, [one for one in report.warnings if one.startswith("not compared with percentages")]

    flags = "nodefs.available, imagefs.available; give --nodefs-capacity, --imagefs-capacity for that"
    assert found(memory) == ([], [f"not compared with percentages and capacities: {flags}"])
    assert found(memory | disks) == ([Signal.IMAGEFS_AVAILABLE], [])


def test_two_given_sizes_of_disks_are_two_filesystems(tmp_path: Path, node: Path) -> None:
    """The size of imagefs did not count for writable layers, unless `--layout dedicated` was given too."""
    disks = {Signal.NODEFS_AVAILABLE: parse_quantity("20G"), Signal.IMAGEFS_AVAILABLE: parse_quantity("100G")}
    capacities = check(load(write(tmp_path, HEAD)), node, disks).capacities
    assert capacities[Signal.CONTAINERFS_AVAILABLE] == disks[Signal.IMAGEFS_AVAILABLE]
    equal = dict.fromkeys(disks, parse_quantity("20G"))
    thresholds = check(load(write(tmp_path, HEAD)), node, equal).thresholds
    (single,) = [one for one in thresholds if one.signal is Signal.CONTAINERFS_AVAILABLE]
    assert single.value.fraction == pytest.approx(0.1)


def test_the_kubelet_of_this_node_is_compared_with(tmp_path: Path, node: Path) -> None:
    write(node, COMPLETE, "var/lib/kubelet/config.yaml")
    settings = load(write(tmp_path, COMPLETE))
    report = check(settings, node)
    assert {one.lint.value for one in report.findings} == {"KubeletActsFirst"}
    file = node / "var/lib/kubelet/config.yaml"
    assert report.compared_with == f"the kubelet's file {file}"
    plant(node / "proc/12", {"cmdline": "kubelet\0"})
    assert check(settings, node).compared_with == f"the kubelet of PID 12 ({file})", "a machine may have several"
    named = write(tmp_path, COMPLETE, "another-node.yaml")
    assert check(settings, node, kubelet_config=named).compared_with == f"the kubelet's file {named}"


@pytest.mark.parametrize(
    ("sizes", "layout"), [({Signal.MEMORY_AVAILABLE: parse_quantity("16Gi")}, None), ({}, "single")]
)
def test_the_kubelet_of_this_node_is_none_of_another(
    tmp_path: Path, node: Path, sizes: dict[Signal, Quantity], layout: str | None
) -> None:
    """A file that is checked for a node of another size was compared with the kubelet of the machine on which it is checked."""
    kubelet = write(node, COMPLETE, "var/lib/kubelet/config.yaml")
    settings = load(write(tmp_path, COMPLETE))
    unnamed = check(settings, node, sizes, layout=layout)
    assert unnamed.findings == ()
    assert [one for one in unnamed.warnings if one.startswith("not compared with a kubelet, ")], "it was silent on that"
    named = check(settings, node, sizes, layout=layout, kubelet_config=kubelet)
    assert not any("not compared with a kubelet" in one for one in named.warnings)
    assert {one.lint.value for one in named.findings} == {"KubeletActsFirst"}


def test_the_kubelets_own_file_is_not_compared_with_itself(node: Path) -> None:
    path = write(node, COMPLETE, "var/lib/kubelet/config.yaml")
    report = check(load(path), node)
    assert report.findings == ()
    assert report.compared_with is None


def with_drop_in(node: Path, text: str) -> Path:
    """Return the file of a running kubelet of 1Gi, over which it merges a drop-in of this text."""
    plant(node / "proc/12", {"cmdline": "/usr/bin/kubelet\0--config-dir=/etc/kubelet.conf.d\0"})
    write(node, HEAD + text, "etc/kubelet.conf.d/90-evictd.conf")
    return write(
        node, HEAD + "evictionHard: {memory.available: 1Gi, imagefs.available: 1%}\n", "var/lib/kubelet/config.yaml"
    )


def test_the_kubelets_drop_ins_and_flags_count(tmp_path: Path, node: Path) -> None:
    """They were not read: a kubelet that a drop-in had switched off was still reported to act first."""
    reserved = "systemReserved: {memory: 500Mi}\nenforceNodeAllocatable: [none]\n"
    kubelet = with_drop_in(node, "evictionHard: {memory.available: 0%}\n" + reserved)
    settings = load(write(tmp_path, COMPLETE))
    assert check(settings, node).findings == ()
    assert check(settings, node, kubelet_config=kubelet).findings == (), "the file of the running kubelet"
    copy = write(tmp_path, kubelet.read_text(), "another-node.yaml")
    assert "KubeletActsFirst" in {one.lint.value for one in check(settings, node, kubelet_config=copy).findings}
    (node / "proc/12/cmdline").write_text("kubelet\0--eviction-hard=memory.available<2Gi\0")
    assert any("2Gi" in one.message for one in check(settings, node).findings if one.lint.value == "KubeletActsFirst")


def test_of_several_files_and_flags_the_one_that_sets_a_threshold_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """FROM had `set` for each of them, also where a drop-in had replaced the value of the file."""
    header = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
    main_file, drop_in = tmp_path / "main.yaml", tmp_path / "d/10-memory.conf"
    main_file.write_text(header + "evictionHard: {memory.available: 500Mi, pid.available: 5%}\n")
    drop_in.parent.mkdir()
    drop_in.write_text(header + "evictionHard: {memory.available: 1Gi}\n")
    merged = ["check", str(main_file), "--config-dir", str(drop_in.parent)]
    soft = ["--eviction-soft", "memory.available<2Gi", "--eviction-soft-grace-period", "memory.available=1m"]

    def lines(*arguments: str) -> list[str]:
        main([*merged, *arguments])
        text = " ".join(capsys.readouterr().out.split())
        return [part.partition(" warning: ")[0] for part in text.split("set by ")[1:]]

    first, second = f"{drop_in}: memory.available<1Gi (hard)", f"{main_file}: pid.available<5% (hard)"
    assert lines()[0].strip() == first
    assert lines()[1].startswith(second)
    assert lines(*soft)[2].startswith("--eviction-soft: memory.available<2Gi (soft, 1m0s)")
    assert lines("--eviction-hard", "memory.available<1Gi,pid.available<5%") == [], "all are the flag's"
    main([*merged, "--output", "json"])
    found = {each["signal"]: each["setBy"] for each in json.loads(capsys.readouterr().out)["thresholds"]}
    assert found["memory.available"] == str(drop_in)
    assert found["allocatableMemory.available"] is None


def test_drop_ins_that_are_not_checked_are_named(node: Path) -> None:
    kubelet = with_drop_in(node, "evictionHard: {memory.available: 200Mi}\n")
    directory = node / "etc/kubelet.conf.d"
    warning = f"the kubelet merges drop-ins over this file, which were not checked; add --config-dir={directory}"
    assert warning in check(load(kubelet), node).warnings
    assert warning not in check(load(kubelet, Flags(config_dir=directory)), node).warnings
    (node / "proc/12/cmdline").write_text("kubelet\0--config-dir=/none\0")
    missing = f"the kubelet's --config-dir {node}/none is no directory here: its drop-ins are not compared with"
    assert missing in check(load(kubelet), node).warnings


def test_a_kubelet_may_be_named(tmp_path: Path, node: Path) -> None:
    kubelet = write(tmp_path, '{"kubeletconfig": {"evictionHard": {"memory.available": "1Gi"}}}', "configz.json")
    findings = check(load(write(tmp_path, COMPLETE)), node, kubelet_config=kubelet).findings
    assert [finding.signal for finding in findings] == [Signal.MEMORY_AVAILABLE]


def by(formula: MemoryFormula, settings: Settings) -> Settings:
    """The settings with another formula of `memory.available`."""
    return replace(settings, eviction=replace(settings.eviction, memory_formula=formula))


def test_the_kernels_reserve_is_compared_with(tmp_path: Path, node: Path) -> None:
    (node / "proc/zoneinfo").write_text("Node 0\n        low      1000000\n")
    settings = load(write(tmp_path, COMPLETE))
    documented = by(MemoryFormula.WORKING_SET, settings)
    assert [one.lint.value for one in check(documented, node).findings] == ["BelowLowWatermark"]
    assert check(settings, node).findings == (), "the kernel's estimate leaves the watermarks out"
    other = check(documented, node, {Signal.MEMORY_AVAILABLE: parse_quantity("64Gi")})
    assert "BelowLowWatermark" not in {one.lint.value for one in other.findings}, "that of another node is not known"


def test_memory_that_no_process_can_have_is_compared_with(tmp_path: Path, node: Path) -> None:
    meminfo = node / "proc/meminfo"
    meminfo.write_text(meminfo.read_text() + "SUnreclaim: 600000 kB\n")
    (node / "proc/zoneinfo").write_text("Node 0, zone DMA\n  min 10\n  managed 100\n")
    path = write(tmp_path, COMPLETE)
    documented = by(MemoryFormula.WORKING_SET, load(path))
    assert [one.lint.value for one in check(documented, node).findings] == ["MemoryThresholdNeverMet"]
    lowest = by(MemoryFormula.LOWEST, load(path))
    assert check(lowest, node).findings == ()
    assert check(load(path), node).findings == (), "a hard threshold goes by the lower reading by default"
    larger = {Signal.MEMORY_AVAILABLE: of_bytes(64 << 30)}
    assert check(documented, node, larger).findings == (), "another machine's kernel memory is not known"


def test_the_kubelet_s_threshold_that_cannot_be_met_is_named_beside_evictd_s(tmp_path: Path, node: Path) -> None:
    meminfo = node / "proc/meminfo"
    meminfo.write_text(meminfo.read_text() + "SUnreclaim: 600000 kB\n")
    (node / "proc/zoneinfo").write_text("Node 0, zone DMA\n  min 10\n  managed 100\n")
    kubelet = write(tmp_path, '{"kubeletconfig": {"evictionHard": {"memory.available": "100Mi"}}}', "configz.json")
    findings = check(load(write(tmp_path, COMPLETE)), node, kubelet_config=kubelet).findings
    (found,) = [one for one in findings if one.lint.value == "MemoryThresholdNeverMet"]
    assert found.message.startswith("the kubelet's 100Mi cannot be met: ")


def test_before_a_reload_only_what_the_daemon_would_refuse_counts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A threshold that is met on the node is an error of the lint, and no reason against a reload."""
    assert outcome("--syntax", str(write(tmp_path, HEAD + "evictionHard: {memory.available: 100%}\n"))) is ExitCode.DONE
    assert capsys.readouterr().out == ""
    with pytest.raises(InputError):
        outcome("--syntax", str(write(tmp_path, HEAD + "maxPods: x\n")))


def test_a_slice_of_pods_in_which_systemd_oomd_kills_is_a_warning(node: Path, tmp_path: Path) -> None:
    plant(node / "sys/fs/cgroup", {"system.slice": {"systemd-oomd.service": {"cgroup.procs": ""}}})
    drop_in: Tree = {"10-oomd.conf": "[Slice]\nManagedOOMMemoryPressure=kill\n"}
    plant(node / "usr/lib/systemd/system", {"kubepods.slice.d": drop_in})
    (finding,) = check(load(write(tmp_path, COMPLETE)), node).findings
    assert (finding.lint, finding.severity) == (Lint.OOMD_KILLS, Severity.WARNING)
    assert "kubepods.slice has ManagedOOMMemoryPressure=kill" in finding.message


def test_what_the_kubelet_of_this_node_reserves_is_compared_with_evictd_s_thresholds(
    tmp_path: Path, node: Path
) -> None:
    def found(reserved: str, enforced: str) -> list[str]:
        hard = '"evictionHard": {"memory.available": "100Mi"}, "kubeReserved": {"memory": "100Mi"}'
        text = f'{{"kubeletconfig": {{{hard}, "systemReserved": {{"memory": "{reserved}"}}, {enforced}}}}}'
        kubelet = write(tmp_path, text, "configz.json")
        findings = check(load(write(tmp_path, COMPLETE)), node, kubelet_config=kubelet).findings
        return [str(one.signal and one.signal.value) for one in findings if one.lint.value == "RequestsMeetThreshold"]

    assert found("299Mi", '"enforceNodeAllocatable": ["none"]') == ["memory.available"]
    assert found("300Mi", '"enforceNodeAllocatable": ["none"]') == []
    assert found("300Mi", '"enforceNodeAllocatable": ["pods"]') == ["allocatableMemory.available"]


def test_a_kubelet_that_would_not_start_on_the_node_is_said(tmp_path: Path, node: Path) -> None:
    """The 1948Mi and 100Mi of a large node, on one of 2 GiB, which reports less: the kubelet refused to start."""
    text = '{"kubeletconfig": {"evictionHard": {"memory.available": "100Mi"}, "systemReserved": {"memory": "1948Mi"}}}'
    kubelet = write(tmp_path, text, "configz.json")

    def said(memory: str) -> list[str]:
        sizes = {Signal.MEMORY_AVAILABLE: parse_quantity(memory)}
        warnings = check(load(write(tmp_path, COMPLETE)), node, sizes, kubelet_config=kubelet).warnings
        return [one.partition(": ")[2] for one in warnings if "the hard threshold of the kubelet are 2Gi" in one]

    assert said("1960Mi") == ["nothing is left to pods, and a kubelet does not start; lower them"]
    assert said("2Gi") == ["nothing is left to pods; lower them"]
    assert said("4Gi") == []


@pytest.mark.parametrize("option", ["FILE", "--kubelet-config"])
def test_a_program_reads_what_is_wrong_with_a_file(
    option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Standard output was empty, and the document had neither the version nor the kind of the others."""
    bad, good = str(write(tmp_path, "kind: X\nfoo", "bad.yaml")), str(write(tmp_path, COMPLETE))
    with pytest.raises(InputError) as error:
        outcome("--output=json", *((bad,) if option == "FILE" else (good, option, bad)))
    document = json.loads(capsys.readouterr().out)
    assert document == {"apiVersion": "evictd.io/v1alpha1", "kind": "Check", "problems": list(error.value.problems)}
    outcome("--output=json", good)
    document = json.loads(capsys.readouterr().out)
    assert (document["apiVersion"], document["kind"], document["problems"]) == ("evictd.io/v1alpha1", "Check", [])


def test_a_runtime_is_looked_for_on_this_node_only(
    tmp_path: Path, node: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A note is no finding that a machine without a runtime has to mend."""
    path = str(write(tmp_path, COMPLETE))
    assert outcome(path, "--root", str(node)) is ExitCode.DONE
    shown = " ".join(capsys.readouterr().out.split())
    endpoint = "unix:///run/containerd/containerd.sock"
    assert f"note: containerRuntimeEndpoint {endpoint}: {NO_SOCKET} (their amounts are a guess)" in shown
    assert "no findings" in shown
    outcome(path, "--root", str(node), "--nodefs-capacity", "20Gi")
    assert "containerRuntimeEndpoint" not in capsys.readouterr().out


def test_without_a_file_the_thresholds_are_those_of_explain(node: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`check` showed none, and `explain` the kubelet's defaults."""
    assert outcome("--root", str(node), "--output=json") is ExitCode.DONE
    found = json.loads(capsys.readouterr().out)
    hard = {one["signal"]: one["value"] for one in found["thresholds"] if one["origin"] == "default"}
    assert hard == dict(DEFAULT_EVICTION_HARD)
    assert found["warnings"] == [
        "no FILE was given: the thresholds are the kubelet's defaults; `evictd run` without --config has none and evicts no pod"
    ]
    assert outcome("--root", str(node)) is ExitCode.DONE
    printed = " ".join(capsys.readouterr().out.split())
    assert "dryRun: false: a file with these thresholds and without `dryRun: true` evicts pods" in printed
    assert outcome("--root", str(node), "--eviction-hard=pid.available<5%", "--output=json") is ExitCode.DONE
    assert [one["signal"] for one in json.loads(capsys.readouterr().out)["thresholds"]] == ["pid.available"]


def test_a_directory_is_answered_with_its_files_and_a_file_that_is_not_there_with_an_example(tmp_path: Path) -> None:
    """`Is a directory` and `No such file or directory` left a newcomer without a next step."""
    path = write(tmp_path, COMPLETE)
    with pytest.raises(InputError) as caught:
        outcome(str(tmp_path))
    assert caught.value.problems == (f"{tmp_path}: is a directory; give one of its files: {path}",)
    with pytest.raises(InputError) as caught:
        outcome(str(tmp_path / "nothing"))
    (problem,) = caught.value.problems
    assert problem.startswith(
        f"{tmp_path / 'nothing'}: No such file or directory; the package has /etc/evictd/config.yaml"
    )
    with pytest.raises(InputError, match="bogus") as caught:
        outcome(str(write(tmp_path, HEAD + "evictionHard: {bogus: 1Gi}\n")))
    assert not any("the package has" in each for each in caught.value.problems)


def test_a_second_file_is_refused(tmp_path: Path, node: Path) -> None:
    """`check FILE --config OTHER` left OTHER out without a word."""
    one, other = str(write(tmp_path, COMPLETE)), str(write(tmp_path, COMPLETE, "other.yaml"))
    with pytest.raises(InputError) as caught:
        outcome(one, "--config", other, "--root", str(node))
    assert caught.value.problems == (f"--config {other}: FILE {one} was given too; give one of them",)
    assert outcome(one, "--config", one, "--root", str(node)) is ExitCode.DONE


def test_the_drop_ins_that_count_and_the_files_that_do_not_are_named(
    tmp_path: Path, node: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A drop-in with the ending .yaml was left out without a word, and FROM was `set` for those of all files."""
    path = str(write(tmp_path, COMPLETE))
    for name in ("10-a.conf", "20-b.conf", "30-c.yaml", "README"):
        write(tmp_path / "d", HEAD + "evictionHard: {memory.available: 700Mi}\n", name)
    folder = tmp_path / "d"
    outcome(path, "--root", str(node), "--config-dir", str(folder))
    shown = " ".join(capsys.readouterr().out.split())
    assert f"drop-ins, merged in this order: {folder}/10-a.conf, {folder}/20-b.conf" in shown
    assert f"warning: {folder}: 30-c.yaml is not read, only *.conf files are; rename it for a drop-in" in shown
    outcome(path, "--root", str(node))
    assert "drop-ins" not in capsys.readouterr().out
