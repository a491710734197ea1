"""docs/cluster.md: what it says of rights and budgets is what the chart and evictd do."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from evictd.act.cluster.conditions import TAINTS
from evictd.commands.inputs.source import own_config
from evictd.core.model.config import Policy
from evictd.world.account import account_of
from evictd.world.loop import play
from tests.deploy.manifests import CHART, DEPLOY, documents
from tools.incidents import FOLDER, read_incident

DOCS = Path(__file__).parents[2] / "docs"


def text_of(name: str) -> str:
    return " ".join((DOCS / name).read_text(encoding="utf-8").split())


def test_the_value_that_removes_a_rule_leaves_the_configuration_and_the_page_says_what_it_costs() -> None:
    """The page offered the value in the place of `podTermination: Delete`, and did not say that budgets count no more."""
    helm = pytest.importorskip("helm_python", reason="has no wheel for this machine")
    (values,) = documents(CHART / "values.yaml")
    values["evictd"]["cluster"]["podTermination"] = "Delete"
    with helm.Chart.load(str(CHART)) as chart:
        before, after = (
            chart.render(values | {"evictionAPI": each}, name="evictd", namespace="evictd") for each in (True, False)
        )
        del values["evictd"]["cluster"]["podTermination"]
        with pytest.raises(helm.errors.HelmError, match=r"needs evictd\.cluster\.podTermination: "):
            chart.render(values | {"evictionAPI": False}, name="evictd", namespace="evictd")
    assert [path for path in before if before[path] != after[path]] == ["evictd/templates/rbac.yaml"]
    rights = text_of("cluster.md").partition("## Rights")[2].partition("## ")[0]
    assert (
        "set `podTermination: Delete` and remove the rule (the chart's `evictionAPI: false` does only this, and needs that)"
        in rights
    )
    assert "Soft evictions then ignore budgets." in rights


def rights(*operations: str) -> list[Any]:
    """Return the rules of the role after operations of the page's patch."""
    (role,) = (each for each in documents(DEPLOY / "base/rbac.yaml") if each["kind"] == "ClusterRole")
    rules: list[Any] = role["rules"]
    for operation in map(yaml.safe_load, operations):
        _, _, number, *below = operation["path"].split("/")
        match operation["op"]:
            case "test":
                assert rules[int(number)][below[0]] == operation["value"]
            case "remove":
                del rules[int(number)]
            case "replace":
                rules[int(number)][below[0]] = operation["value"]
    return rules


def test_the_page_has_the_patches_that_take_the_rights_to_evict_and_to_delete() -> None:
    """Only Helm had a way to remove `pods/eviction`, and no page one to remove the deletion of pods."""
    section = (DOCS / "cluster.md").read_text(encoding="utf-8").partition("\n## Rights\n")[2].partition("\n## ")[0]
    operations = re.findall(r"\{op: .*\}", section)
    assert len(operations) == 4
    asked = [rule["resources"] for rule in rights(*operations[:2])]
    assert ["pods/eviction"] not in asked
    assert len(asked) == len(rights()) - 1
    left = rights(*operations)
    assert left[0] == {"apiGroups": [""], "resources": ["pods"], "verbs": ["list", "watch"]}


def test_the_chart_withholds_the_right_to_delete_pods_as_the_patches_do() -> None:
    """It had no value for that: `rbac.create: false` and a role of one's own, which `helm uninstall` left behind."""
    helm = pytest.importorskip("helm_python", reason="has no wheel for this machine")
    section = text_of("cluster.md").partition("## Rights")[2].partition("## ")[0]
    assert "`deletePods: false`, too) set `podTermination: Status`" in section
    operations = re.findall(r"\{op: .*\}", (DOCS / "cluster.md").read_text(encoding="utf-8"))
    (values,) = documents(CHART / "values.yaml")
    without = values | {"deletePods": False, "evictionAPI": False}
    with helm.Chart.load(str(CHART)) as chart:
        with pytest.raises(helm.errors.HelmError, match=r"needs evictd\.cluster\.podTermination: "):
            chart.render(without, name="evictd", namespace="evictd")
        values["evictd"]["cluster"]["podTermination"] = "Status"
        before, after = (chart.render(each, name="evictd", namespace="evictd") for each in (values, without))
    assert [path for path in before if before[path] != after[path]] == ["evictd/templates/rbac.yaml"]
    role = next(iter(yaml.safe_load_all(after["evictd/templates/rbac.yaml"])))
    assert role["rules"] == rights(*operations)


@pytest.mark.parametrize(
    ("name", "begin"), [("cluster.md", "## Removing it"), ("getting-started.md", "**5. Uninstall.**")]
)
def test_evictd_is_removed_only_after_the_kubelet_has_its_thresholds_back(name: str, begin: str) -> None:
    """Both had `helm uninstall` or `apt purge` alone, which left each node after step 5 of the rollout without any eviction."""
    first = text_of(name).partition(begin)[2].partition("uninstall`")[0].partition("`cleanup`")[0]
    assert "[step 5](rollout.md#back-to-the-kubelet)" in first


def test_what_the_job_deleted_is_no_error_of_the_next_command() -> None:
    """The Job deletes the DaemonSet, and `kubectl delete -k mine` then ended with NotFound."""
    deleted = re.findall(r"kubectl delete (?:.* )?-k \S+", (DOCS / "cluster.md").read_text(encoding="utf-8"))
    deleted += re.findall(
        r"kubectl delete [^`&]*", (DEPLOY / "cleanup/kustomization.yaml").read_text(encoding="utf-8")
    )[1:]
    assert len(deleted) == 4
    assert [each for each in deleted if "--ignore-not-found" not in each] == []


@pytest.mark.parametrize("name", ["troubleshooting.md", "tuning.md", "from-the-kubelet.md"])
def test_a_budget_holds_a_soft_eviction_only_beside_a_kubelet(name: str) -> None:
    """`Auto` is `Status` without a kubelet, and that asks for no budget."""
    line = next(
        line
        for line in (DOCS / name).read_text(encoding="utf-8").splitlines()
        if "cluster.md#how-a-pod-is-evicted" in line and "soft" in line
    )
    assert "beside a kubelet" in line


def test_a_daemon_sets_pod_stays_away_on_every_page_unless_it_tolerates_the_taint() -> None:
    """The page of the incidents said that DaemonSets' pods tolerate evictd's taint, this one that they do not."""
    section = text_of("cluster.md").partition("### DaemonSets and evictd's taints")[2].partition("### ")[0]
    for key in TAINTS.values():
        assert f"`{key.partition('/')[2]}`" in section.replace("node.kubernetes.io/", "")
        assert f"{{key: {key}, operator: Exists, effect: NoSchedule}}" in section
    assert "an evicted one stays away until the taint is removed, unless it tolerates every taint" in section
    note = text_of("incidents.md").partition("## 01: ")[2]
    (every,) = re.findall(r"^why the hog is evicted (\d+) times", note)
    (kept,) = re.findall(r"it stays away\]\(cluster\.md#daemonsets-and-evictds-taints\), and (\d+) are evicted", note)
    file = read_incident(FOLDER / "01-recreated-hog.yaml")
    away = replace(file.world, owners=tuple(replace(each, tolerates=False) for each in file.world.owners))
    config = own_config(file, Policy.STANDARD)
    counts = [len(account_of(play(world, config)).losses) for world in (file.world, away)]
    assert counts == [int(every), int(kept)]
    for path in FOLDER.glob("*.yaml"):
        text = path.read_text(encoding="utf-8")
        if "{name: DaemonSet/" in text:  # the worlds say the same
            assert "# The DaemonSet tolerates every taint." in text, path.name


def test_the_first_page_leads_to_what_happens_to_a_pod_of_each_kind() -> None:
    """A reader looked on three pages for a DaemonSet's pod, a static pod and a pod with a budget."""
    entry = "[What happens to a DaemonSet's pod, a static pod, a pod with a disruption budget?](cluster.md#how-a-pod-is-evicted)"
    assert entry in text_of("index.md")
    section = text_of("cluster.md").partition("## How a pod is evicted")[2].partition("## ")[0]
    for words in ("**A DaemonSet's pod** is evicted", "**a static pod** [never]", "**Budgets** delay"):
        assert words in section
