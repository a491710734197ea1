"""docs/cluster.md: what it says of rights and budgets is what the chart and evictd do."""

import re
from pathlib import Path

import pytest

from tests.deploy.manifests import CHART, DEPLOY, documents

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
        with pytest.raises(helm.errors.HelmValuesError, match="missing property 'podTermination'"):
            chart.render(values | {"evictionAPI": False}, name="evictd", namespace="evictd")
    assert [path for path in before if before[path] != after[path]] == ["evictd/templates/rbac.yaml"]
    rights = text_of("cluster.md").partition("## Rights")[2].partition("## ")[0]
    assert (
        "set `podTermination: Delete` and remove the rule (the chart's `evictionAPI: false` does only this, and needs that)"
        in rights
    )
    assert "Soft evictions then ignore budgets." in rights


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
