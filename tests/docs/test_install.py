"""docs/install.md: one page leads from nothing to evictions beside a kubelet, and back."""

import re
import subprocess
from pathlib import Path
from textwrap import dedent

import yaml

from tests.docs.pages import joined

ROOT = Path(__file__).parents[2]
LIST = "install.md#beside-a-kubelet"
SECTION = joined("install.md").partition("\n## Beside a kubelet\n")[2].partition("\n## ")[0]
NOT_IN_THE_ROLLOUT = {
    "kubectl drain NODE --ignore-daemonsets --delete-emptydir-data",
    "sudo systemctl restart kubelet",
    "kubectl uncordon NODE",
    "sed -i 's/dryRun: false/dryRun: true/' my-values.yaml",
    "sudo rm -r /var/lib/evictd",
}
"""Looked up, drained, taken back and removed, which rollout.md says in words."""


def test_the_steps_beside_a_kubelet_are_one_list_to_which_each_beginning_leads() -> None:
    """They were spread over five pages, three of which installed the chart with commands of their own."""
    page = (ROOT / "docs/install.md").read_text(encoding="utf-8")
    steps = re.findall(r"^(\d)\. ", SECTION, re.MULTILINE)
    assert steps == [str(number) for number in range(1, 7)]
    assert "tuning.md#a-complete-file-without-a-kubelet)" in page, "no page led to it"
    assert f"(docs/{LIST})" in (ROOT / "README.md").read_text(encoding="utf-8")
    for name in ("index", "getting-started", "charts", "cluster", "rollout"):
        assert f"({LIST})" in (ROOT / f"docs/{name}.md").read_text(encoding="utf-8"), name


def commands() -> list[str]:
    return re.findall(r"^ {4,8}((?:kubectl|helm|sed|sudo|evictd) .*?)(?: +#.*)?$", SECTION, re.MULTILINE)


def test_the_page_has_the_commands_of_the_rollout_in_their_order() -> None:
    """The list had links alone. The rollout's commands are played on a real control plane."""
    rollout = joined("rollout.md")
    played = set(re.findall(r"^ {4,8}((?:kubectl|helm|sed|evictd) .*?)(?: +#.*)?$", rollout, re.MULTILINE))
    assert {each for each in commands() if each not in played} == NOT_IN_THE_ROLLOUT
    order = [
        *("helm install", "evictd status", "--compare-kubelet", "kubectl drain", "restart kubelet", "kubectl uncordon"),
        *("s/dryRun: true/dryRun: false/", "helm upgrade", "s/dryRun: false/dryRun: true/", "helm upgrade"),
        *("evictd cleanup", "helm uninstall", "kubectl delete namespace"),
    ]
    left = iter(commands())
    for begin in order:
        assert any(begin in each for each in left), begin


def test_the_values_are_those_of_the_rollout_and_the_file_alone_ends_the_dry_run(tmp_path: Path) -> None:
    (block,) = re.findall(r"^ {8}evictd: \{.*\n(?: {8}.*\n)*", SECTION, re.MULTILINE)
    (path := tmp_path / "my-values.yaml").write_text(dedent(block))
    rollout = joined("rollout.md")
    begin, thresholds = (
        yaml.safe_load(dedent(re.findall(rf"^    {name}:.*\n(?:    .*\n)*", rollout, re.MULTILINE)[0]))
        for name in ("evictd", "kubelet")
    )
    here = yaml.safe_load(path.read_text())
    assert here == {name: value for name, value in (begin | thresholds).items() if name in here}
    assert here.keys() == {"evictd", "nodeSelector", "image", "kubelet"}
    dry = []
    for edit in (each for each in commands() if each.startswith("sed -i")):
        subprocess.run(["sh", "-ec", edit], cwd=tmp_path, check=True)
        dry.append(yaml.safe_load(path.read_text())["evictd"]["dryRun"])
    assert dry == [False, True]


def test_the_page_says_what_an_uninstalled_chart_leaves_on_a_node() -> None:
    """It removed the release and the namespace; only the Debian package had a sentence on the journal."""
    last = SECTION.partition("**Uninstall**")[2]
    state = "/var/lib/evictd"
    assert f'| default "{state}"' in (ROOT / "deploy/chart/evictd/templates/daemonset.yaml").read_text(encoding="utf-8")
    left = f"# the journal stays; to remove it, on each node:\n    sudo rm -r {state}\n"
    assert last.index("helm uninstall") < last.index(left)
