"""docs/rollout.md: each step leaves the node with a threshold in time, and keeps new pods off a node that is short."""

import json
import re
import subprocess
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
import yaml

from evictd.cli import main
from evictd.config.kernel_share import kernel_share
from evictd.config.lint_model import Lint
from tests.deploy.manifests import CHART, DEPLOY, documents
from tests.docs.pages import joined

ROOT = Path(__file__).parents[2]
PAGE = joined("rollout.md")
VALUES = re.findall(r"^    evictd: \{.*\n(?:    .*\n)*", PAGE, re.MULTILINE)
"""The block that begins `my-values.yaml`."""


def merged(below: Any, above: Any) -> Any:
    """Merge values as Helm does: maps by key, a null takes a key away, anything else replaces."""
    if not (isinstance(below, dict) and isinstance(above, dict)):
        return above
    names = [*below, *(name for name in above if name not in below)]
    made = {name: merged(below.get(name), above.get(name, below.get(name))) for name in names}
    return {name: value for name, value in made.items() if value is not None}


def test_small_nodes_keep_the_thresholds_of_tuning_when_evictd_acts_instead_of_the_kubelet(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Only larger nodes had thresholds in `my-values.yaml`: step 5 left a small one 100Mi, and no soft threshold."""
    (block,) = re.findall(r"^    kubelet:\n(?:    .*\n)*", PAGE, re.MULTILINE)
    for_small = r"(# below 4 GiB (\w+)\n(?: *#.*\n)* *memory\.available: )\w+"
    small, changed = re.subn(for_small, r"\g<1>\g<2>", dedent(block))
    assert changed == 2
    values = [documents(CHART / f"values{name}.yaml")[0]["kubelet"] for name in ("", "-instead-of-kubelet")]
    kubelet = merged(merged(*values), yaml.safe_load(small)["kubelet"])
    path, configz = tmp_path / "config.yaml", tmp_path / "kubelet.json"
    head = {"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration"}
    path.write_text(yaml.safe_dump(head | kubelet))
    tuning = (ROOT / "docs/tuning.md").read_text(encoding="utf-8")
    of_tuning = [re.findall(rf"^\| {kind} \| (\w+) \|", tuning, re.MULTILINE)[0] for kind in ("hard", "soft")]
    set_here = [kubelet[kind]["memory.available"] for kind in ("evictionHard", "evictionSoft")]
    assert set_here == of_tuning
    (drop_in,) = documents(DEPLOY / "overlays/instead-of-kubelet-eviction/kubelet-config.yaml")
    raised = {"systemReserved": {"memory": "400Mi"}}  # 300Mi of step 3, and 100Mi of the drop-in
    configz.write_text(json.dumps({"kubeletconfig": drop_in | raised}))
    main(["check", str(path), "--kubelet-config", str(configz), "--memory-capacity", "2Gi"])
    found = "".join(capsys.readouterr())
    assert "RequestsMeetThreshold" not in found
    assert "KubeletActsFirst" not in found


def test_a_unit_may_set_taints_before_the_kubelet_stops_to_reject_pods() -> None:
    """Its file has `taints: false`: with the kubelet's thresholds at 0% nothing kept new pods off a node that is short."""
    cluster = (ROOT / "docs/cluster.md").read_text(encoding="utf-8")
    assert "sed -i 's/taints: true/taints: false/' /etc/evictd/config.yaml" in cluster
    (row,) = re.findall(r"^\| 5 \| (.*?) \|", PAGE.partition("## With the systemd unit")[2], re.MULTILINE)
    first, dropped, _ = row.partition("drop-in")
    assert dropped
    assert "](cluster.md#rights)" in first
    assert "`taints: true`" in first
    rights = cluster.partition("\n## Rights\n")[2].partition("\n## ")[0]
    assert "sudo systemctl restart evictd" in rights, "`cluster.*` takes effect at a start only"
    (promise,) = re.findall(
        r"^\| new pods while .*$", (ROOT / "docs/from-the-kubelet.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert "`taints: true`" in promise


def test_the_unit_takes_the_thresholds_of_the_overlay_by_a_command() -> None:
    """The row named a file of the clone whose lines were to be copied, but for those on memory."""
    section = PAGE.partition("## With the systemd unit")[2].partition("\n## ")[0]
    (edit,) = re.findall(r"sudo sed -i '(.*)' /etc/evictd/config\.yaml", section)
    text = (ROOT / "config/beside-a-kubelet.yaml").read_text(encoding="utf-8")
    for old, new in re.findall(r"s/([^/]+)/([^/]+)/", edit):
        text = text.replace(old, new)
    hard = next(iter(yaml.safe_load_all(text)))["evictionHard"]
    (wanted, _) = documents(DEPLOY / "overlays/instead-of-kubelet-eviction/config.yaml")
    of_disks = {name: value for name, value in wanted["evictionHard"].items() if name != "memory.available"}
    assert {name: value for name, value in hard.items() if "memory" not in name.lower()} == of_disks
    assert section.index("systemctl restart kubelet") < section.index(edit), "else both may evict for one shortage"


def test_a_node_that_is_taken_out_under_pressure_is_cleaned() -> None:
    """The page removed the label alone: the pod's stop leaves condition and taint to a next start, which does not come."""
    (step,) = re.findall(r"^## 4\. .*?(?=^## )", PAGE, re.MULTILINE | re.DOTALL)
    back = step.partition("**Back.**")[2]
    found = re.findall(r"^    ([^#\n]+)$", back, re.MULTILINE)
    assert found == ["kubectl label node NODE pool-", "evictd cleanup --expired --all"]


def test_a_node_is_labelled_by_its_size_which_is_more_than_the_memory_that_it_reports() -> None:
    """A node of 1 GiB reports 950Mi and became `tiny`, on which the soft threshold of 200Mi never acts before the hard one."""
    large, small = (int(each) for each in re.findall(r"one of \d GiB (\d+)Ki", PAGE))
    assert (large, small) == (3840 << 10, 943_719)
    assert kernel_share(small << 10) is not None
    assert kernel_share((small - 1) << 10) is None, "of less nothing was measured"


def test_the_first_gate_wants_thresholds_that_act_in_their_order() -> None:
    """On 256 GiB the kernel's own memory can be 600Mi: the soft 1Gi did not act before the hard 500Mi, and the gate held."""
    gate = PAGE.partition("**Gate.**")[2].partition("**Back.**")[0]
    for lint in (Lint.MEMORY_THRESHOLD_NEVER_MET, Lint.BELOW_LOW_WATERMARK, Lint.SOFT_AFTER_HARD):
        assert f"`{lint.value}`" in gate


@pytest.mark.parametrize("rule", ["{enabled: true}", "\n  enabled: true\n  labels:\n    release: x"])
def test_the_rules_are_those_of_the_first_release_however_they_are_written(tmp_path: Path, rule: str) -> None:
    """The command took away one line: of a block the rest became a part of `metrics`."""
    command = re.findall(r"^    (sed .* > small-values\.yaml)$", PAGE, re.MULTILINE)[0]
    text = "metrics:\n  enabled: true\nprometheusRule: RULE\nkubelet:\n  enforceNodeAllocatable: [none]\n"
    (tmp_path / "my-values.yaml").write_text(text.replace("RULE", rule))
    subprocess.run(["sh", "-ec", command], cwd=tmp_path, check=True)
    made = yaml.safe_load((tmp_path / "small-values.yaml").read_text())
    assert made == {"metrics": {"enabled": True}, "kubelet": {"enforceNodeAllocatable": ["none"]}}


def test_nodes_of_each_size_take_a_release_of_their_own_that_shares_no_object(tmp_path: Path) -> None:
    """One file had the amounts for every node: 500Mi and 1Gi evict healthy pods on 2 GiB, 350Mi on 512 MiB."""
    helm = pytest.importorskip("helm_python", reason="has no wheel for this machine")
    (block,) = VALUES
    (kubelet,) = re.findall(r"^    kubelet:\n(?:    .*\n)*", PAGE, re.MULTILINE)
    commands = re.findall(r"^    (sed .*memory: (?:large|tiny).*)$", PAGE, re.MULTILINE)
    assert len(commands) == 3
    (tmp_path / "my-values.yaml").write_text(dedent(block) + dedent(kubelet))
    for each in commands:
        subprocess.run(["sh", "-ec", each], cwd=tmp_path, check=True)
    seen: set[tuple[str, str]] = set()
    selectors, thresholds = [], []
    with helm.Chart.load(str(CHART)) as chart:
        releases = {"evictd": "my-values.yaml", "evictd-small": "small-values.yaml", "evictd-tiny": "tiny-values.yaml"}
        for release, file in releases.items():
            given = yaml.safe_load((tmp_path / file).read_text())
            values = merged(documents(CHART / "values.yaml")[0], given)
            texts = chart.render(values, name=release, namespace="evictd").items()
            items = [
                item for path, text in texts if path.endswith(".yaml") for item in yaml.safe_load_all(text) if item
            ]
            names = {(item["kind"], item["metadata"]["name"]) for item in items}
            assert not names & seen
            assert ("PrometheusRule" in {kind for kind, _ in names}) == (release == "evictd")
            seen |= names
            (daemon_set,) = (item for item in items if item["kind"] == "DaemonSet")
            selectors.append(daemon_set["spec"]["template"]["spec"]["nodeSelector"])
            kubelet_values = values["kubelet"]
            thresholds.append([kubelet_values[kind]["memory.available"] for kind in ("evictionHard", "evictionSoft")])
    assert [(each["memory"], each["pool"]) for each in selectors] == [
        (size, "canary") for size in ("large", "small", "tiny")
    ]
    assert thresholds == [["500Mi", "1Gi"], ["150Mi", "400Mi"], ["150Mi", "200Mi"]]
    assert "each command that has `my-values.yaml` or names the release, ConfigMap or DaemonSet" in PAGE, "`sed -i` too"


def test_the_file_alone_makes_each_step_as_safe_as_the_page_says(tmp_path: Path) -> None:
    """`--set` had the dry run and the selector: one sync of the file by another tool evicted on every node."""
    (path := tmp_path / "my-values.yaml").write_text(dedent(VALUES[0]))

    def given() -> tuple[bool, dict[str, str]]:
        values = yaml.safe_load(path.read_text())
        return values["evictd"]["dryRun"], values["nodeSelector"]

    assert given() == (True, {"pool": "canary"})
    steps = re.split(r"^## (\d)\. .*\n", PAGE, flags=re.MULTILINE)
    expected = {"3": (False, {"pool": "canary"}), "4": (False, {})}
    for number, text in zip(steps[1::2], steps[2::2], strict=True):
        edits = re.findall(r"^    (sed -i .* my-values\.yaml)$", text, re.MULTILINE)
        assert bool(edits) == (number in expected)
        for each in edits:
            subprocess.run(["sh", "-ec", each], cwd=tmp_path, check=True)
            assert given() == expected[number]
    helm = re.findall(r"^ +(helm (?:install|upgrade) .*)$", PAGE, re.MULTILINE)
    assert [each for each in helm if "--set" in each or "--values my-values.yaml" not in each] == []


def test_step_3_has_a_way_for_nodes_whose_reservation_is_the_providers() -> None:
    """The step demanded a `systemReserved` that a managed node does not let one change, and ended there."""
    step = " ".join(PAGE.partition("\n## 3. ")[2].partition("\n## 4. ")[0].split())
    way = step.partition("**Where the provider keeps you from that**")[2].partition("Label a tenth")[0]
    assert ".status.capacity.memory" in way
    assert ".status.allocatable.memory" in way
    assert "minus what daemons use" in way
    assert "dry run" in way


def test_the_file_of_the_values_is_checked_before_anything_is_installed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`evictd check my-values.yaml` ends with "kind: is missing", and no page said how to get the file out of the values."""
    helm = pytest.importorskip("helm_python", reason="has no wheel for this machine")
    (block,) = VALUES
    (kubelet_values,) = re.findall(r"^    kubelet:\n(?:    .*\n)*", PAGE, re.MULTILINE)
    (tmp_path / "my-values.yaml").write_text(dedent(block) + dedent(kubelet_values))
    assert main(["check", str(tmp_path / "my-values.yaml")]) == 2
    assert "kind: is missing" in capsys.readouterr().err
    section = PAGE.partition("\n## Check the values first\n")[2].partition("\n## ")[0]
    (template, cut) = re.findall(r"^    (helm template .*?) \| (sed .*)$", section, re.MULTILINE)[0]
    shown = "helm template evictd deploy/chart/evictd --values my-values.yaml --show-only templates/configmap.yaml"
    assert template == shown
    values = merged(documents(CHART / "values.yaml")[0], yaml.safe_load((tmp_path / "my-values.yaml").read_text()))
    with helm.Chart.load(str(CHART)) as chart:
        texts = chart.render(values, name="evictd", namespace="evictd")
    (text,) = (each for path, each in texts.items() if path.endswith("templates/configmap.yaml"))
    subprocess.run(["sh", "-ec", cut], cwd=tmp_path, input=f"---\n# Source: {text}", text=True, check=True)
    (kubelet := tmp_path / "kubelet.json").write_text(json.dumps({"kubeletconfig": {}}))
    (check,) = re.findall(r"^    evictd (check evictd\.yaml .*?)(?: +#.*)?$", section, re.MULTILINE)
    main([str(tmp_path / each) if each in {"evictd.yaml", kubelet.name} else each for each in check.split()])
    found = "".join(capsys.readouterr())
    assert re.search(r"memory\.available +soft +1Gi ", found)
    assert "dryRun: true" in found
    index = (ROOT / "docs/index.md").read_text(encoding="utf-8")
    assert "(rollout.md#check-the-values-first)" in index


def test_the_file_that_is_checked_is_also_had_with_kustomize() -> None:
    """`get configmap evictd` finds none with kustomize, which adds a hash to the name, and the first check had only Helm."""
    copy = "cp mine/config.yaml evictd.yaml"
    alerts = (ROOT / "docs/alerts.md").read_text(encoding="utf-8")
    for text in (
        PAGE.partition("\n## Check the values first\n")[2].partition("\n## ")[0],
        PAGE.partition("\n## 2. ")[2].partition("\n## ")[0],
        alerts.partition("\n## EvictdDown\n")[2].partition("\n## ")[0],
    ):
        before = text.partition("\n    evictd check evictd.yaml")[0]
        assert f"    # kustomize: {copy}" in before
    charts = (ROOT / "docs/charts.md").read_text(encoding="utf-8")
    assert "> mine/config.yaml" in charts.partition("\n## With kustomize\n")[2]


def test_the_way_back_to_a_dry_run_with_kustomize_is_another_overlay() -> None:
    """The page had `dryRun: true` in the file, a line that the copy of `beside-kubelet` has not."""
    _, evictd = documents(DEPLOY / "overlays/beside-kubelet/config.yaml")
    assert "dryRun" not in evictd
    _, evictd = documents(DEPLOY / "overlays/dry-run/config.yaml")
    assert evictd["dryRun"]
    back = PAGE.partition("\n## 3. ")[2].partition("**Back.**")[2].partition("\n## ")[0]
    assert "[kustomize](charts.md#with-kustomize): take `dry-run` again" in " ".join(back.split())
    charts = " ".join((ROOT / "docs/charts.md").read_text(encoding="utf-8").split())
    assert "take `beside-kubelet`, which evicts, for `dry-run`, in `resources` and in the copy" in charts


def test_the_pod_runs_before_a_command_is_run_in_it() -> None:
    """`kubectl exec` came right after `helm install`, before there was a container."""
    step = PAGE.partition("\n## 1. ")[2].partition("\n## 2. ")[0]
    daemon_set = "evictd"  # `evictd.fullname` of the release `evictd`
    wait = step.index(f"\n    kubectl --namespace evictd rollout status daemonset/{daemon_set}\n")
    assert step.index("\n    helm install evictd ") < wait < step.index(" exec POD ")


def test_each_check_on_a_workstation_has_every_size_of_the_node() -> None:
    """Amounts on disks, which tuning.md prefers, were compared with percentages of the workstation's disk."""
    checks = re.findall(r"^    evictd check evictd\.yaml .*$", PAGE, re.MULTILINE)
    assert len(checks) == 2
    for each in checks:
        assert re.findall(r"--(\w+)-capacity \d", each) == ["memory", "nodefs", "imagefs"]
    assert "--layout" in PAGE


def test_the_alert_without_which_a_node_has_no_eviction_is_raised_before_that_step() -> None:
    """The page stopped evictd for ten minutes, with no command; EvictdNotReady is raised after fifteen, a unit has none."""
    groups = yaml.safe_load((CHART / "files/alerts.yaml").read_text(encoding="utf-8"))["groups"]
    minutes = {rule["alert"]: int(rule.get("for", "0m")[:-1]) for group in groups for rule in group["rules"]}
    (expr,) = (rule["expr"] for rule in groups[0]["rules"] if rule["alert"] == "EvictdNotReady")
    assert "_unavailable{" in expr, "a pod that cannot be made counts as unavailable"
    before = PAGE.partition("\n## 5. ")[2].partition("\n1. ")[0]
    (after,) = re.findall(r"# (\d+) minutes later EvictdNotReady has reached a person", before)
    assert int(after) > minutes["EvictdNotReady"]
    verbs = re.findall(r"^    kubectl --namespace evictd (\w+ \w+) (\S+)", before, re.MULTILINE)
    assert verbs == [
        ("create quota", "no-new-pod"),
        ("delete pod", "POD"),
        ("delete quota", "no-new-pod"),
        ("annotate daemonset", "evictd"),
    ]
    assert "--overwrite alert=$(date +%s)" in before, (
        "the same value again changes nothing, and the controller waits on"
    )
    (row,) = re.findall(r"^\| 5 \| (.*?) \|", PAGE.partition("## With the systemd unit")[2], re.MULTILINE)
    assert "`sudo systemctl stop evictd` for ten minutes" in row
    assert minutes["EvictdDown"] < 10


def test_a_dry_run_without_a_shortage_is_no_proof() -> None:
    """Its gate holds on a calm node, where evictd chose no pod at all."""
    gate = PAGE.partition("\n## 2. ")[2].partition("**Gate.**")[2].partition("\n\n")[0]
    assert "Without a shortage it holds, and proves nothing." in " ".join(gate.split())
