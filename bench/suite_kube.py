"""Measures decoding of a large node's pods, and the requests of 5,000 nodes to the API server in a day.

One node runs for a simulated day against the API server double; its requests are counted and multiplied. The kubelet's requests
with default settings are given for comparison.
"""

import gc
import tempfile
import time
import tracemalloc
from pathlib import Path

from bench.harness import Result, measure, summarize
from evictd.act.cluster.report import ClusterReporter
from evictd.act.cluster.request_queue import RequestQueue
from evictd.clients.kube.credentials import Credentials
from evictd.clients.kube.nodes import NodeClient
from evictd.clients.kube.transport import Transport
from evictd.codec.pods.slim_pods import decode_page
from evictd.config.settings import ClusterSettings, ConditionTypes
from evictd.core.model.signal import NodeCondition
from tests.kube.api_server import ApiServer
from tests.kube.driving import SILENT_BELL, Driver
from tests.kube.kubelet import Kubelet
from tests.kube.objects import node, padded, pod, pod_list

PODS, POD_BYTES = 1000, 8192
NODES, DAY = 5000, 24 * 3600
KUBELET = {
    "lease renewed every 10 s": DAY // 10,
    "status every 5 min": DAY // 300,
    "pod watch, 7.5 min each": DAY // 450,
}
"""Requests of one calm kubelet: nodeLeaseDurationSeconds / 4, nodeStatusReportFrequency, client-go's watch timeouts."""
PRESSED = 3600
"""Part of the day under pressure: one hour."""


def run() -> list[Result]:
    """Measure decoding, then the day."""
    return [*decoding(), *traffic()]


def decoding() -> list[Result]:
    """A list of 1,000 pods of 8 KB: time, and memory above the bytes themselves."""
    items = [padded(pod(f"pod-{number}"), POD_BYTES) for number in range(PODS)]
    data = pod_list(*items)
    del items
    result = measure("kube/decode-1000-pods", lambda: decode_page(data), runs=30)
    gc.collect()
    tracemalloc.start()
    page = decode_page(data)
    kept, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(page.pods) == PODS
    print(f"decode {len(data) / 2**20:.1f} MiB: peak {peak / 2**20:.1f} MiB above rest, {kept / 2**20:.1f} MiB kept")
    return [result]


def traffic() -> list[Result]:
    """One node's day, and 5,000 of them beside the kubelet's own."""
    with tempfile.TemporaryDirectory() as folder, ApiServer(Path(folder)) as api:
        api.store.create("nodes", node())
        Kubelet(api.store, "n1").sync()
        transport = Transport(Credentials(str(api.kubeconfig())))
        calm, samples = _day(api, transport, pressed=False)
        busy, more = _day(api, transport, pressed=True)
        transport.close()
    # The pod watch is renewed every 5 to 10 minutes, as client-go's.
    calm["watch pods"] = busy["watch pods"] = DAY // 450
    _print("evictd, a calm day", calm)
    _print("evictd, an hour of it under pressure", busy)
    _print("kubelet, a calm day", KUBELET)
    return [summarize("kube/request-round-trip", samples + more)]


def _day(api: ApiServer, transport: Transport, *, pressed: bool) -> tuple[dict[str, int], list[float]]:
    """Run one node for a day; returns its requests by kind, and the time of each here."""
    driver = Driver()
    reporter = ClusterReporter(
        NodeClient(transport, "n1"),
        driver.clocks,
        SILENT_BELL,
        ClusterSettings(condition_types=ConditionTypes.OWN if pressed else ConditionTypes.AUTO),
        node_name="n1",
    )
    queue = RequestQueue([reporter], driver.clocks)
    api.forget_requests()
    began = time.perf_counter_ns()
    reporter.report([], driver.now)
    driver.run(queue, DAY - (PRESSED if pressed else 0))
    if pressed:
        reporter.report([NodeCondition.MEMORY_PRESSURE], driver.now)
        driver.run(queue, PRESSED)
    elapsed = (time.perf_counter_ns() - began) / 1e6
    counted: dict[str, int] = {}
    for line in api.requests():
        counted[line.what] = counted.get(line.what, 0) + 1
    return counted, [elapsed / max(1, len(api.requests()))]


def _print(title: str, counted: dict[str, int]) -> None:
    total = sum(counted.values())
    parts = ", ".join(f"{what} {count}" for what, count in sorted(counted.items()))
    per_second = total * NODES / DAY
    print(f"{title}: {total} requests a node ({total / 1440:.2f} a minute), {NODES} nodes {per_second:.1f}/s: {parts}")
