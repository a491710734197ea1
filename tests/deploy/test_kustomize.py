"""The small renderer makes what kustomize makes, but for the generated suffix of the ConfigMap's name."""

import copy

import pytest

from tests.deploy.kustomize import Json, rendered
from tests.deploy.manifests import DEPLOY, OVERLAYS, kustomized


def without_suffix(items: list[Json]) -> dict[tuple[str, str], Json]:
    made = copy.deepcopy(items)
    generated = {item["metadata"]["name"] for item in made if item["kind"] == "ConfigMap"}
    for item in made:
        if item["kind"] == "ConfigMap":
            item["metadata"] = {"name": "evictd", "namespace": "evictd"}
        if item["kind"] == "DaemonSet":
            for volume in item["spec"]["template"]["spec"]["volumes"]:
                if volume.get("configMap", {}).get("name") in generated:
                    volume["configMap"]["name"] = "evictd"
    return {(item["kind"], item["metadata"]["name"]): item for item in made}


@pytest.mark.parametrize("folder", ["base", "cleanup", *(f"overlays/{name}" for name in OVERLAYS)])
def test_it_renders_what_kustomize_renders(folder: str) -> None:
    """Object by object."""
    expected = kustomized(DEPLOY / folder)
    if expected is None:
        pytest.skip("neither kubectl nor kustomize is installed")
    assert without_suffix(rendered(DEPLOY / folder)) == without_suffix(expected)


def test_a_component_is_merged_into_the_daemon_set() -> None:
    """The proxy stands beside evictd's container, whose fields stay."""
    made = rendered(DEPLOY / "base", (DEPLOY / "components" / "metrics",))
    (daemon,) = (item for item in made if item["kind"] == "DaemonSet")
    (alone,) = (item for item in rendered(DEPLOY / "base") if item["kind"] == "DaemonSet")
    containers = daemon["spec"]["template"]["spec"]["containers"]
    (expected,) = alone["spec"]["template"]["spec"]["containers"]
    assert containers[0] == expected
    assert [each["name"] for each in containers] == ["evictd", "metrics"]
    assert any(item["kind"] == "PodMonitor" for item in made)
