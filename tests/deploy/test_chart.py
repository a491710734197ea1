"""The Helm chart is the base of kustomize by default, takes what node agents need, and refuses mistakes.

It is rendered by Helm itself, as a library.
"""

import copy
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from evictd.config.file import load
from tests.deploy.manifests import CHART, DEPLOY, Json, base, cleanup, documents
from tests.kube import models

helm_python = pytest.importorskip("helm_python", reason="has no wheel for this machine")

SCHEMA = json.loads((CHART / "values.schema.json").read_text())
(VALUES,) = documents(CHART / "values.yaml")
NAME = {"app.kubernetes.io/name": "evictd"}
SELECTOR = {**NAME, "app.kubernetes.io/instance": "evictd"}
FOREIGN = {"PodMonitor", "ServiceMonitor", "PrometheusRule", "Issuer", "Certificate"}
"""Kinds of operators, whose types the API's models do not have."""
ALL: Json = {
    "nameOverride": "agent",
    "image": {"digest": f"sha256:{'0' * 64}", "tag": 1},
    "imagePullSecrets": [{"name": "registry"}],
    "serviceAccount": {"name": "evictor", "annotations": {"a": "b"}},
    "resourceQuota": {"enabled": True},
    "resources": {"requests": {"cpu": "1", "memory": "1G"}, "limits": {"memory": "1G"}},
    "affinity": {"nodeAffinity": {}},
    "annotations": {"a": "b"},
    "podAnnotations": {"c": "d"},
    "podLabels": {"e": "f"},
    "commonLabels": {"team": "node"},
    "extraArgs": ["--log-level=debug"],
    "extraEnv": [{"name": "TZ", "value": "UTC"}],
    "extraVolumes": [{"name": "extra", "emptyDir": {}}],
    "extraVolumeMounts": [{"name": "extra", "mountPath": "/extra"}],
    "extraContainers": [{"name": "more", "image": "more:1", "volumeMounts": []}],
    "podsCgroup": "/kubepods.slice",
    "hostPID": False,
    "hostNetwork": True,
    "appArmorProfile": {"type": "RuntimeDefault"},
    "podSecurityContext": {"seLinuxOptions": {"type": "spc_t"}},
    "metrics": {"enabled": True, "podMonitor": {"enabled": True}, "serviceMonitor": {"enabled": True}},
    "prometheusRule": {
        "enabled": True,
        "additionalRules": [{"record": "a", "expr": "b"}],
        "runbookURL": "https://docs.example/alerts.html",
    },
    "networkPolicy": {"enabled": True, "from": [{"namespaceSelector": {}}]},
    "evictd": {"listenAddress": "127.0.0.1:4711"},
}


def merged(values: Json, over: Json) -> Json:
    """The values with others laid over them, as Helm does it."""
    made = copy.deepcopy(values)
    for name, value in over.items():
        made[name] = (
            merged(made[name], value) if isinstance(value, dict) and isinstance(made.get(name), dict) else value
        )
    return made


def changed(path: str, value: object) -> Json:
    """The default values with one of them changed; `None` takes it out."""
    made = copy.deepcopy(VALUES)
    *way, last = path.split(".")
    place = made
    for name in way:
        place = place[name]
    place.pop(last, None)
    if value is not None:
        place[last] = value
    return made


def texts(values: Json) -> dict[str, str]:
    """What Helm makes of each template; the values pass their schema first."""
    jsonschema.validate(values, SCHEMA)
    with helm_python.Chart.load(str(CHART)) as chart:
        found: dict[str, str] = chart.render(values, name="evictd", namespace="evictd")
    return found


def rendered(values: Json) -> dict[tuple[str, str], Json]:
    """The objects of the chart, by kind and name."""
    made = [text for path, text in texts(values).items() if path.endswith(".yaml")]
    items = [item for text in made for item in yaml.safe_load_all(text) if item]
    return {(item["kind"], item["metadata"]["name"]): item for item in items}


def with_base_labels(item: Any) -> Any:
    """The same with the labels of the base in the place of Helm's."""
    if isinstance(item, dict):
        return {
            key: NAME
            if key in {"labels", "matchLabels"} and value.items() >= SELECTOR.items()
            else with_base_labels(value)
            for key, value in item.items()
        }
    return [with_base_labels(each) for each in item] if isinstance(item, list) else item


@pytest.mark.parametrize("values", [{}, ALL], ids=["default values", "every value"])
def test_helm_lint_finds_nothing_but_that_there_is_no_icon(values: Json) -> None:
    report = helm_python.lint(str(CHART), values, strict=True)
    assert (report["errors"], [each["error"] for each in report["messages"]]) == ([], ["icon is recommended"])


def test_the_default_values_fit_their_schema() -> None:
    """And the schema is one."""
    of_schemas = jsonschema.Draft7Validator(jsonschema.Draft7Validator.META_SCHEMA)
    assert list(of_schemas.iter_errors(SCHEMA)) == []
    assert list(jsonschema.Draft7Validator(SCHEMA).iter_errors(VALUES)) == []


def test_the_schema_knows_every_value() -> None:
    assert set(VALUES) <= set(SCHEMA["properties"])


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("image.pullpolicy", "Always"),
        ("image.digest", "latest"),
        ("resources", "lots"),
        ("runtime.storage", "var/lib/containerd"),
        ("runtime.socketDirectory", None),
        ("evictd.cluster.podTermination", "Kill"),
        ("metrics.port", 0),
        ("hostPid", False),
        ("replicas", 3),
    ],
)
def test_mistakes_are_refused(path: str, value: object) -> None:
    """Misspelt, missing, out of range."""
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(changed(path, value), SCHEMA)


@pytest.mark.parametrize(
    ("value", "termination", "needed"),
    [
        ("evictionAPI", None, "Delete or Status"),
        ("evictionAPI", "EvictionAPI", "Delete or Status"),
        ("deletePods", None, "Status"),
        ("deletePods", "Delete", "Status"),
    ],
)
def test_a_right_that_the_configuration_would_use_stays_and_the_message_names_the_field(
    value: str, termination: str | None, needed: str
) -> None:
    """It began with "'allOf' failed" of the schema, and did not say what to set."""
    cluster = {} if termination is None else {"podTermination": termination}
    message = f"{value}: false needs evictd.cluster.podTermination: {needed}"
    with pytest.raises(helm_python.errors.HelmError, match=message):
        rendered(merged(VALUES, {value: False, "evictd": {"cluster": cluster}}))


def test_with_the_default_values_it_is_the_base(tmp_path: Path) -> None:
    """Object by object, but for labels, the generated name of the ConfigMap and the checksum that goes with it."""
    made = with_base_labels(rendered(VALUES))
    daemon = made[("DaemonSet", "evictd")]
    del daemon["spec"]["template"]["metadata"]["annotations"]
    config = made.pop(("ConfigMap", "evictd"))
    for key, item in list(made.items()):
        hook = item["metadata"].get("annotations", {}).get("helm.sh/hook")
        if hook == "pre-delete":
            del item["metadata"]["annotations"]
        elif hook == "test":
            del made[key]
    items = [*base(), *cleanup()]
    expected = {(item["kind"], item["metadata"]["name"]): item for item in items if item["kind"] != "Namespace"}
    assert made == expected
    (tmp_path / "config.yaml").write_text(config["data"]["config.yaml"])
    settings = load(tmp_path / "config.yaml")
    assert (settings.evictd.cluster.kubeconfig, settings.warnings) == ("in-cluster", ())


LESS = {
    "rbac": {"create": False},
    "serviceAccount": {"create": False, "name": "other"},
    "admissionPolicy": False,
    "networkPolicy": {"ingress": False},
    "evictionAPI": False,
    "evictd": {"cluster": {"podTermination": "Delete"}},
}


@pytest.mark.parametrize("over", [{}, ALL, LESS, {"metrics": {"enabled": True, "tls": {"certManager": False}}}])
def test_every_rendered_object_fits_the_types_of_the_api(over: Json) -> None:
    made = rendered(merged(VALUES, over))
    assert [fault for item in made.values() if item["kind"] not in FOREIGN for fault in models.faults(item)] == []
    for (kind, name), item in made.items():
        assert item["metadata"]["labels"]["app.kubernetes.io/managed-by"] == "Helm", (kind, name)


def test_uninstalling_cleans_the_nodes_before_anything_else_goes() -> None:
    """The account and its rights come first, the Job that uses them after them; each is removed at the end."""
    made = rendered(VALUES)
    hooks = {key: item["metadata"]["annotations"] for key, item in made.items() if key[1] == "evictd-cleanup"}
    assert {kind for kind, _ in hooks} == {
        *("ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding", "Job"),
        *("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"),
    }
    assert {each["helm.sh/hook"] for each in hooks.values()} == {"pre-delete"}
    weights = {kind: int(each["helm.sh/hook-weight"]) for (kind, _), each in hooks.items()}
    assert weights.pop("Job") > max(weights.values())
    off = rendered(merged(VALUES, {"cleanup": {"enabled": False}}))
    assert not [name for _, name in off if name.endswith("-cleanup")]


def test_the_test_may_read_the_daemon_set_and_asks_for_that_one() -> None:
    """Its Pod is not the DaemonSet's, runs the file of the chart, and comes after its account."""
    made = rendered(merged(VALUES, {"imagePullSecrets": [{"name": "registry"}], "commonLabels": {"team": "node"}}))
    hooks = {kind: item for (kind, name), item in made.items() if name == "evictd-test"}
    assert set(hooks) == {"ServiceAccount", "Role", "RoleBinding", "Pod"}
    assert {item["metadata"]["annotations"]["helm.sh/hook"] for item in hooks.values()} == {"test"}
    weights = {kind: int(item["metadata"]["annotations"]["helm.sh/hook-weight"]) for kind, item in hooks.items()}
    assert weights.pop("Pod") > max(weights.values())
    (rule,) = hooks["Role"]["rules"]
    assert (rule["resources"], rule["resourceNames"], rule["verbs"]) == (["daemonsets"], ["evictd"], ["get"])
    pod = hooks["Pod"]
    assert not pod["metadata"]["labels"].items() >= SELECTOR.items()
    (container,) = pod["spec"]["containers"]
    script, *arguments = container["args"]
    assert script == (CHART / "files/ready.py").read_text()
    assert arguments == ["evictd", "evictd", "240"]
    assert pod["spec"]["activeDeadlineSeconds"] > int(arguments[-1])
    assert pod["spec"]["imagePullSecrets"] == [{"name": "registry"}]


def test_parts_can_be_taken_away() -> None:
    """Accounts, roles and policies that others make; no rule for evictions where none are asked for."""
    made = rendered(merged(VALUES, LESS))
    assert {kind for kind, _ in made} == {"ConfigMap", "DaemonSet"}
    assert made[("DaemonSet", "evictd")]["spec"]["template"]["spec"]["serviceAccountName"] == "other"
    rules = rendered(merged(VALUES, {**LESS, "rbac": {"create": True}}))[("ClusterRole", "evictd")]["rules"]
    assert not any("pods/eviction" in rule["resources"] for rule in rules)


def test_every_value_reaches_the_pod() -> None:
    made = rendered(merged(VALUES, ALL))
    template = made[("DaemonSet", "evictd-agent")]["spec"]["template"]
    spec = template["spec"]
    evictd, metrics, more = spec["containers"]
    assert more["name"] == "more"
    assert evictd["image"] == f"evictd@sha256:{'0' * 64}"
    assert spec["imagePullSecrets"] == [{"name": "registry"}]
    assert spec["serviceAccountName"] == "evictor"
    assert "hostPID" not in spec
    assert spec["securityContext"]["appArmorProfile"] == {"type": "RuntimeDefault"}
    assert spec["securityContext"]["seLinuxOptions"] == {"type": "spc_t"}
    assert template["metadata"]["annotations"]["c"] == "d"
    assert template["metadata"]["labels"].items() >= {"e": "f", "team": "node"}.items()
    assert "--log-level=debug" in evictd["args"]
    assert evictd["env"][-1] == {"name": "TZ", "value": "UTC"}
    assert spec["volumes"][-1]["name"] == evictd["volumeMounts"][-1]["name"] == "extra"
    assert evictd["startupProbe"]["exec"] == {"command": ["evictd-probe", "/startz"]}
    assert evictd["livenessProbe"]["exec"] == {"command": ["evictd-probe", "/healthz"]}
    assert evictd["readinessProbe"]["exec"] == {"command": ["evictd-probe", "/readyz"]}
    assert "--upstream=http://127.0.0.1:4711/" in metrics["args"]
    (component,) = documents(DEPLOY / "components" / "metrics" / "proxy.yaml")
    (proxy,) = component["spec"]["template"]["spec"]["containers"]
    assert metrics["volumeMounts"] == proxy["volumeMounts"]
    policy = made[("ValidatingAdmissionPolicy", "evictd-agent-own-node")]
    assert "system:serviceaccount:evictd:evictor" in policy["spec"]["matchConditions"][0]["expression"]


def test_each_container_has_its_own_identity() -> None:
    """The proxy's account may not delete pods: evictd's token is mounted into evictd's container only."""
    made = rendered(merged(VALUES, ALL))
    spec = made[("DaemonSet", "evictd-agent")]["spec"]["template"]["spec"]
    assert spec["automountServiceAccountToken"] is False
    evictd, metrics = ({mount["name"] for mount in each["volumeMounts"]} for each in spec["containers"][:2])
    assert "token" in evictd - metrics
    assert {name for name in metrics if name.startswith("metrics-")} == metrics
    accounts = {name: item for (kind, name), item in made.items() if kind == "ServiceAccount"}
    of_pods = {"evictor", "evictd-agent-metrics", "evictd-agent-metrics-reader"}
    assert {name for name, item in accounts.items() if item.get("automountServiceAccountToken") is False} == of_pods
    (bound,) = (
        item["roleRef"]["name"]
        for item in made.values()
        if item["kind"] == "ClusterRoleBinding" and item["subjects"][0]["name"] == "evictd-agent-metrics"
    )
    assert bound == "system:auth-delegator"


def test_the_proxy_has_a_user_of_its_own_among_the_processes_of_the_node() -> None:
    """It had the user of distroless images: in the host's PID namespace it could end their processes and read their tokens."""
    (component,) = documents(DEPLOY / "components" / "metrics" / "proxy.yaml")
    daemon_set = rendered(merged(VALUES, ALL))[("DaemonSet", "evictd-agent")]
    for item in (component, daemon_set):
        containers = {each["name"]: each for each in item["spec"]["template"]["spec"]["containers"]}
        context = containers["metrics"]["securityContext"]
        assert (context["runAsUser"], context["runAsGroup"]) == (10278, 10278)


def test_the_monitors_verify_the_proxy_and_say_who_they_are() -> None:
    made = rendered(merged(VALUES, ALL))
    certificate = made[("Certificate", "evictd-agent-metrics")]["spec"]
    for kind, field in (("PodMonitor", "podMetricsEndpoints"), ("ServiceMonitor", "endpoints")):
        (endpoint,) = made[(kind, "evictd-agent")]["spec"][field]
        assert endpoint["authorization"]["credentials"] == {"name": "evictd-agent-metrics-reader", "key": "token"}
        assert "insecureSkipVerify" not in endpoint["tlsConfig"]
        assert [endpoint["tlsConfig"]["serverName"]] == certificate["dnsNames"]
        assert endpoint["tlsConfig"]["ca"]["secret"]["name"] == certificate["secretName"]


def test_the_alerts_are_those_of_the_component() -> None:
    (component,) = documents(DEPLOY / "components" / "alerts" / "prometheusrule.yaml")
    values = merged(VALUES, {"prometheusRule": {"enabled": True}})
    assert rendered(values)[("PrometheusRule", "evictd")]["spec"] == component["spec"]
    linked = rendered(merged(VALUES, ALL))[("PrometheusRule", "evictd-agent")]["spec"]["groups"][0]["rules"][0]
    assert linked["annotations"]["runbook_url"] == f"https://docs.example/alerts.html#{linked['alert'].lower()}"


def test_additional_rules_are_a_group_of_their_own() -> None:
    """They were an entry among the alerts, which the operator refuses: a rule has no `rules`."""
    *_, added = rendered(merged(VALUES, ALL))[("PrometheusRule", "evictd-agent")]["spec"]["groups"]
    assert added == {"name": "evictd-additional", "rules": ALL["prometheusRule"]["additionalRules"]}


def test_single_alerts_can_be_left_out() -> None:
    values = merged(VALUES, {"prometheusRule": {"enabled": True, "disabled": ["EvictdDown", "EvictdUnderPressure"]}})
    (group,) = rendered(values)[("PrometheusRule", "evictd")]["spec"]["groups"]
    names = [rule["alert"] for rule in group["rules"]]
    assert "EvictdSignalUnavailable" in names
    assert not {"EvictdDown", "EvictdUnderPressure"} & set(names)


@pytest.mark.parametrize("name", ["crio", "k3s", "rke2"])
def test_other_runtimes_are_mounted_where_they_are(name: str) -> None:
    """The socket that the configuration names lies in the directory that is mounted; the component of kustomize agrees."""
    (over,) = documents(CHART / f"values-{name}.yaml")
    made = rendered(merged(VALUES, over))
    pod = made[("DaemonSet", "evictd")]["spec"]["template"]["spec"]
    paths = {each["name"]: each["hostPath"]["path"] for each in pod["volumes"] if "hostPath" in each}
    socket = over["kubelet"]["containerRuntimeEndpoint"].removeprefix("unix://")
    assert str(Path(socket).parent) == paths["runtime"] == over["runtime"]["socketDirectory"]
    (patch,) = documents(DEPLOY / "components" / name / "patch.yaml")
    volumes = patch["spec"]["template"]["spec"]["volumes"]
    assert {each["name"]: each["hostPath"]["path"] for each in volumes} == {
        key: paths[key] for key in ("storage", "runtime")
    }
    assert f"--container-runtime-endpoint=unix://{socket}" in patch["spec"]["template"]["spec"]["containers"][0]["args"]


def test_the_notes_say_how_to_look_and_how_to_go_back() -> None:
    (notes,) = (text for path, text in texts(VALUES).items() if path.endswith("NOTES.txt"))
    assert "evictd status" in notes
    assert "helm rollback evictd --namespace evictd" in notes
    assert "helm uninstall evictd --namespace evictd" in notes
    (warned,) = (text for path, text in texts(merged(VALUES, LESS)).items() if path.endswith("NOTES.txt"))
    assert "WARNING" in warned


@pytest.mark.parametrize("dry_run", [True, False])
def test_the_notes_say_whether_this_release_evicts(dry_run: bool) -> None:
    """They announced a dry run, and said nothing where the chart evicts, which is its default."""
    over = {"evictd": {"dryRun": dry_run}} if dry_run else {}
    (notes,) = (text for path, text in texts(merged(VALUES, over)).items() if path.endswith("NOTES.txt"))
    said = " ".join(notes.split())
    assert ("This is a dry run: " in said) == dry_run
    assert ("This is no dry run: evictd evicts pods from now on" in said) != dry_run
    assert ("set `evictd.dryRun: true` in your values" in said) != dry_run
