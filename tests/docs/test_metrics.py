"""docs/metrics.md and docs/charts.md: how Prometheus reads the proxies, with the operator or without."""

import re
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
import yaml

from tests.deploy.test_chart import VALUES, merged, rendered
from tests.docs.pages import joined

DOCS = Path(__file__).parents[2] / "docs"
PAGE = joined("metrics.md")


def jobs() -> list[Any]:
    """Return the scrape jobs of the page: the one of a unit, and the one of the proxies."""
    blocks = re.findall(r"^    scrape_configs:.*\n(?:    .*\n)*", PAGE, re.MULTILINE)
    return [job for block in blocks for job in yaml.safe_load(dedent(block))["scrape_configs"]]


def test_prometheus_without_the_operator_reads_what_the_pod_monitor_reads() -> None:
    """The page had the rules for it, and no job: EvictdDown was raised for a cluster whose proxies were well."""
    on = {"metrics": {"enabled": True, "podMonitor": {"enabled": True}}}
    found = rendered(merged(VALUES, on))
    (monitor,) = found["PodMonitor", "evictd"]["spec"]["podMetricsEndpoints"]
    _, job = jobs()
    assert job["scheme"] == monitor["scheme"]
    assert job["tls_config"]["server_name"] == monitor["tlsConfig"]["serverName"]
    (service,) = job["kubernetes_sd_configs"]
    assert service == {"role": "pod", "namespaces": {"names": ["evictd"]}}
    kept, node = job["relabel_configs"]
    assert kept == {
        "source_labels": ["__meta_kubernetes_pod_container_port_name"],
        "regex": monitor["port"],
        "action": "keep",
    }
    (theirs,) = monitor["relabelings"]
    assert node == {"source_labels": theirs["sourceLabels"], "target_label": theirs["targetLabel"]}
    copied = re.findall(r"get secret (\S+) --output jsonpath='\{\.data\.(\S+)\}' \| base64 -d > (\S+)", PAGE)
    token, ca = monitor["authorization"]["credentials"], monitor["tlsConfig"]["ca"]["secret"]
    assert copied == [(token["name"], token["key"], "token"), (ca["name"], ca["key"].replace(".", "\\."), "ca.crt")]
    assert job["authorization"]["credentials_file"].endswith("/token")
    assert job["tls_config"]["ca_file"].endswith("/ca.crt")
    without = rendered(merged(VALUES, {"metrics": {"enabled": True}}))
    assert ("Secret", token["name"]) in without
    assert {api for each in without.values() if "monitoring.coreos.com" in (api := each["apiVersion"])} == set()


def test_each_release_has_a_job_of_its_own_for_its_proxies() -> None:
    """One job read the pods of both releases with the names of the first: the second's certificate did not fit, `up` was 0."""
    (relabeling,) = re.findall(r"^      # - (source_labels.*\n(?:      #   .*\n)+)", PAGE, re.MULTILINE)
    rule = yaml.safe_load(relabeling.replace("      #   ", ""))
    (source,) = rule.pop("source_labels")
    assert rule == {"regex": "evictd", "action": "keep"}
    label = "app.kubernetes.io/instance"
    assert source == "__meta_kubernetes_pod_label_" + re.sub(r"\W", "_", label)
    found = rendered(merged(VALUES, {"metrics": {"enabled": True}}))
    assert found["DaemonSet", "evictd"]["spec"]["template"]["metadata"]["labels"][label] == "evictd"


@pytest.mark.parametrize("job", jobs(), ids=["unit", "proxies"])
def test_the_alert_of_a_target_that_does_not_answer_knows_the_job(job: Any) -> None:
    rules = (DOCS.parent / "deploy/chart/evictd/files/alerts.yaml").read_text(encoding="utf-8")
    (named,) = re.findall(r'up\{job=~"(.*?)"\}', rules)
    assert re.fullmatch(named, job["job_name"])


def test_a_cluster_without_cert_manager_takes_the_value_that_asks_it_for_nothing() -> None:
    """The page named `metrics.tls.secretName`, which leaves the Certificate: it fails, or replaces that secret."""
    section = (DOCS / "charts.md").read_text(encoding="utf-8").partition("\n## Metrics\n")[2]
    assert "`metrics.tls.certManager: false`" in section
    for given, made in (({"secretName": "mine"}, True), ({"secretName": "mine", "certManager": False}, False)):
        found = rendered(merged(VALUES, {"metrics": {"enabled": True, "tls": given}}))
        assert any(kind == "Certificate" for kind, _ in found) is made
