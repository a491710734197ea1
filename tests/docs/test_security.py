"""docs/security.md: what it says of the pod's privileges is what the DaemonSet has."""

from pathlib import Path

from tests.deploy.manifests import DEPLOY, documents

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
