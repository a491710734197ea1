"""docs/tuning.md: what it says of a setting is so."""

import json
import re
import shlex
import subprocess
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
import yaml

from evictd.cli import main
from evictd.config.file import load
from evictd.config.kernel_share import kernel_share
from evictd.core.model.signal import Signal
from evictd.core.model.threshold_config import DEFAULT_EVICTION_HARD
from evictd.core.units.quantity import parse_quantity
from tests.docs.pages import joined

ROOT = Path(__file__).parents[2]
PAGE = joined("tuning.md")

SIZES = [("4", "50"), ("8", "100"), ("16", "200"), ("32", "500"), ("64", "1000")]
"""Memory in GiB and disk in GB of many nodes."""


@pytest.mark.parametrize(("memory", "disk"), SIZES)
def test_the_second_complete_file_fits_nodes_from_4_gib_on(
    memory: str, disk: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each size had a line of its own with the minimum reclaim, which one release for nodes of three sizes cannot take."""
    (block,) = re.findall(r"^    # large.yaml: .*\n(?:    .*\n)*", PAGE, re.MULTILINE)
    path, kubelet = tmp_path / "config.yaml", tmp_path / "kubelet.json"
    path.write_text(dedent(block))
    of_kubelet = {"evictionHard": dict(DEFAULT_EVICTION_HARD), "systemReserved": {"memory": "924Mi"}}
    kubelet.write_text(json.dumps({"kubeletconfig": of_kubelet}))
    sizes = [
        f"--memory-capacity={memory}Gi",
        *(f"--{name}-capacity={disk}G" for name in ("nodefs", "imagefs")),
    ]
    assert main(["check", str(path), "--kubelet-config", str(kubelet), *sizes, "--output", "json"]) == 0
    found = "".join(capsys.readouterr())
    for fault in ("KubeletActsFirst", "RequestsMeetThreshold", "MinimumReclaimTooLarge"):
        assert f'"{fault}"' not in found


def test_the_second_complete_file_is_named_for_a_node_above_its_size(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The page ended at 64 GiB: its table has "more | not measured", and the sentence spoke of sizes between the two files."""
    text = " ".join(PAGE.partition("\nFrom 4 GiB on take the second file")[2].partition("\n\n")[0].split())
    assert "Take it for 256 GiB too" in text
    assert "run `check` on one node" in text
    assert "[`advise`]" in text
    (block,) = re.findall(r"^    # large.yaml: .*\n(?:    .*\n)*", PAGE, re.MULTILINE)
    (path := tmp_path / "large.yaml").write_text(dedent(block))
    sizes = ["--memory-capacity=256Gi", "--nodefs-capacity=1T", "--imagefs-capacity=1T"]
    assert main(["check", str(path), *sizes, "--output", "json"]) == 0
    assert "LittleMemoryLeft" not in "".join(capsys.readouterr())


@pytest.mark.parametrize(
    ("name", "memory", "amount"), [("small", "2Gi", "300Mi"), ("large", "8Gi", "924Mi"), ("large", "64Gi", "924Mi")]
)
def test_the_check_of_a_complete_file_names_the_amount_that_the_page_has_reserved(
    name: str, memory: str, amount: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its command left out the kubelet of the node, and compared with this machine's, or with none."""
    (block,) = re.findall(rf"^    # {name}.yaml: .*\n(?:    .*\n)*", PAGE, re.MULTILINE)
    path, kubelet = tmp_path / "config.yaml", tmp_path / "kubelet.json"
    path.write_text(dedent(block))
    kubelet.write_text(json.dumps({"kubeletconfig": {"evictionHard": dict(DEFAULT_EVICTION_HARD)}}))
    main(["check", str(path), "--kubelet-config", str(kubelet), "--memory-capacity", memory])
    assert f"raise systemReserved of the kubelet by {amount}, " in " ".join("".join(capsys.readouterr()).split())
    assert f"by {amount} on the " in PAGE
    given = rf"^    evictd check {name}\.yaml --kubelet-config kubelet\.json --memory-capacity {memory} "
    assert re.search(given, PAGE, re.MULTILINE), "a node of 8 GiB found no line of its own"
    assert "\n    kubectl get --raw /api/v1/nodes/NODE/proxy/configz > kubelet.json" in PAGE


def test_the_complete_file_without_a_kubelet_is_a_dry_run_without_a_finding(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each complete file was for a node with a kubelet."""
    (block,) = re.findall(r"^    # alone.yaml: .*\n(?:    .*\n)*", PAGE, re.MULTILINE)
    (path := tmp_path / "config.yaml").write_text(dedent(block))
    sizes = ["--memory-capacity=2Gi", "--nodefs-capacity=20G", "--imagefs-capacity=20G"]
    assert main(["check", str(path), *sizes, "--output=json"]) == 0
    assert_dry_run_without_a_finding(json.loads(capsys.readouterr().out))


def assert_dry_run_without_a_finding(found: dict[str, Any]) -> None:
    """A check for a node of another size says that it knows no kubelet of it, and nothing else."""
    assert found["dryRun"]
    assert found["findings"] == []
    (warning,) = found["warnings"]
    assert warning.startswith("not compared with a kubelet, ")


def test_the_sample_for_a_small_node_is_a_dry_run_and_names_the_threshold_of_the_page() -> None:
    """It evicted as soon as it was installed, and did not say why its threshold on memory is lower than the page's."""
    path = ROOT / "config/small-edge.yaml"
    assert load(path).evictd.dry_run
    (hard,) = re.findall(r"^\| hard \| (\w+) \|", PAGE, re.MULTILINE)
    assert f"Where no kubelet runs take {hard} (docs/tuning.md)" in path.read_text(encoding="utf-8")


@pytest.mark.parametrize(("memory", "noted"), [("1Gi", False), ("2Gi", False), ("8Gi", True)])
def test_the_annotated_sample_has_the_threshold_of_the_table_for_small_nodes(
    memory: str, noted: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It had 100Mi, which "fits every node", where the table begins at 150Mi; `check` notes what its comment says."""
    path = ROOT / "config/evictd.yaml"
    first, *_ = (each for each in load(path).eviction.thresholds if each.signal is Signal.MEMORY_AVAILABLE)
    (hard,) = re.findall(r"^\| hard \| (\w+) \|", PAGE, re.MULTILINE)
    assert str(first.value.quantity) == hard
    main(["check", str(path), f"--memory-capacity={memory}", "--root", str(tmp_path)])
    assert ("LittleMemoryLeft" in "".join(capsys.readouterr())) == noted
    assert "(LittleMemoryLeft)" in path.read_text(encoding="utf-8")


def test_the_file_for_one_gib_without_a_kubelet_has_the_thresholds_of_the_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The page took the sample as it is, whose hard threshold on memory is that of a kubelet's limit on all pods."""
    (edit,) = re.findall(r"^    (sed .*) config/small-edge\.yaml > edge\.yaml$", PAGE, re.MULTILINE)
    words = [*shlex.split(edit), str(ROOT / "config/small-edge.yaml")]
    (path := tmp_path / "edge.yaml").write_text(
        subprocess.run(words, check=True, capture_output=True, text=True).stdout
    )
    thresholds = [each for each in load(path).eviction.thresholds if each.signal is Signal.MEMORY_AVAILABLE]
    table = {kind: re.findall(rf"^\| {kind} \| (\w+) \|", PAGE, re.MULTILINE)[0] for kind in ("hard", "soft")}
    assert {"hard" if each.hard else "soft": str(each.value.quantity) for each in thresholds} == table
    sizes = ["--memory-capacity=1Gi", "--nodefs-capacity=8G", "--imagefs-capacity=8G"]
    assert main(["check", str(path), *sizes, "--output=json"]) == 0
    assert_dry_run_without_a_finding(json.loads(capsys.readouterr().out))


@pytest.mark.parametrize(("soft", "too_high"), [("200Mi", False), ("400Mi", True)])
def test_a_node_below_1_gib_keeps_the_amounts_of_the_samples(
    soft: str, too_high: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each page had 350Mi for all nodes below 4 GiB: on 512 MiB more than half, so that pods were evicted always."""
    assert "Below 1 GiB" in PAGE
    assert "from 512 MiB on keep the chart's 150Mi and 200Mi" in PAGE
    text = (ROOT / "config/beside-a-kubelet.yaml").read_text(encoding="utf-8")
    assert text.count('"200Mi"') == 1
    (path := tmp_path / "config.yaml").write_text(text.replace('"200Mi"', f'"{soft}"'))
    main(["check", str(path), "--memory-capacity", "512Mi", "--root", str(tmp_path)])
    assert ("AboveHalfOfCapacity" in "".join(capsys.readouterr())) == too_high


def test_the_page_says_why_the_soft_threshold_is_1gi_at_4_gib() -> None:
    """The table had the amount, a quarter of such a node, and no reason."""
    share = kernel_share(4 << 30)
    assert share is not None
    busy = share.busy >> 20
    assert f"So 1Gi at 4 GiB: 500Mi and {busy} MiB are {500 + busy} MiB" in PAGE
    assert 500 + busy < 768


def test_no_setting_excludes_a_pod_from_eviction(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The page listed ways to protect a pod, and not that an ordinary one cannot be excluded."""
    path = tmp_path / "config.yaml"
    head = "apiVersion: evictd.io/v1alpha1\nkind: EvictdConfiguration\ndryRun: true\n"
    path.write_text(f"{head}ranking: {{exclude: [{{namespaces: [payments]}}]}}\n")
    assert main(["check", "--syntax", str(path)]) == 2
    assert "`ranking` has no field `exclude`" in "".join(capsys.readouterr())
    assert "There is no `ranking.exclude`" in PAGE


@pytest.mark.parametrize(
    ("reserved", "amount"),
    [({"systemReserved": {"memory": "500Mi"}}, "424Mi"), ({"kubeReserved": {"memory": "2Gi"}}, None)],
)
def test_the_page_says_that_the_check_does_not_know_what_daemons_use(
    reserved: dict[str, Any], amount: str | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It named 924Mi for every node; beside a reservation `check` names less or nothing, which read as enough."""
    (block,) = re.findall(r"^    # large.yaml: .*\n(?:    .*\n)*", PAGE, re.MULTILINE)
    path, kubelet = tmp_path / "config.yaml", tmp_path / "kubelet.json"
    path.write_text(dedent(block))
    kubelet.write_text(json.dumps({"kubeletconfig": {"evictionHard": dict(DEFAULT_EVICTION_HARD)} | reserved}))
    main(["check", str(path), "--kubelet-config", str(kubelet), "--memory-capacity", "64Gi"])
    found = "".join(capsys.readouterr())
    assert ("RequestsMeetThreshold" in found) == (amount is not None)
    assert amount is None or f"raise systemReserved of the kubelet by {amount}, " in " ".join(found.split())
    ((name, quantities),) = reserved.items()
    section = " ".join(PAGE.partition("\n## Reserve memory")[2].partition("\n## ")[0].split())
    named = amount or "nothing"
    assert f"beside `{name}: {quantities['memory']}` {named}" in section
    assert "Its silence proves nothing" in section
    begin = (ROOT / "docs/getting-started.md").read_text(encoding="utf-8").partition("**3. Enable.**")[2]
    assert "not what daemons use" in " ".join(begin.partition("**4.")[0].split())


def test_the_reservation_of_the_sample_covers_the_daemons_and_the_soft_threshold() -> None:
    """Its 500Mi above the daemons were a distance to the kubelet's threshold; evictd's soft one is 1Gi."""
    section = PAGE.partition("\n## Reserve memory")[2].partition("\n## ")[0]
    (block,) = re.findall(r"^    mergeDefaultEvictionSettings: .*\n(?:    .*\n)*", section, re.MULTILINE)
    sample = yaml.safe_load(dedent(block))
    kept = [sample["systemReserved"]["memory"], sample["evictionHard"]["memory.available"]]
    assert sum(parse_quantity(each).value() for each in kept) == 2 << 30, "1 GiB for daemons, 1Gi for the threshold"


def test_one_paragraph_has_what_a_soft_threshold_is_and_the_other_pages_link_to_it() -> None:
    """Its two grace periods, budgets and hooks were on five pages, none of which had all."""
    concepts = (ROOT / "docs/concepts.md").read_text(encoding="utf-8")
    section = " ".join(concepts.partition("\n## A soft threshold\n")[2].partition("\n## ")[0].split())
    for part in ("`evictionSoftGracePeriod`", "`evictionMaxPodGracePeriod`", "the pod's own", "2 s", "1 s"):
        assert part in section
    for page in ("cluster.md#how-a-pod-is-evicted", "runtime.md#how-a-pod-is-stopped", "tuning.md#thresholds"):
        assert f"({page})" in section
    for name in ("cluster", "kubelet", "runtime", "tuning"):
        assert "(concepts.md#a-soft-threshold)" in (ROOT / f"docs/{name}.md").read_text(encoding="utf-8"), name


def test_the_page_says_that_the_check_knows_no_pod() -> None:
    """A critical DaemonSet without requests uses memory that is neither reserved nor requested, and never goes."""
    section = " ".join(PAGE.partition("\n## Reserve memory")[2].partition("\n## ")[0].split())
    assert "nor what any pod uses above its requests, as those of DaemonSets" in section


@pytest.mark.parametrize("pod", [{"priority": 2_000_000_000}, {"static": True}])
@pytest.mark.parametrize(("held", "gone"), [("900Mi", True), ("20Mi", False)])
def test_the_page_says_when_other_pods_go_in_the_place_of_one_that_is_never_evicted(
    pod: dict[str, Any], held: str, gone: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It said that none goes. They go where together they hold what is missing and what the cause takes meanwhile."""
    grow = [{"hold": {"of": "memory", "amount": "1Gi"}}, {"grow": {"of": "memory", "rate": "20Mi/s", "start": "60s"}}]
    web = {"requests": {"memory": "1Gi"}, "behaviours": [{"hold": {"of": "memory", "amount": held}}]}
    pods = [pod | {"name": "leak", "behaviours": grow}, {"name": "web"} | web]
    config = {"evictionHard": {"memory.available": "500Mi"}}
    world = {"kind": "World", "name": "cause", "config": config, "duration": "8m", "node": {"memory": "8Gi"}}
    (path := tmp_path / "world.yaml").write_text(yaml.safe_dump(world | {"pods": pods}))
    main(["simulate", str(path)])
    found = capsys.readouterr().out
    assert ("evict default/web" in found) == gone
    assert "ProtectedCulprit" in found
    row = PAGE.partition("\n| `priorityClassName: system-node-critical`")[2].partition("\n")[0]
    assert "if it is the cause, the others go where [they are enough](laws.md#blame); else none" in row


def test_complete_files_without_taints_say_the_price() -> None:
    """Only the page on clusters said that an evicted pod comes back then."""
    lines = [each for each in PAGE.splitlines() if each.strip().startswith("taints: false")]
    assert len(lines) == 3
    assert all(each.endswith("# an evicted pod may come back at once") for each in lines)
