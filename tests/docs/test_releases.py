"""docs/releases.md: an upgrade as the page says it reaches one node first, and begins with the notes of the change log."""

import re
from pathlib import Path

import pytest
import yaml

from tests.deploy.manifests import CHART, DEPLOY, documents
from tests.docs.pages import joined

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/releases.md").read_text(encoding="utf-8")


def test_an_upgrade_in_a_cluster_replaces_the_pod_of_one_node_until_another_is_deleted() -> None:
    """The page said "one node first" of `helm upgrade`, which replaces the pods of a tenth of the nodes, and goes on."""
    step = r"^    (helm upgrade|kubectl .* delete pod) .*?(?:--set (\S+))?$"
    steps = re.findall(step, joined("releases.md"), re.MULTILINE)
    assert [step for step, _ in steps] == ["helm upgrade", "kubectl --namespace evictd delete pod", "helm upgrade"]
    assert [given for _, given in steps] == ["updateStrategy.type=OnDelete", "", ""]
    helm = pytest.importorskip("helm_python", reason="has no wheel for this machine")
    (values,) = documents(CHART / "values.yaml")
    values["updateStrategy"]["type"] = "OnDelete"
    with helm.Chart.load(str(CHART)) as chart:
        text = chart.render(values, name="evictd", namespace="evictd")["evictd/templates/daemonset.yaml"]
    assert yaml.safe_load(text)["spec"]["updateStrategy"]["type"] == "OnDelete"


def test_a_canary_that_fails_and_a_downgrade_have_their_way_back() -> None:
    """The page had none for a failed canary, and no command for a cluster at all."""
    canary, _, downgrade = PAGE.partition("\n## Downgrade\n")
    back = canary.partition("**Back**")[2]
    assert back.startswith(", if the gate fails: [downgrade](#downgrade), ")
    assert "helm rollback" not in canary, "two commands back, for the one and the other upgrade, had to be told apart"
    commands = re.findall(r"^ +(helm .*?|sudo apt .*?) *(?:#.*)?$", downgrade.partition("\n## ")[0], re.MULTILINE)
    assert commands == [
        "helm history evictd --namespace evictd",
        "helm rollback evictd REVISION --namespace evictd",
        "sudo apt install --allow-downgrades ./evictd_VERSION_ARCH.RELEASE.deb",
    ]


def test_the_values_that_name_the_former_image_are_named() -> None:
    """It said "change in this file what names the former one"."""
    (values,) = documents(CHART / "values.yaml")
    named = set(re.findall(r"\bimage\.(\w+)", PAGE.partition("\n### One node first")[2].partition("helm upgrade")[0]))
    assert named == {"tag", "digest"}
    assert named <= set(values["image"])


def test_kustomize_upgrades_one_node_first_too() -> None:
    (written,) = re.findall(r'^ +(\[\{"op": [^]]*\}\])$', PAGE, re.MULTILINE)
    (patch,) = yaml.safe_load(written)
    (daemon_set,) = documents(DEPLOY / "base/daemonset.yaml")
    assert (patch["op"], patch["path"]) == ("replace", "/spec/updateStrategy")
    assert daemon_set["spec"]["updateStrategy"]["type"] == "RollingUpdate"
    assert patch["value"] == {"type": "OnDelete"}


def test_what_changes_for_all_nodes_at_once_is_what_keeps_its_name() -> None:
    """It said so of the configuration too, against "a new configuration goes one node first" of the rollout.

    Each ConfigMap of kustomize has a name of its own, from its content; Helm's keeps its name.
    """
    text = " ".join(PAGE.split())
    assert (
        "Rights and policies change for all nodes at once, also back; with Helm each pod that starts reads the new"
        in text
    )
    (settings,) = documents(DEPLOY / "base/kustomization.yaml")
    assert "generatorOptions" not in settings
    assert [each["name"] for each in settings["configMapGenerator"]] == ["evictd"]
    chart = (CHART / "templates/configmap.yaml").read_text(encoding="utf-8")
    assert "sha256sum" not in chart


def test_an_upgrade_begins_with_the_notes_of_the_change_log() -> None:
    """The page repeated some of them, and could lack one."""
    (first,) = re.findall(r"^1\. (.*CHANGELOG.*)$", PAGE, re.MULTILINE)
    assert "**Before you upgrade**" in first
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    versions = re.split(r"^## \[\d", changes, flags=re.MULTILINE)[1:-1]  # nothing precedes the oldest
    assert versions
    assert all("### Before you upgrade" in each for each in versions)


def test_the_page_says_what_an_update_keeps() -> None:
    """The sentence was left out to save words: a reader looked for it in the table of file versions."""
    first = PAGE.partition("\n## Upgrade\n")[2].partition("\n1. ")[0]
    assert "keeps grace periods, victims and conditions" in first
    assert "](formats.md#versions)" in first
