"""docs/security.md: what it says of the pod's privileges is what the DaemonSet has."""

from pathlib import Path

from tests.deploy.manifests import DEPLOY, documents
from tools.source import metrics

PAGE = (Path(__file__).parents[2] / "docs/security.md").read_text(encoding="utf-8")


def test_the_table_of_privileges_has_each_folder_of_the_node() -> None:
    """The cgroups' filesystem was missing."""
    (made,) = documents(DEPLOY / "base/daemonset.yaml")
    paths = [
        volume["hostPath"]["path"] for volume in made["spec"]["template"]["spec"]["volumes"] if "hostPath" in volume
    ]
    assert len(paths) > 5
    table = PAGE.partition("| Privilege | For | Without |")[2].partition("\n\n")[0]
    named = [row.split("|")[1] for row in table.splitlines() if row.startswith("| `/")]
    assert [path for path in paths if not any(f"`{path}`" in cell for cell in named)] == []


def test_the_other_accounts_may_do_what_the_page_says() -> None:
    """The cleanup's account may also delete the DaemonSet, and that of the metrics proxy was not named."""
    text = " ".join(PAGE.partition("## What a stolen token may do")[2].partition("\n## ")[0].split())
    roles = [each for each in documents(DEPLOY / "cleanup/rbac.yaml") if each["kind"].endswith("Role")]
    granted = {
        (name, verb) for role in roles for rule in role["rules"] for name in rule["resources"] for verb in rule["verbs"]
    }
    assert granted == {
        *(("nodes", verb) for verb in ("get", "list", "patch")),
        ("nodes/status", "patch"),
        *(("daemonsets", verb) for verb in ("get", "delete")),
    }
    for part in ("read all nodes", "remove evictd's taints and conditions", "delete evictd's DaemonSet"):
        assert part in text
    (proxy,) = (
        each["roleRef"]["name"]
        for each in documents(DEPLOY / "components/metrics/proxy-account.yaml")
        if each["kind"] == "ClusterRoleBinding"
    )
    assert f"(`{proxy}`)" in text


def test_the_page_says_as_which_user_with_which_capabilities_the_container_runs() -> None:
    """Only the reference of the chart had the UID."""
    (made,) = documents(DEPLOY / "base/daemonset.yaml")
    spec = made["spec"]["template"]["spec"]
    (container,) = (each for each in spec["containers"] if each["name"] == "evictd")
    capabilities = container["securityContext"]["capabilities"]
    assert capabilities["drop"] == ["ALL"]
    uid, (added,) = spec["securityContext"]["runAsUser"], capabilities["add"]
    assert f"UID {uid} with the capability {added} alone" in " ".join(PAGE.split())


def test_the_metrics_that_leave_the_node_name_no_pod() -> None:
    """No page said what leaves the node."""
    section = " ".join(PAGE.partition("## What leaves the node")[2].partition("\n## ")[0].split())
    assert "serves `/metrics`, which names no pod," in section
    assert {*(label for each in metrics() for label in each.labels)}.isdisjoint(
        {"pod", "namespace", "uid", "container"}
    )
    for other in ("API server", "Pages", "log", "Containers' logs"):
        assert other in section
