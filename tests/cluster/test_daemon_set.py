"""The DaemonSet of `deploy/`, started by a real kubelet: one story of disk pressure, and each way to install it.

From `deploy/` unchanged but for the image's tag, the network and the cgroup's name (`deployed.for_node`).
"""

import copy
import json
import os
import time
from collections.abc import Callable, Iterator
from datetime import datetime
from itertools import count
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest
import yaml

from evictd import cli
from evictd.errors import ExitCode, NodeError
from evictd_testnode import cgroups
from evictd_testnode.images import BUSYBOX
from tests.cluster import objects
from tests.cluster.deployed import (
    ADDRESS,
    START_SECONDS,
    Daemon,
    Json,
    applied,
    apply,
    condition,
    for_node,
    path_of,
    remove,
)
from tests.cluster.node import NAME, RealNode
from tests.cluster.side_by_side import disruption_targets
from tests.deploy.kustomize import rendered
from tests.deploy.manifests import CHART, DEPLOY, OVERLAYS, USER, documents
from tests.kube.waiting import eventually

pytestmark = [pytest.mark.cluster, pytest.mark.root]

NODE_PATH = f"{objects.NODES}/{NAME}"
SOON = {"evictionPressureTransitionPeriod": "5s"}
POD_UID = "authentication.kubernetes.io/pod-uid"
DAC_READ_SEARCH = 1 << 2
HOG_MIB = 3200
"""Of the disk of 4 GiB with the images on it: leaves less than the 12 % of nodefs.available."""


@pytest.fixture(scope="class")
def daemon(image_node: RealNode) -> Iterator[Daemon]:
    """The DaemonSet of the overlay for a node whose kubelet reports."""
    items = for_node(image_node, rendered(DEPLOY / "overlays/beside-kubelet"), kubelet=SOON)
    with applied(image_node, items) as made:
        yield made


def hog(mib: int) -> Json:
    """A pod that takes disk in its emptyDir, at once and without writing it."""
    pod = objects.pod("hog", NAME)
    pod["spec"] |= {"hostNetwork": True, "terminationGracePeriodSeconds": 1}
    pod["spec"]["volumes"] = [{"name": "scratch", "emptyDir": {}}]
    script = f"/bin/busybox fallocate -l {mib << 20} /scratch/x && exec sleep 600"
    pod["spec"]["containers"] = [
        {
            "name": "c",
            "image": BUSYBOX,
            "imagePullPolicy": "Never",
            "command": ["/bin/sh", "-c", script],
            "volumeMounts": [{"name": "scratch", "mountPath": "/scratch"}],
        }
    ]
    return pod


def conditions(node: RealNode) -> dict[str, str]:
    found = node.plane.admin.must("GET", NODE_PATH)["status"]["conditions"]
    return {each["type"]: each["status"] for each in found}


def taints(node: RealNode) -> set[str]:
    spec = node.plane.admin.must("GET", NODE_PATH)["spec"]
    return {f"{each['key']}:{each['effect']}" for each in spec.get("taints", ())}


def clean_up(node: RealNode) -> None:
    """Remove what evictd left on the node, as the documentation of an uninstallation says."""
    kubeconfig = str(node.plane.kubeconfig("controllers"))
    assert cli.main(["cleanup", "--all", "--kubeconfig", kubeconfig]) == ExitCode.DONE


def events(node: RealNode) -> set[tuple[str, str]]:
    """Reason and the kind of the object, of evictd's events."""
    items = node.plane.admin.must("GET", "/apis/events.k8s.io/v1/events")["items"]
    return {
        (each["reason"], each["regarding"]["kind"]) for each in items if "evictd" in each.get("reportingController", "")
    }


def evictions(daemon: Daemon) -> float:
    return sum(value for name, value in daemon.metrics().items() if name.startswith("evictd_evictions_total{"))


def print_timeline(daemon: Daemon, status_seconds: float) -> None:
    """Print what docs/benchmarks.md has as a table (`pytest -s`): seconds from the start of the container's process."""
    pid, ticks = daemon.main_process()
    booted = time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)
    started = booted + ticks / os.sysconf("SC_CLK_TCK")
    for line in daemon.log():
        after = datetime.fromisoformat(line["at"]).timestamp() - started
        print(
            f"{after:8.2f} s",
            line["event"],
            {name: line[name] for name in ("condition", "pod", "reason") if name in line},
        )
    rss = next(line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmHWM"))
    name = "memory.peak" if cgroups.is_unified() else "memory.max_usage_in_bytes"
    peak = int((cgroups.group("memory", daemon.cgroup) / name).read_text()) >> 20
    print(f"status took {status_seconds:.2f} s; {rss}; the pod's peak {peak} MiB")


class TestBesideKubelet:
    """One installation for all of these: the last one brings requests that may find nothing."""

    def test_the_container_has_the_rights_of_the_manifest_and_no_others(
        self, image_node: RealNode, daemon: Daemon
    ) -> None:
        """One capability, no new privileges, seccomp, a root that cannot be written, and its limits in the cgroup."""
        pod = daemon.pod
        group = daemon.cgroup
        pid, _ = daemon.main_process()
        status = dict(line.split(":\t", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
        assert int(status["CapEff"], 16) == int(status["CapBnd"], 16) == DAC_READ_SEARCH
        assert (status["NoNewPrivs"], status["Seccomp"]) == ("1", "2")
        with pytest.raises(NodeError, match="Read-only file system"):
            daemon.run("python", "-c", "open('/usr/x', 'w')")
        limit = next(iter(pod["spec"]["containers"]))["resources"]["limits"]["memory"]
        assert int((cgroups.group("memory", group) / "memory.limit_in_bytes").read_text()) == int(limit[:-2]) << 20
        assert pod["status"]["qosClass"] == "Guaranteed"

    def test_it_speaks_with_the_bound_token_of_its_pod(self, image_node: RealNode, daemon: Daemon) -> None:
        """Each request is in the audit log as the service account's, with the pod's uid; none was refused."""
        uid = daemon.pod["metadata"]["uid"]

        def of_this_pod() -> list[Json]:
            lines = image_node.plane.audit_log.read_text().rpartition("\n")[0].splitlines()
            found = [json.loads(line) for line in lines if USER in line]
            return [line for line in found if line["user"].get("extra", {}).get(POD_UID) == [uid]]

        eventually(of_this_pod, 120)
        ended = [line for line in of_this_pod() if line["stage"] == "ResponseComplete"]
        refused = [line for line in ended if line["responseStatus"]["code"] not in {200, 201}]
        assert [(line["verb"], line["requestURI"], line["responseStatus"]["code"]) for line in refused] == []

    def test_disk_pressure_is_relieved_and_reported(self, image_node: RealNode, daemon: Daemon) -> None:
        """The pod that took the disk is evicted; condition, taint, events, metrics and `evictd status` say so, then end."""
        admin = image_node.plane.admin
        eventually(lambda: conditions(image_node).get("EvictdDiskPressure") == "False", 120)
        with objects.created(admin, hog(HOG_MIB)) as path:
            uid = admin.must("GET", path)["metadata"]["uid"]
            eventually(lambda: admin.request("GET", path).status == 404, 120)
        targets = disruption_targets(image_node.plane, uid)
        assert {each["reason"] for each in targets} == {"TerminationByKubelet"}
        assert "ephemeral-storage" in targets[0]["message"]
        eventually(lambda: ("Evicted", "Pod") in events(image_node), 120)
        eventually(lambda: evictions(daemon) == 1)  # counted in the cycle after the event
        began = time.monotonic()
        document = json.loads(daemon.run("evictd", "status", "--address", ADDRESS, "--output", "json"))
        print_timeline(daemon, time.monotonic() - began)
        assert any("hog" in json.dumps(decision) for decision in document["decisions"])
        eventually(lambda: conditions(image_node)["EvictdDiskPressure"] == "False", 120)
        eventually(lambda: not taints(image_node), 120)


def test_a_health_address_that_is_unavailable_is_told_and_restarts_nothing(image_node: RealNode) -> None:
    """The startup probe fails again and again, the liveness probe never begins."""
    items = for_node(image_node, rendered(DEPLOY / "overlays/dry-run"))
    (daemon_set,) = (item for item in items if item["kind"] == "DaemonSet")
    (container,) = daemon_set["spec"]["template"]["spec"]["containers"]
    container["args"] = [arg.replace("unix:/tmp/", "unix:/none/") for arg in container["args"]]
    container["startupProbe"]["periodSeconds"] = 1
    container["livenessProbe"] |= {"initialDelaySeconds": 0, "periodSeconds": 1, "failureThreshold": 1}
    daemon = Daemon(image_node)
    try:
        apply(image_node, items)
        eventually(lambda: startup_failures(image_node) >= 3, START_SECONDS)
        (status,) = daemon.pod["status"]["containerStatuses"]
        eventually(lambda: any(line.get("source") == "listen" for line in daemon.log()), 120)
        assert (status["restartCount"], status["ready"], list(status["state"])) == (0, False, ["running"])
    finally:
        remove(image_node, items)


def startup_failures(node: RealNode) -> int:
    items = node.plane.admin.must("GET", "/api/v1/namespaces/evictd/events")["items"]
    failed = [each for each in items if "Startup probe failed: evictd does not answer" in each["message"]]
    return sum(each.get("count", 1) for each in failed)


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_each_overlay_is_installed_and_removed(image_node: RealNode, overlay: str) -> None:
    """Its configuration is accepted, the first decision made, and nothing of it stays on the node."""
    items = for_node(image_node, rendered(DEPLOY / "overlays" / overlay))
    with applied(image_node, items) as daemon:
        eventually(lambda: any("report node conditions" in event for event in daemon.events()), 120)
        line = next(line for line in daemon.log() if line["event"] == "starting")
        assert line["dry_run"] is (overlay == "dry-run")
        lines = [line for line in daemon.log() if line["level"] in {"warning", "error"}]
        # Of a large machine: the kubelet's default of 100Mi is less than its kernel keeps back. Of a disk near a threshold.
        expected = {("threshold cannot be met", "memory threshold"), ("cannot be read", "disk usage of deleted files")}
        others = [line for line in lines if (line["event"], line.get("source", "")) not in expected]
        assert not others
    clean_up(image_node)  # a stop under pressure keeps the marks for the next run
    assert not {kind for kind, status in conditions(image_node).items() if status == "True"} - {"Ready"}
    assert not taints(image_node)


def test_an_overlay_is_upgraded_to_another_with_components(image_node: RealNode) -> None:
    """The pod is replaced and obeys the new configuration; what the components add is accepted, and goes with the rest.

    `metrics` has tests of its own, and `alerts` needs a kind that its operator brings; the others are for other nodes.
    """
    components = tuple(DEPLOY / "components" / name for name in ("no-host-pid", "network-policy", "resource-quota"))
    before = for_node(image_node, rendered(DEPLOY / "overlays/dry-run"))
    after = for_node(image_node, rendered(DEPLOY / "overlays/beside-kubelet", components))
    try:
        with applied(image_node, before) as daemon:
            eventually(lambda: _begun(daemon) == [True], 120)
            first = daemon.pod["metadata"]["uid"]
            apply(image_node, after)
            eventually(lambda: daemon.pod.get("metadata", {"uid": first})["uid"] != first, START_SECONDS)
            daemon.wait_until_ready()
            eventually(lambda: _begun(daemon) == [False], 120)
            assert not daemon.pod["spec"].get("hostPID")
            quota = next(path_of(item) for item in after if item["kind"] == "ResourceQuota")
            eventually(lambda: image_node.plane.admin.must("GET", quota)["status"].get("used") == {"pods": "1"}, 120)
    finally:
        remove(image_node, after)
    clean_up(image_node)
    assert not taints(image_node)


def test_the_chart_is_installed_upgraded_and_removed(image_node: RealNode) -> None:
    """An upgrade that changes the configuration replaces the pod, which obeys the new one."""
    helm_python = pytest.importorskip("helm_python", reason="has no wheel for this machine")
    (values,) = documents(CHART / "values.yaml")

    def chart(hook: str = "", **evictd: Any) -> list[Json]:
        with helm_python.Chart.load(str(CHART)) as loaded:
            changed = {**values, "evictd": {**values["evictd"], **evictd}}
            texts = loaded.render(changed, name="evictd", namespace="evictd").items()
        items = [item for path, text in texts if path.endswith(".yaml") for item in yaml.safe_load_all(text) if item]
        wanted = [item for item in items if hook_of(item) == hook]
        namespace = [] if hook else documents(DEPLOY / "base/namespace.yaml")
        return for_node(
            image_node, [*namespace, *sorted(wanted, key=lambda item: item["kind"] in {"DaemonSet", "Pod"})]
        )

    def tested() -> str:
        """The phase in which the pod of `helm test` ends."""
        items = chart("test")
        (pod,) = (path_of(item) for item in items if item["kind"] == "Pod")
        try:
            apply(image_node, items)
            return ended(image_node, pod)
        finally:
            remove(image_node, items)

    with applied(image_node, chart()) as daemon:
        eventually(lambda: _begun(daemon) == [False], 120)
        assert tested() == "Succeeded"
        first = daemon.pod["metadata"]["uid"]
        apply(image_node, chart(dryRun=True))
        eventually(lambda: daemon.pod.get("metadata", {"uid": first})["uid"] != first, START_SECONDS)
        daemon.wait_until_ready()
        eventually(lambda: _begun(daemon) == [True], 120)
    clean_up(image_node)
    assert not taints(image_node)


def of_the_chart(node: RealNode) -> tuple[list[Json], list[Json]]:
    """The objects of a release under pressure, and the hooks that Helm runs before it deletes them, in their order."""
    helm_python = pytest.importorskip("helm_python", reason="has no wheel for this machine")
    (values,) = documents(CHART / "values.yaml")
    with helm_python.Chart.load(str(CHART)) as loaded:
        texts = loaded.render(values, name="evictd", namespace="evictd").items()
    items = [item for path, text in texts if path.endswith(".yaml") for item in yaml.safe_load_all(text) if item]
    made = for_node(node, [*documents(DEPLOY / "base/namespace.yaml"), *items], **PRESSED)
    hooks = [item for item in made if hook_of(item) == "pre-delete"]
    hooks.sort(key=lambda item: int(item["metadata"]["annotations"]["helm.sh/hook-weight"]))
    return sorted((item for item in made if not hook_of(item)), key=lambda item: item["kind"] == "DaemonSet"), hooks


def hook_of(item: Json) -> str:
    """Return the moment at which Helm creates an object; empty: with the release."""
    return str(item["metadata"].get("annotations", {}).get("helm.sh/hook", ""))


def ended(node: RealNode, pod: str) -> str:
    """Wait for the end of a pod, and return its phase."""

    def phase() -> str:
        return str(node.plane.admin.must("GET", pod)["status"].get("phase"))

    eventually(lambda: phase() in {"Succeeded", "Failed"}, START_SECONDS)
    return phase()


def of_kustomize(node: RealNode) -> tuple[list[Json], list[Json]]:
    """The objects of an overlay under pressure, and those that are applied to remove it."""
    overlay = for_node(node, rendered(DEPLOY / "overlays/beside-kubelet"), **PRESSED)
    return overlay, [
        item for item in for_node(node, rendered(DEPLOY / "cleanup")) if item["metadata"]["name"] != "evictd"
    ]


PRESSED: Json = {
    "kubelet": {**SOON, "evictionHard": {"nodefs.available": "99%"}, "evictionSoft": {}, "evictionSoftGracePeriod": {}},
    "reclaim": {"containers": False, "images": "Off"},
}
"""The disk is always short, and there is nothing that may be done about it."""


@pytest.mark.parametrize("way", [of_the_chart, of_kustomize], ids=["chart", "kustomize"])
def test_uninstalling_under_pressure_leaves_nothing_on_the_node(
    image_node: RealNode, way: Callable[[RealNode], tuple[list[Json], list[Json]]]
) -> None:
    """The Job ends the DaemonSet's pods first, so that its removal of condition and taint is the last word."""
    items, removal = way(image_node)
    try:
        with applied(image_node, items):
            eventually(lambda: conditions(image_node).get("EvictdDiskPressure") == "True", 120)
            eventually(lambda: "evictd.io/disk-pressure:NoSchedule" in taints(image_node), 120)
            apply(image_node, removal)
            (job,) = (path_of(item) for item in removal if item["kind"] == "Job")
            eventually(lambda: condition(image_node.plane.admin.must("GET", job), "Complete") == "True", START_SECONDS)
            assert not [kind for kind in conditions(image_node) if kind.startswith("Evictd")]
            assert not taints(image_node)
    finally:
        remove(image_node, removal)
    assert not [kind for kind in conditions(image_node) if kind.startswith("Evictd")]


def test_a_rolling_update_under_pressure_keeps_condition_and_taint(image_node: RealNode) -> None:
    """From the old pod's stop to the new one's report the taint is there at each look, many times a second."""
    items, _ = of_kustomize(image_node)
    daemon, gaps, looks, over = Daemon(image_node), list[str](), count(), Event()

    def watch() -> None:
        while not over.is_set():
            next(looks)
            if "evictd.io/disk-pressure:NoSchedule" not in taints(image_node):
                gaps.append("taint")
            if conditions(image_node).get("EvictdDiskPressure") != "True":
                gaps.append("condition")

    try:
        with applied(image_node, items):
            eventually(lambda: "evictd.io/disk-pressure:NoSchedule" in taints(image_node), 120)
            first = daemon.pod["metadata"]["uid"]
            watching = Thread(target=watch)
            watching.start()
            try:
                (changed,) = (copy.deepcopy(item) for item in items if item["kind"] == "DaemonSet")
                changed["spec"]["template"]["metadata"].setdefault("annotations", {})["test"] = "next"
                apply(image_node, [changed])
                eventually(lambda: daemon.pod.get("metadata", {"uid": first})["uid"] != first, START_SECONDS)
                daemon.wait_until_ready()
                eventually(lambda: any("report node conditions" in event for event in daemon.events()), 120)
            finally:
                over.set()
                watching.join()
            assert (gaps, next(looks) > 20) == ([], True)
    finally:
        clean_up(image_node)
    assert not taints(image_node)


def _begun(daemon: Daemon) -> list[bool]:
    return [line["dry_run"] for line in daemon.log() if line["event"] == "starting"]
