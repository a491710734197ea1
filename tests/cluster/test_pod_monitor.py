"""Prometheus itself scrapes the DaemonSet's metrics through the proxy, with the PodMonitor's own settings, on a real cluster.

The component `metrics` of `deploy/` as it is, but for the network and the proxy's program: its image is in no package index, so
`metrics_proxy` stands in for it, with the component's flags, files and identity. The PodMonitor is translated as its operator
translates it, but Debian's Prometheus is built without discovery in Kubernetes: the targets are listed here, with its labels.
"""

import base64
import contextlib
import json
import os
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
import urllib3

from evictd.cli import main
from evictd.commands.inputs.raw_files import prometheus_scenario
from tests.cluster import metrics_proxy
from tests.cluster.deployed import ADDRESS, Daemon, Json, applied, for_node
from tests.cluster.node import NAME, RealNode
from tests.cluster.objects import PATHS
from tests.cluster.processes import Process
from tests.deploy.kustomize import rendered
from tests.deploy.manifests import DEPLOY
from tests.kube.waiting import eventually
from tests.ports import free_ports
from tests.prometheus import program
from tools.image import REFERENCE

pytestmark = [pytest.mark.cluster, pytest.mark.root]

NAMESPACE = "evictd"
SERVER_NAME = "evictd-metrics.evictd.svc"
PROXY_PORT, PROMETHEUS_PORT = free_ports(2)
SCRAPE_INTERVAL = "5s"
"""Instead of the monitor's 30 s, so that the test need not wait for it."""
QUERIES = ("evictd_signal_available", "evictd_signal_capacity", 'container_memory_working_set_bytes{container!=""}')
STARTED = 10 << 20
"""Bytes; less than a running evictd takes."""


def secret(node: RealNode, reference: Json) -> bytes:
    """Read a key of a secret, as the operator does, once the controllers have filled it."""
    path = f"{PATHS['Secret'].format(NAMESPACE)}/{reference['name']}"
    text = eventually(lambda: node.plane.admin.must("GET", path).get("data", {}).get(reference["key"]))
    return base64.b64decode(text)


def tls_secret(node: RealNode) -> Json:
    """What cert-manager makes of the component's Certificate."""
    pair = node.plane.authority.issue(SERVER_NAME, server=True, names=(SERVER_NAME,))
    texts = {"tls.crt": pair.cert, "tls.key": pair.key, "ca.crt": node.plane.authority.cert}
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "evictd-metrics-tls", "namespace": NAMESPACE},
        "stringData": {name: path.read_text() for name, path in texts.items()},
    }


def with_network(items: list[Json]) -> list[Json]:
    """Let the proxy listen and speak on loopback, and run the stand-in; its limits are those of another program."""
    for item in items:
        if item["kind"] == "DaemonSet":
            containers = {each["name"]: each for each in item["spec"]["template"]["spec"]["containers"]}
            proxy, evictd = containers["metrics"], containers["evictd"]
            proxy["env"] = [each for each in evictd["env"] if each["name"].startswith("KUBERNETES_")]
            replaced = {"0.0.0.0:10278": f"127.0.0.1:{PROXY_PORT}", "127.0.0.1:10277": ADDRESS}
            for old, new in replaced.items():
                assert any(old in arg for arg in proxy["args"])
                proxy["args"] = [arg.replace(old, new) for arg in proxy["args"]]
            proxy["ports"][0]["containerPort"] = PROXY_PORT
            proxy |= {"image": REFERENCE, "command": ["python", "-c", Path(metrics_proxy.__file__).read_text()]}
            del proxy["resources"]
    return items


@pytest.fixture(scope="module")
def monitored(image_node: RealNode) -> Iterator[Json]:
    """The DaemonSet with its proxy; gives the PodMonitor."""
    items = rendered(DEPLOY / "overlays/beside-kubelet", (DEPLOY / "components/metrics",))
    (monitor,) = (item for item in items if item["kind"] == "PodMonitor")
    known = [item for item in items if item["kind"] in PATHS]
    assert {item["kind"] for item in items if item not in known} == {"PodMonitor", "Certificate", "Issuer"}
    ready = with_network([*for_node(image_node, known), tls_secret(image_node)])
    with applied(image_node, sorted(ready, key=lambda item: item["kind"] == "DaemonSet")):
        yield monitor


def scrape_config(node: RealNode, monitor: Json, folder: Path) -> Json:
    """Translate the monitor's endpoint; what it refers to is read from the cluster and written to files."""
    (endpoint,) = monitor["spec"]["podMetricsEndpoints"]
    credentials, ca = endpoint["authorization"]["credentials"], endpoint["tlsConfig"]["ca"]["secret"]
    for reference in (credentials, ca):
        path = folder / f"{reference['name']}.{reference['key']}"
        path.write_bytes(secret(node, reference))
    labels = monitor["spec"]["selector"]["matchLabels"].items()
    keep: list[tuple[str, str]] = [(f"label_{name}", value) for name, value in labels]
    keep.append(("container_port_name", endpoint["port"]))
    relabel: list[Json] = [{"action": "keep", "source_labels": [_meta(name)], "regex": value} for name, value in keep]
    relabel += [
        {"source_labels": each["sourceLabels"], "target_label": each["targetLabel"]} for each in endpoint["relabelings"]
    ]
    return {
        "job_name": monitor["metadata"]["name"],
        "scrape_interval": SCRAPE_INTERVAL,
        "scrape_timeout": SCRAPE_INTERVAL,
        "metrics_path": endpoint["path"],
        "scheme": endpoint["scheme"],
        "authorization": {
            "type": endpoint["authorization"]["type"],
            "credentials_file": str(folder / f"{credentials['name']}.{credentials['key']}"),
        },
        "tls_config": {
            "ca_file": str(folder / f"{ca['name']}.{ca['key']}"),
            "server_name": endpoint["tlsConfig"]["serverName"],
        },
        "static_configs": list(discovered(node, monitor["metadata"]["namespace"])),
        "relabel_configs": relabel,
    }


def discovered(node: RealNode, namespace: str) -> Iterator[Json]:
    """List every port of every pod as Prometheus' discovery does; all are on the host's network, and so on loopback."""
    for pod in node.plane.admin.must("GET", f"/api/v1/namespaces/{namespace}/pods")["items"]:
        labels = {_meta(f"label_{name}"): value for name, value in pod["metadata"]["labels"].items()}
        labels[_meta("node_name")] = pod["spec"]["nodeName"]
        for port in (port for container in pod["spec"]["containers"] for port in container.get("ports", ())):
            own = {_meta("container_port_name"): port["name"]}
            yield {"targets": [f"127.0.0.1:{port['containerPort']}"], "labels": {**labels, **own}}


def _meta(name: str) -> str:
    return "__meta_kubernetes_pod_" + name.translate(str.maketrans("./-", "___"))


def ask(path: str) -> Json:
    """Ask Prometheus; nothing while it does not answer yet."""
    with (
        contextlib.suppress(OSError),
        urllib.request.urlopen(f"http://127.0.0.1:{PROMETHEUS_PORT}/api/v1/{path}", timeout=20) as answer,
    ):
        return dict(json.load(answer)["data"])
    return {}


def query(expression: str) -> list[Json]:
    return list(ask(f"query?query={quote(expression)}").get("result", ()))


@pytest.fixture(scope="module")
def prometheus(image_node: RealNode, monitored: Json) -> Iterator[Process]:
    """Prometheus, which scrapes the proxy and the kubelet's cAdvisor."""
    folder = image_node.folder / "prometheus"
    folder.mkdir()
    config = folder / "prometheus.yml"
    jobs = [scrape_config(image_node, monitored, folder), cadvisor_config(image_node)]
    config.write_text(json.dumps({"scrape_configs": jobs}))
    arguments = [
        str(program("prometheus")),
        f"--config.file={config}",
        f"--storage.tsdb.path={folder}/data",
        f"--web.listen-address=127.0.0.1:{PROMETHEUS_PORT}",
    ]
    process = Process("prometheus", image_node.folder, arguments)
    process.start()
    yield process
    process.stop()


def cadvisor_config(node: RealNode) -> Json:
    """Scrape the kubelet's own `/metrics/cadvisor`, as every monitoring of Kubernetes does."""
    pair = node.plane.authority.issue("prometheus")
    port = json.loads((node.folder / "kubelet.json").read_text())["port"]
    return {
        "job_name": "cadvisor",
        "scrape_interval": SCRAPE_INTERVAL,
        "scrape_timeout": SCRAPE_INTERVAL,
        "metrics_path": "/metrics/cadvisor",
        "scheme": "https",
        "tls_config": {"cert_file": str(pair.cert), "key_file": str(pair.key), "insecure_skip_verify": True},
        "static_configs": [{"targets": [f"127.0.0.1:{port}"]}],
    }


def test_prometheus_scrapes_the_proxy_with_the_monitor_s_identity(prometheus: Process) -> None:
    scraped = eventually(lambda: _scraped(prometheus), 120)
    assert [each["metric"]["node"] for each in scraped] == [NAME]
    # A scrape of a busy machine may take longer than its interval, and the next one does not.
    eventually(lambda: [each["value"][1] for each in query('up{job="evictd"}')] == ["1"], 120)


def test_simulate_plays_what_prometheus_recorded(
    image_node: RealNode, prometheus: Process, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The node's signals as evictd published them, the pods as the kubelet measured them, and `kubectl get pods`."""
    evictd = Daemon(image_node).pod
    eventually(lambda: _scraped(prometheus) and all(map(query, QUERIES)) and _measured(evictd), 120)
    pods = tmp_path / "pods.json"
    pods.write_text(
        json.dumps(image_node.plane.admin.must("GET", f"/api/v1/pods?fieldSelector=spec.nodeName%3D{NAME}"))
    )
    now = ask("query?query=time()")["result"][0]
    files = [tmp_path / f"{number}.json" for number in range(len(QUERIES))]
    for path, expression in zip(files, QUERIES, strict=True):
        data = ask(f"query_range?query={quote(expression)}&start={now - 300}&end={now}&step=5")
        path.write_text(json.dumps({"status": "success", "data": data}))
    last = prometheus_scenario(pods, files).steps[-1].summary
    assert last is not None
    node, stats = last
    assert node.memory is not None
    assert node.memory.available_bytes is not None
    assert 0 < node.memory.available_bytes < memory_bytes()
    measured = stats[evictd["metadata"]["uid"]].memory
    assert measured is not None
    assert STARTED < (measured.working_set_bytes or 0) < 200 << 20
    kubelet = {"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration"}
    config = tmp_path / "config.yaml"
    config.write_text(json.dumps({**kubelet, "evictionHard": {"memory.available": "1Mi"}}))  # clear on every machine
    arguments = [argument for path in files for argument in ("--prometheus", str(path))]
    capsys.readouterr()  # what was printed while Prometheus was waited for
    assert main(["simulate", "--config", str(config), "--pods", str(pods), *arguments, "--output", "json"]) == 0
    assert {tuple(step["evicted"]) for step in json.loads(capsys.readouterr().out)["steps"]} == {()}


def memory_bytes() -> int:
    """The machine's memory, as the kernel says."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _measured(pod: Json) -> bool:
    """Whether cAdvisor has measured each container of the pod: it finds a new one only after a while, and may while it starts."""
    found = {
        each["metric"]["container"]: float(each["value"][1])
        for each in query(QUERIES[2])
        if each["metric"]["pod"] == pod["metadata"]["name"]
    }
    names = {container["name"] for container in pod["spec"]["containers"]}
    return found.keys() >= names and sum(found.values()) > STARTED


def _scraped(prometheus: Process) -> list[Json]:
    assert prometheus.running(), prometheus.last_words()
    found = query("evictd_build_info")
    if not found:
        print(json.dumps(ask("targets")))  # shown if the wait fails
    return found


def test_the_proxy_refuses_others(image_node: RealNode, monitored: Json) -> None:
    """No token, a token without the right, another path: each as kube-rbac-proxy answers it."""
    pool = urllib3.HTTPSConnectionPool(
        "127.0.0.1", PROXY_PORT, ca_certs=str(image_node.plane.authority.cert), server_hostname=SERVER_NAME
    )
    (endpoint,) = monitored["spec"]["podMetricsEndpoints"]
    reader = secret(image_node, endpoint["authorization"]["credentials"]).decode()
    tokens = {
        "": 401,
        "not-a-token": 401,
        image_node.plane.service_account_token(NAMESPACE, "default"): 403,
        reader: 200,
    }
    for token, status in tokens.items():
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        assert pool.request("GET", "/metrics", headers=headers, timeout=30).status == status
    assert pool.request("GET", "/configz", headers={"Authorization": f"Bearer {reader}"}).status == 404
    pool.close()
