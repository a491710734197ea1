"""docs/platforms.md: what it names as tested and as supported is what docs/compatibility.md and the manifests have."""

import json
import re
from pathlib import Path
from textwrap import dedent

import pytest
import yaml

from evictd.cli import main
from tests.deploy.manifests import CHART, DEPLOY, documents

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "platforms.md").read_text(encoding="utf-8")
LARGE = re.findall(
    r"^    # large.yaml: .*\n(?:    .*\n)*", (DOCS / "tuning.md").read_text(encoding="utf-8"), re.MULTILINE
)[0]
TESTED = (DOCS / "compatibility.md").read_text(encoding="utf-8")


RANCHER = PAGE.partition("\n## k3s and RKE2\n")[2].partition("\n## ")[0]


def row(first: str) -> str:
    (found,) = re.findall(rf"^\| {re.escape(first)} \| (.*) \|$", PAGE, re.MULTILINE)
    return str(found)


def column(name: str) -> list[str]:
    """The cells of a column of the first table of tested versions, without the empty ones."""
    lines = [line for line in TESTED.partition("\n## Versions of the kubelet")[0].splitlines() if line.startswith("|")]
    place = [cell.strip() for cell in lines[0].split("|")].index(name)
    return [cell for line in lines[2:] if (cell := line.split("|")[place].strip()) != "-"]


def test_the_kernels_are_those_of_the_tested_versions() -> None:
    """The page left out 6.18, the kernel of most tests with a runtime."""
    tested = {".".join(cell.split(".")[:2]) for cell in column("Linux")}
    assert set(re.findall(r"\d+\.\d+", row("Kernel"))) == tested


def test_systemd_and_python_are_named_as_they_were_tested() -> None:
    """`247` is the oldest with what the unit needs, and no test ran there."""
    systemd, _, python = row("systemd, Python").partition("; ")
    versions = sorted({int(cell) for cell in column("systemd")})
    assert systemd == f"247 and newer (tested: {versions[0]} to {versions[-1]})"
    tested = sorted({".".join(cell.split(".")[:2]) for cell in column("Python")})
    assert python == f"3.11 and newer (tested: {', '.join(tested)})"


def test_the_kubelets_are_those_that_are_supported_and_the_api_server_is_what_the_chart_requires() -> None:
    """One page said "1.33 and newer", the other kubelets 1.35 to 1.37; the chart refuses what the page allowed."""
    rows = re.findall(
        r"^\| (1\.\d+) \| \w.*? \| (.*?) \|", TESTED.partition("\n## Versions of the kubelet")[2], re.MULTILINE
    )
    versions = [version for version, _ in rows]
    (run,) = (version for version, how in rows if how != "no")
    assert re.match(rf"kubelets \[{versions[0]} to {versions[-1]}\]\(.*\), tested: {run};", row("Kubernetes"))
    (chart,) = documents(CHART / "Chart.yaml")
    (least,) = re.findall(r">=(1\.\d+)\.0", chart["kubeVersion"])
    assert row("Admission policy").startswith(f"{least}, which the chart requires;")


def test_rke2_has_its_files_as_k3s_has() -> None:
    """Half a sentence named the folder that differs: with kustomize a user had to copy the component and change two paths."""
    for name in ("crio", "k3s", "rke2"):
        assert f"`values-{name}.yaml`" in PAGE
        assert (CHART / f"values-{name}.yaml").is_file()
        assert (DEPLOY / "components" / name / "kustomization.yaml").is_file()
    for k3s in (CHART / "values-k3s.yaml", DEPLOY / "components/k3s/patch.yaml"):
        rke2 = Path(str(k3s).replace("k3s", "rke2"))
        expected = (
            k3s.read_text(encoding="utf-8").replace("/rancher/k3s/", "/rancher/rke2/").replace("of k3s:", "of RKE2:")
        )
        assert rke2.read_text(encoding="utf-8") == expected


def test_runtimes_without_cri_are_named() -> None:
    """No page named Docker or Podman, and a reader with one of them found out by an error of gRPC."""
    (runtime,) = re.findall(r"^\| Container runtime \| (.*) \|$", PAGE, re.MULTILINE)
    assert "Docker and Podman have no CRI" in runtime
    assert "[not Docker or Podman](docs/platforms.md)" in (DOCS.parent / "README.md").read_text(encoding="utf-8")


def test_the_kubelet_of_k3s_gets_the_threshold_on_memory_that_tuning_counts_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its own `evictionHard` is for disks alone: 924Mi more were too little, and the limit of all pods was Allocatable."""
    (drop_in,) = re.findall(r"^    evictionHard: (\{.*?\})$", RANCHER, re.MULTILINE)
    own = {"imagefs.available": "5%", "nodefs.available": "5%"}
    found = {}
    drop_ins: list[dict[str, str]] = [{}, yaml.safe_load(drop_in)]
    for added in drop_ins:
        kubelet = {"evictionHard": own | added, "systemReserved": {"memory": "924Mi"}}
        (path := tmp_path / "kubelet.json").write_text(json.dumps({"kubeletconfig": kubelet}))
        (config := tmp_path / "config.yaml").write_text(dedent(LARGE))
        main(["check", str(config), "--kubelet-config", str(path), "--memory-capacity", "64Gi"])
        found[len(added)] = "RequestsMeetThreshold" in "".join(capsys.readouterr())
    assert found == {0: True, 1: False}


def test_the_services_of_rke2_are_named() -> None:
    """The page had "`rke2` in each name", which for `k3s` and `k3s-agent` gives a service that RKE2 does not have."""
    assert "the services `rke2-server` and `rke2-agent`" in RANCHER
    assert "systemctl restart kubelet" not in RANCHER
    assert "](#k3s-and-rke2)" in row("k3s, RKE2")


def test_nodes_of_several_sizes_do_not_take_one_reservation_of_kubeadm() -> None:
    """One ConfigMap is written over the file of each node: 924Mi for a large one leave a node of 1 GiB nothing."""
    assert "with nodes of several sizes, in a drop-in (`--config-dir`) of each" in row("kubeadm")


@pytest.mark.parametrize("name", ["k3s", "crio", "rke2"])
def test_the_values_of_a_runtime_are_merged_into_the_file_that_every_upgrade_takes(name: str) -> None:
    """The template, the installation and the upgrades of rollout.md have one file: an upgrade took the socket away."""
    assert re.search(rf"merge [^|\n]*`values-{name}.yaml`[^|\n]* into `my-values.yaml`", PAGE)
    begin = (CHART / f"values-{name}.yaml").read_text(encoding="utf-8").partition("\n")[0]
    assert "merge this into my-values.yaml" in begin, "the file itself said `helm install ... --values` of it"
