"""The manifests fit the API's own types, agree with each other, and configure evictd with files that it accepts."""

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from evictd.clients.kube.service_account import SERVICE_ACCOUNT
from evictd.config.file import load
from evictd.config.lint import lint
from evictd.config.lint_model import Lint, Surroundings
from evictd.config.settings import ConditionTypes
from evictd.core.model.threshold import Threshold
from evictd.errors import SourceKind
from tests.deploy.manifests import (
    CHART,
    DEPLOY,
    NODES,
    OVERLAYS,
    USER,
    Json,
    base,
    documents,
    kustomized,
    memory_faults,
)
from tests.kube import models
from tools.source import metrics

NOT_OF_THE_API = {
    "Kustomization", "Component", "KubeletConfiguration", "EvictdConfiguration",
    "PodMonitor", "PrometheusRule", "Issuer", "Certificate", "SecurityContextConstraints",
}  # fmt: skip
COMPONENTS = sorted(path.name for path in (DEPLOY / "components").iterdir())
FILES = sorted(
    path
    for folder in ("base", "cleanup", "overlays", "components")
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
        if path.name in {"proxy.yaml", "patch.yaml"}:
            found = [fault for fault in found if "required by" not in fault and "$patch" not in fault]
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


def with_components(folder: Path, names: Sequence[str]) -> list[Json]:
    """What kustomize makes of the base with some components; skips where there is no kustomize."""
    where = {"resources": ["base"], "components": [f"components/{name}" for name in names]}
    paths = {key: [os.path.relpath(DEPLOY / each, folder) for each in found] for key, found in where.items()}
    head = {"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization"}
    (folder / "kustomization.yaml").write_text(yaml.safe_dump({**head, **paths}))
    made = kustomized(folder)
    if made is None:
        pytest.skip("neither kubectl nor kustomize is installed")
    return made


def pod_of(made: Sequence[Json]) -> Any:
    return next(item for item in made if item["kind"] == "DaemonSet")["spec"]["template"]["spec"]


@pytest.mark.parametrize("name", COMPONENTS)
def test_every_component_is_built_and_fits(name: str, tmp_path: Path) -> None:
    made = with_components(tmp_path, [name])
    assert [fault for item in made if item["kind"] not in NOT_OF_THE_API for fault in models.faults(item)] == []
    pod = pod_of(made)
    volumes = {volume["name"] for volume in pod["volumes"]}
    for each in pod["containers"]:
        assert {mount["name"] for mount in each["volumeMounts"]} <= volumes
    (evictd,) = (each for each in pod["containers"] if each["name"] == "evictd")
    assert set(container()["args"]) <= set(evictd["args"]), "a patch replaces the whole list"


@pytest.mark.parametrize("name", COMPONENTS)
def test_a_component_keeps_every_flag_of_the_daemon(name: str, tmp_path: Path) -> None:
    """A list of a patch replaces that of the base: `k3s` and `crio` left out the socket of the probes, so no pod was ready."""
    made = {each["name"]: each for each in pod_of(with_components(tmp_path, [name]))["containers"]}
    assert [flag for flag in container()["args"] if flag not in made["evictd"]["args"]] == []


def test_components_change_what_they_say(tmp_path: Path) -> None:
    pod = pod_of(with_components(tmp_path, ["no-host-pid", "apparmor", "crio"]))
    assert pod["hostPID"] is False
    assert pod["securityContext"]["appArmorProfile"] == {"type": "RuntimeDefault"}
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    paths = {mount["name"]: mount["mountPath"] for mount in pod["containers"][0]["volumeMounts"]}
    assert (paths["storage"], paths["runtime"]) == ("/var/lib/containers/storage", "/run/crio")


def test_the_constraints_of_openshift_allow_what_the_pod_has_and_no_more(tmp_path: Path) -> None:
    made = with_components(tmp_path, ["selinux", "openshift"])
    constraints = next(item for item in made if item["kind"] == "SecurityContextConstraints")
    pod = pod_of(made)
    (container,) = pod["containers"]
    capabilities = container["securityContext"]["capabilities"]
    assert constraints["users"] == [USER]
    assert constraints["allowedCapabilities"] == capabilities["add"]
    assert constraints["requiredDropCapabilities"] == capabilities["drop"]
    assert (
        constraints["seLinuxContext"]["seLinuxOptions"] == pod["securityContext"]["seLinuxOptions"] == {"type": "spc_t"}
    )
    allowed = {name for name, value in constraints.items() if name.startswith("allow") and value is True}
    assert allowed == {"allowHostDirVolumePlugin", "allowHostPID"}
    kinds = {kind for volume in pod["volumes"] for kind in volume if kind != "name"}
    assert kinds <= set(constraints["volumes"])


def test_with_cgroup_kill_only_the_pods_cgroups_are_writable(tmp_path: Path) -> None:
    pod = pod_of(with_components(tmp_path, ["cgroup-kill"]))
    mounts = {mount["mountPath"]: mount for mount in pod["containers"][0]["volumeMounts"]}
    cgroups = {path: mount.get("readOnly", False) for path, mount in mounts.items() if path.startswith("/sys/")}
    assert cgroups == {"/sys/fs/cgroup": True, "/sys/fs/cgroup/kubepods.slice": False}
    paths = {volume["name"]: volume.get("hostPath") for volume in pod["volumes"]}
    assert paths["pods-cgroup"] == {"path": "/sys/fs/cgroup/kubepods.slice", "type": "Directory"}


def test_the_metrics_component_fits_the_daemon_set(tmp_path: Path) -> None:
    """The proxy stands beside evictd, which stays on loopback, and has an account and a certificate of its own."""
    made = with_components(tmp_path, ["metrics"])
    (proxy,) = (each for each in pod_of(made)["containers"] if each["name"] == "metrics")
    (endpoint,) = next(item for item in made if item["kind"] == "PodMonitor")["spec"]["podMetricsEndpoints"]
    (port,) = proxy["ports"]
    assert port["name"] == endpoint["port"]
    assert "--upstream=http://127.0.0.1:10277/" in proxy["args"]
    # With the node's name servers (`dnsPolicy: Default`) no name of the cluster is found: the address is that of the environment.
    assert not any(each.startswith("--kubeconfig") for each in proxy["args"])
    paths = {mount["name"]: mount["mountPath"] for mount in proxy["volumeMounts"]}
    assert paths["metrics-token"] == str(SERVICE_ACCOUNT)
    assert "token" not in {mount["name"] for mount in proxy["volumeMounts"]}
    assert "insecureSkipVerify" not in endpoint["tlsConfig"]
    certificate = next(item for item in made if item["kind"] == "Certificate")["spec"]
    assert [endpoint["tlsConfig"]["serverName"]] == certificate["dnsNames"]


def test_the_metrics_are_there_without_the_prometheus_operator(tmp_path: Path) -> None:
    """`metrics` alone has a PodMonitor, which a cluster without the operator refuses, and there was no other component."""
    both, alone = with_components(tmp_path, ["metrics", "no-pod-monitor"]), with_components(tmp_path, ["metrics"])
    assert (
        [item for item in alone if item not in both] == [item for item in alone if item["kind"] == "PodMonitor"] != []
    )
    assert [item for item in both if item not in alone] == []


def test_an_alert_is_about_a_metric_that_exists_and_has_a_runbook() -> None:
    (rule,) = documents(DEPLOY / "components" / "alerts" / "prometheusrule.yaml")
    of_others = "kube_daemonset_status_number_unavailable"  # kube-state-metrics has it
    known = {metric.name for metric in metrics()} | {of_others}
    pages = (DEPLOY.parent / "docs" / "alerts.md").read_text(encoding="utf-8")
    for alert in rule["spec"]["groups"][0]["rules"]:
        named = set(re.findall(r"(?:evictd|kube)_\w+", alert["expr"]))
        assert named, alert["alert"]
        assert named <= known, alert["alert"]
        for sources in re.findall(r'source=~"([^"]+)"', alert["expr"]):
            assert set(sources.split("|")) <= {kind.value for kind in SourceKind}
        assert f"\n## {alert['alert']}\n" in pages


@pytest.mark.parametrize("folder", ["base", *(f"overlays/{name}" for name in OVERLAYS)])
def test_evictd_accepts_its_configuration(folder: str) -> None:
    """Without a warning; the service account is used."""
    settings = load(DEPLOY / folder / "config.yaml")
    assert settings.evictd.cluster.kubeconfig == "in-cluster"
    assert settings.warnings == ()
    assert settings.evictd.dry_run is (folder == "overlays/dry-run")
    if "kubelet" in folder:
        assert settings.evictd.cluster.condition_types is ConditionTypes.OWN


def chart_thresholds() -> Json:
    """Return the kubelet's document of the chart's values."""
    (values,) = documents(CHART / "values.yaml")
    return {"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration", **values["kubelet"]}


def kubelet_defaults(folder: Path) -> Sequence[Threshold]:
    """Return the thresholds of a kubelet that sets none."""
    path = folder / "kubelet.yaml"
    path.write_text("apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n")
    return load(path).eviction.thresholds


@pytest.mark.parametrize("mebibytes", NODES)
@pytest.mark.parametrize("name", ["base", "overlays/beside-kubelet", "overlays/dry-run", "chart", "sample"])
def test_a_default_fits_every_node(name: str, mebibytes: int, tmp_path: Path) -> None:
    """A soft threshold of 1Gi was always met on a node of 1 GiB."""
    path = DEPLOY / name / "config.yaml"
    if name == "chart":
        (path := tmp_path / "config.yaml").write_text(yaml.safe_dump(chart_thresholds()))
    if name == "sample":
        path = DEPLOY.parent / "config/beside-a-kubelet.yaml"
    assert memory_faults(path, tmp_path, mebibytes) == []


def test_every_default_beside_a_kubelet_has_the_thresholds_of_the_base(tmp_path: Path) -> None:
    """The base has the reason for them. Each is above the kubelet's default."""
    (kubelet, _) = documents(DEPLOY / "base" / "config.yaml")
    fields = {name: value for name, value in kubelet.items() if name.startswith("eviction")}
    assert {name: chart_thresholds()[name] for name in fields} == fields
    files = [DEPLOY / "overlays" / name / "config.yaml" for name in ("beside-kubelet", "dry-run")]
    for path in [*files, DEPLOY.parent / "config/beside-a-kubelet.yaml"]:
        (other, _) = documents(path)
        assert {name: value for name, value in other.items() if name.startswith("eviction")} == fields, path
    around = Surroundings(kubelet=kubelet_defaults(tmp_path))
    found = lint(load(DEPLOY / "base" / "config.yaml").eviction.thresholds, around)
    assert [each for each in found if each.lint is Lint.KUBELET_ACTS_FIRST] == []


def test_the_kubelets_own_eviction_is_switched_off_signal_by_signal() -> None:
    """Each default is named, and `pid.available`, which the file of a node may have and a drop-in is merged into.

    At a limit of all pods the OOM killer would act first.
    """
    (kubelet,) = documents(DEPLOY / "overlays" / "instead-of-kubelet-eviction" / "kubelet-config.yaml")
    defaults = {"memory.available", "nodefs.available", "nodefs.inodesFree", "imagefs.available", "imagefs.inodesFree"}
    assert {signal for signal, value in kubelet["evictionHard"].items() if value == "0%"} == defaults | {
        "pid.available"
    }
    assert kubelet["enforceNodeAllocatable"] == ["none"]
    assert [name for name, value in kubelet.items() if value is None] == ["evictionSoft", "evictionSoftGracePeriod"]


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


def test_no_pod_reaches_the_daemon_and_the_probes_run_in_its_container() -> None:
    """The health pages were at a port of the pod: two flooding processes made 4 of 11 probes fail."""
    assert "ports" not in container()
    socket = "/tmp/evictd-health.sock"
    assert f"--health-address=unix:{socket}" in container()["args"]
    assert f'"{socket}"' in (DEPLOY / "evictd-probe").read_text()
    pages = {probe: container()[f"{probe}Probe"]["exec"]["command"] for probe in ("startup", "liveness", "readiness")}
    assert pages == {
        "startup": ["evictd-probe", "/startz"],
        "liveness": ["evictd-probe", "/healthz"],
        "readiness": ["evictd-probe", "/readyz"],
    }
    assert "COPY --chmod=755 deploy/evictd-probe /opt/evictd/bin/evictd-probe\n" in (DEPLOY / "Dockerfile").read_text()


def test_a_socket_that_cannot_be_had_never_ends_the_daemon() -> None:
    """The liveness probe begins after the startup probe, which only evictd answers and which has no end."""
    startup = container()["startupProbe"]
    assert startup["exec"]["command"][1] == "/startz"
    assert startup["failureThreshold"] == 2**31 - 1


def test_the_daemon_set_has_no_rights_that_it_does_not_need() -> None:
    """Not privileged, nothing writable but its state and the logs that it removes."""
    context = container()["securityContext"]
    assert context["privileged"] is False
    assert context["allowPrivilegeEscalation"] is False
    assert context["readOnlyRootFilesystem"] is True
    assert context["capabilities"] == {"drop": ["ALL"], "add": ["DAC_READ_SEARCH"]}
    writable = {mount["mountPath"] for mount in container()["volumeMounts"] if not mount.get("readOnly")}
    assert writable == {"/var/lib/evictd", "/run/evictd", "/var/lib/kubelet", "/var/log/pods", "/tmp"}
    volumes = {volume["name"]: volume for volume in daemon_set()["spec"]["template"]["spec"]["volumes"]}
    assert volumes["nodefs"] == {"name": "nodefs", "emptyDir": {}}
    hosts = {volume["hostPath"]["path"] for volume in volumes.values() if "hostPath" in volume}
    assert "/var/lib/kubelet" not in hosts, "the kubelet's keys"
    mounted = {mount["name"] for mount in container()["volumeMounts"]}
    assert mounted == {volume["name"] for volume in daemon_set()["spec"]["template"]["spec"]["volumes"]}


def test_the_policies_are_about_the_account_that_the_role_is_bound_to() -> None:
    """Same user, and every writing rule is covered, but for the one that is documented."""
    policies = [item for item in base() if item["kind"] == "ValidatingAdmissionPolicy"]
    assert all(USER in policy["spec"]["matchConditions"][0]["expression"] for policy in policies)
    covered = {
        name
        for policy in policies
        for rule in policy["spec"]["matchConstraints"]["resourceRules"]
        for name in rule["resources"]
    }
    role: Json = next(item for item in base() if item["kind"] == "ClusterRole")
    written = {
        name
        for rule in role["rules"]
        for name in rule["resources"]
        if {"create", "patch", "delete"} & set(rule["verbs"])
    }
    assert written - covered == {"pods/eviction"}
    bindings = [item["spec"] for item in base() if item["kind"] == "ValidatingAdmissionPolicyBinding"]
    assert [spec["policyName"] for spec in bindings] == [policy["metadata"]["name"] for policy in policies]
    assert all("Deny" in spec["validationActions"] for spec in bindings)


def test_the_image_is_pinned_and_not_root() -> None:
    """Base image by version, dependencies by constraints, a user of its own."""
    lines = (DEPLOY / "Dockerfile").read_text().splitlines()
    assert "USER 65532:65532" in lines
    assert any("--require-hashes --no-deps --requirement requirements.txt" in line for line in lines)
    assert any(line.startswith("ARG BASE=docker.io/library/python:3.11.") for line in lines)
    assert {line.split()[1] for line in lines if line.startswith("FROM ")} == {"${BASE}"}
    assert not any(":latest" in line for line in lines)


def test_the_image_holds_compiled_code() -> None:
    """Of evictd, its packages and the standard library: a read-only root cannot keep what a start compiles."""
    text = (DEPLOY / "Dockerfile").read_text()
    compiled = re.findall(r"compileall -q .*--invalidation-mode unchecked-hash (\S+)", text)
    assert compiled == ["/opt/evictd/lib", "/usr/local/lib/python3.11"]
