"""The manifests fit the API's own types, agree with each other, and configure evictd with files that it accepts."""

from pathlib import Path
from typing import Any

import pytest

from evictd.config.file import load
from evictd.config.settings import ConditionTypes
from tests.deploy.manifests import DEPLOY, OVERLAYS, USER, Json, base, documents, kustomized
from tests.kube import models

NOT_OF_THE_API = {"Kustomization", "Component", "KubeletConfiguration", "EvictdConfiguration", "PodMonitor"}
FILES = sorted(
    path
    for folder in ("base", "overlays", "components")
    for path in (DEPLOY / folder).rglob("*.yaml")
    if path.name not in {"config.yaml", "kubelet-config.yaml", "kustomization.yaml"}
)


def daemon_set() -> Any:
    return next(item for item in base() if item["kind"] == "DaemonSet")


def container() -> Any:
    return daemon_set()["spec"]["template"]["spec"]["containers"][0]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(DEPLOY)))
def test_every_object_fits_the_types_of_the_api(path: Path) -> None:
    """No unknown field, no wrong type, nothing required missing. (A patch leaves out what it does not change.)"""
    for item in documents(path):
        if item["kind"] in NOT_OF_THE_API:
            continue
        found = models.faults(item)
        if path.name == "proxy.yaml":
            found = [fault for fault in found if "required by" not in fault]
        assert found == []


@pytest.mark.parametrize("folder", ["base", *(f"overlays/{name}" for name in OVERLAYS)])
def test_every_overlay_is_built_and_fits(folder: str) -> None:
    """With kustomize itself; the DaemonSet mounts the very ConfigMap that was generated."""
    made = kustomized(DEPLOY / folder)
    if made is None:
        pytest.skip("neither kubectl nor kustomize is installed")
    assert [fault for item in made for fault in models.faults(item)] == []
    (config,) = (item for item in made if item["kind"] == "ConfigMap")
    (daemon,) = (item for item in made if item["kind"] == "DaemonSet")
    volumes = {volume["name"]: volume for volume in daemon["spec"]["template"]["spec"]["volumes"]}
    assert volumes["config"]["configMap"]["name"] == config["metadata"]["name"]
    assert config["data"]["config.yaml"] == (DEPLOY / folder / "config.yaml").read_text()


def test_the_metrics_component_fits_the_daemon_set() -> None:
    """The proxy stands beside evictd, which stays on loopback."""
    whole = DEPLOY / "components" / "metrics"
    patch, monitor = documents(whole / "proxy.yaml")[0], documents(whole / "podmonitor.yaml")[0]
    (proxy,) = patch["spec"]["template"]["spec"]["containers"]
    assert proxy["ports"][0]["name"] == monitor["spec"]["podMetricsEndpoints"][0]["port"]
    assert "--upstream=http://127.0.0.1:10258/" in proxy["args"]
    assert monitor["spec"]["selector"] == daemon_set()["spec"]["selector"]


@pytest.mark.parametrize("folder", ["base", *(f"overlays/{name}" for name in OVERLAYS)])
def test_evictd_accepts_its_configuration(folder: str) -> None:
    """Without a warning; the service account is used."""
    settings = load(DEPLOY / folder / "config.yaml")
    assert settings.cluster.kubeconfig == "in-cluster"
    assert settings.warnings == ()
    assert settings.dry_run is (folder == "overlays/dry-run")
    if "kubelet" in folder:
        assert settings.cluster.condition_types is ConditionTypes.OWN


def test_the_kubelets_own_eviction_is_switched_off_signal_by_signal() -> None:
    """Every default of the kubelet is named, because a map replaces them as a whole."""
    (kubelet,) = documents(DEPLOY / "overlays" / "instead-of-kubelet-eviction" / "kubelet-config.yaml")
    defaults = {"memory.available", "nodefs.available", "nodefs.inodesFree", "imagefs.available", "imagefs.inodesFree"}
    assert {signal for signal, value in kubelet["evictionHard"].items() if value == "0%"} == defaults


def test_the_daemon_set_survives_the_pressure_it_is_there_for() -> None:
    """Critical priority, every taint tolerated, Guaranteed, and its own uid known."""
    spec = daemon_set()["spec"]["template"]["spec"]
    assert spec["priorityClassName"] == "system-node-critical"
    assert spec["tolerations"] == [{"operator": "Exists"}]
    resources = container()["resources"]
    assert resources["requests"] == resources["limits"]
    assert {"cpu", "memory"} == set(resources["limits"])
    fields = {entry["name"]: entry["valueFrom"]["fieldRef"]["fieldPath"] for entry in container()["env"]}
    assert fields == {"NODE_NAME": "spec.nodeName", "POD_UID": "metadata.uid"}


def test_the_daemon_set_has_no_rights_that_it_does_not_need() -> None:
    """Not privileged, nothing writable but its state and the logs that it removes."""
    context = container()["securityContext"]
    assert context["privileged"] is False
    assert context["allowPrivilegeEscalation"] is False
    assert context["readOnlyRootFilesystem"] is True
    assert context["capabilities"] == {"drop": ["ALL"], "add": ["DAC_READ_SEARCH"]}
    writable = {mount["mountPath"] for mount in container()["volumeMounts"] if not mount.get("readOnly")}
    assert writable == {"/var/lib/evictd", "/var/log/pods", "/tmp"}
    mounted = {mount["name"] for mount in container()["volumeMounts"]}
    assert mounted == {volume["name"] for volume in daemon_set()["spec"]["template"]["spec"]["volumes"]}


def test_the_policy_is_about_the_account_that_the_role_is_bound_to() -> None:
    """Same user, and every writing rule on pods and nodes is covered, but for the one that is documented."""
    policy: Json = next(item for item in base() if item["kind"] == "ValidatingAdmissionPolicy")
    assert USER in policy["spec"]["matchConditions"][0]["expression"]
    covered = {name for rule in policy["spec"]["matchConstraints"]["resourceRules"] for name in rule["resources"]}
    role: Json = next(item for item in base() if item["kind"] == "ClusterRole")
    written = {
        name
        for rule in role["rules"]
        for name in rule["resources"]
        if rule["apiGroups"] == [""] and {"create", "patch", "delete"} & set(rule["verbs"])
    }
    assert written - covered == {"pods/eviction"}
    binding: Json = next(item for item in base() if item["kind"] == "ValidatingAdmissionPolicyBinding")
    assert binding["spec"]["policyName"] == policy["metadata"]["name"]
    assert "Deny" in binding["spec"]["validationActions"]


def test_the_image_is_pinned_and_not_root() -> None:
    """Base image by version, dependencies by constraints, a user of its own."""
    lines = (DEPLOY / "Dockerfile").read_text().splitlines()
    assert "USER 65532:65532" in lines
    assert any("--constraint constraints.txt" in line for line in lines)
    assert any(line.startswith("ARG PYTHON=3.11.") for line in lines)
    assert not any(":latest" in line for line in lines)
