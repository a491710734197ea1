"""docs/rollout.md, played on the real control plane and kubelet: the commands of the page, in their order, and back.

`helm` is played by Helm as a library and this file: values over values, the objects of a revision applied, those that it no
longer has deleted. What other projects bring is left out: PrometheusRule, the metrics proxy's image and certificate.
"""

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from urllib.parse import urlencode

import pytest
import yaml

from tests.cluster import objects
from tests.cluster.deployed import ADDRESS, START_SECONDS, Daemon, Json, apply, condition, for_node, path_of, remove
from tests.cluster.node import NAME, RealNode
from tests.cluster.side_by_side import kubelet_with, of_kubelet
from tests.cluster.test_daemon_set import HOG_MIB, clean_up, conditions, hog, hook_of, taints
from tests.deploy.manifests import CHART, DEPLOY, documents
from tests.deploy.test_chart import merged
from tests.docs.pages import joined
from tests.kube.waiting import eventually
from tools import trixie

helm_python = pytest.importorskip("helm_python", reason="has no wheel for this machine")

pytestmark = [pytest.mark.cluster, pytest.mark.root]

ROOT = DEPLOY.parent
PAGE = joined("rollout.md")
DROP_IN = DEPLOY / "overlays/instead-of-kubelet-eviction/kubelet-config.yaml"
SOON = {"evictionPressureTransitionPeriod": "5s"}
OF_A_NODE: Json = {
    "evictionSoft": {"memory.available": "300Mi"},
    "evictionSoftGracePeriod": {"memory.available": "1m"},
    "systemReserved": {"cpu": "100m", "memory": "1Gi"},
}
"""Fields of a node's own file for the kubelet."""
(DEFAULTS,) = documents(CHART / "values.yaml")
ELSEWHERE: Json = {
    "image": DEFAULTS["image"],
    "metrics": {"enabled": False, "podMonitor": {"enabled": False}},
    "prometheusRule": {"enabled": False},
}
MY_VALUES = "\n".join(
    re.findall(r"^    ((?:evictd|nodeSelector|image|metrics|prometheusRule): .*)$", PAGE, re.MULTILINE)
)
"""The file `my-values.yaml` of the page, as it is before the steps change it."""


@dataclass(frozen=True, slots=True)
class HelmCommand:
    """A line of the page that installs or upgrades the release, with `my-values.yaml` as the steps up to it have made it."""

    words: list[str]
    values: Json


def helm_commands() -> list[HelmCommand]:
    """Return each command of Helm; those that edit the file before the first step are for nodes of two sizes."""
    steps, text, made = PAGE[PAGE.index("\n## 1. ") :], MY_VALUES, []
    for line in re.findall(r"^ +((?:helm (?:install|upgrade)|sed -i .* my-values\.yaml).*)$", steps, re.MULTILINE):
        words = shlex.split(line)
        if words[0] == "sed":
            text = subprocess.run(["sed", words[2]], input=text, capture_output=True, text=True, check=True).stdout
        else:
            made.append(HelmCommand(words, yaml.safe_load(text)))
    return made


def exec_commands() -> list[list[str]]:
    """What the page runs in the pod."""
    return [shlex.split(line) for line in re.findall(r"^ +kubectl .* exec POD .* -- (.*)$", PAGE, re.MULTILINE)]


def without_nulls(values: Json) -> Json:
    """The values as Helm renders them: a null takes a default away."""
    return {
        name: without_nulls(value) if isinstance(value, dict) else value
        for name, value in values.items()
        if value is not None
    }


@dataclass
class Release:
    """A release of the chart on the cluster."""

    node: RealNode
    revisions: list[Json] = field(default_factory=list)
    """The values that were given, without the defaults."""
    present: list[Json] = field(default_factory=list)

    def run(self, command: HelmCommand) -> None:
        """Install or upgrade as a line of the page says."""
        given: Json = {}
        for option, value in pairwise(command.words):
            if option == "--values":
                (file,) = [command.values] if value == "my-values.yaml" else documents(ROOT / value)
                given = merged(given, file)
        self._apply(given)

    def roll_back(self) -> None:
        """Return to the values of the revision before."""
        self._apply(self.revisions[-2])

    def _apply(self, given: Json) -> None:
        items = [item for item in self._rendered(given) if not hook_of(item)]
        apply(self.node, items)
        kept = {path_of(item) for item in items}
        remove(self.node, [item for item in self.present if path_of(item) not in kept])
        self.revisions.append(given)
        self.present = items

    def _rendered(self, given: Json) -> list[Json]:
        values = without_nulls(merged(merged(DEFAULTS, given), ELSEWHERE))
        with helm_python.Chart.load(str(CHART)) as loaded:
            texts = loaded.render(values, name="evictd", namespace="evictd").items()
        items = [item for path, text in texts if path.endswith(".yaml") for item in yaml.safe_load_all(text) if item]
        made = for_node(self.node, [*documents(DEPLOY / "base/namespace.yaml"), *items], kubelet=SOON)
        return sorted(made, key=lambda item: item["kind"] == "DaemonSet")

    def uninstall(self) -> None:
        """Run the hooks that come before the removal, then remove the objects."""
        hooks = [item for item in self._rendered(self.revisions[-1]) if hook_of(item) == "pre-delete"]
        hooks.sort(key=lambda item: int(item["metadata"]["annotations"]["helm.sh/hook-weight"]))
        try:
            apply(self.node, hooks)
            (job,) = (path_of(item) for item in hooks if item["kind"] == "Job")
            eventually(lambda: condition(self.node.plane.admin.must("GET", job), "Complete") == "True", START_SECONDS)
        finally:
            remove(self.node, hooks)
            remove(self.node, self.present)
            self.present = []


@pytest.fixture
def release(image_node: RealNode) -> Iterator[Release]:
    """An empty release; at the end nothing of it is left, nor the node's label."""
    made = Release(image_node)
    try:
        yield made
    finally:
        remove(image_node, made.present)
        label(image_node, None)
        clean_up(image_node)


@pytest.fixture
def image_in_use(image_node: RealNode) -> Iterator[None]:
    """A pod of the hog's image that rests: a collection between two hogs would delete the image, which no registry has."""
    rests = hog(1)
    rests["metadata"]["name"] = "rests"
    with objects.created(image_node.plane.admin, rests) as path:
        eventually(lambda: image_node.plane.admin.must("GET", path)["status"]["phase"] == "Running", 120)
        yield


def label(node: RealNode, pool: str | None) -> None:
    node.plane.admin.must("PATCH", f"{objects.NODES}/{NAME}", {"metadata": {"labels": {"pool": pool}}})


def unlabelled(node: RealNode) -> list[str]:
    """The nodes that the page has listed before it removes the selector."""
    (selector,) = re.findall(r"^    kubectl get nodes --selector '(.*)'$", PAGE, re.MULTILINE)
    found = node.plane.admin.must("GET", f"{objects.NODES}?{urlencode({'labelSelector': selector})}")
    return [item["metadata"]["name"] for item in found["items"]]


def scheduled(node: RealNode) -> int:
    path = "/apis/apps/v1/namespaces/evictd/daemonsets/evictd"
    return int(node.plane.admin.must("GET", path)["status"]["desiredNumberScheduled"])


def replaced(release: Release, daemon: Daemon, command: HelmCommand) -> None:
    """Upgrade, and wait for the pod of the new revision."""
    first = daemon.pod["metadata"]["uid"]
    release.run(command)
    successor(daemon, first)


def successor(daemon: Daemon, first: str) -> None:
    eventually(lambda: daemon.pod.get("metadata", {"uid": first})["uid"] != first, START_SECONDS)
    daemon.wait_until_ready()
    eventually(lambda: "starting" in daemon.events(), 120)


def begun_dry(daemon: Daemon) -> bool:
    return bool(next(line["dry_run"] for line in daemon.log() if line["event"] == "starting"))


def wait_until_evicted(node: RealNode, daemon: Daemon, path: str) -> None:
    """Wait until the object is gone; a failure names the object's status and the end of evictd's log."""
    admin = node.plane.admin
    try:
        eventually(lambda: admin.request("GET", path).status == 404, 120)
    except AssertionError as error:
        error.add_note(str(admin.request("GET", path).body))
        error.add_note("\n".join(map(str, daemon.log()[-30:])))
        raise


@pytest.fixture
def kubectl(image_node: RealNode, tmp_path: Path) -> Callable[[str], None]:
    """Runs a line of the page with Debian's kubectl, as the cluster's administrator."""
    path = f"{trixie.program('kubectl').parent}:{os.environ['PATH']}"
    environment = {"PATH": path, "HOME": str(tmp_path), "KUBECONFIG": str(image_node.plane.kubeconfig())}

    def run(line: str) -> None:
        subprocess.run(["sh", "-ec", line], env=environment, check=True, timeout=120)

    return run


@contextmanager
def instead_of_eviction(node: RealNode) -> Iterator[None]:
    """A kubelet whose own file has thresholds and reservations, with the drop-in where the page installs it."""
    (name,) = re.findall(r"sudo install -D -m 644 kubelet-config.yaml /etc/kubernetes/kubelet.conf.d/(\S+)", PAGE)
    path = node.folder / "kubelet.conf.d" / name
    shutil.copy(DROP_IN, path)
    with kubelet_with(node, **OF_A_NODE):
        try:
            yield
        finally:
            path.unlink()


def configz(node: RealNode) -> Json:
    """The kubelet's configuration in force."""
    return dict(of_kubelet(node, "/configz")["kubeletconfig"])


@pytest.mark.usefixtures("image_in_use")
def test_from_a_dry_run_to_instead_of_the_kubelet_and_back(image_node: RealNode, release: Release) -> None:
    install, canary, everywhere, instead = helm_commands()
    check, status, compare = exec_commands()
    admin, daemon = image_node.plane.admin, Daemon(image_node)

    # 1: a dry run, on nodes with the label only
    release.run(install)
    eventually(lambda: scheduled(image_node) == 0, 120)
    assert daemon.pod == {}
    assert NAME in unlabelled(image_node)
    label(image_node, "canary")
    assert NAME not in unlabelled(image_node)
    eventually(lambda: scheduled(image_node) == 1, 120)
    daemon.wait_until_ready()
    eventually(lambda: "starting" in daemon.events(), 120)
    assert begun_dry(daemon)
    assert "error" not in daemon.run(*check)
    assert "nodefs.available" in daemon.run(*status, "--address", ADDRESS)

    # 2: it names the pod that it would evict, and that pod stays
    with objects.created(admin, hog(HOG_MIB)) as path:
        # evictd may have seen the disk fill before the kubelet has written that the pod runs.
        eventually(lambda: admin.must("GET", path)["status"]["phase"] == "Running", 120)
        eventually(lambda: "hog" in daemon.run(*compare), 120)
        assert admin.must("GET", path)["status"]["phase"] == "Running"

    # 3: the canary evicts; a rollback makes it a dry run again
    replaced(release, daemon, canary)
    assert not begun_dry(daemon)
    with objects.created(admin, hog(HOG_MIB)) as path:
        wait_until_evicted(image_node, daemon, path)
    eventually(lambda: conditions(image_node).get("EvictdDiskPressure") == "False", 120)
    first = daemon.pod["metadata"]["uid"]
    release.roll_back()
    successor(daemon, first)
    assert begun_dry(daemon)

    # 4: without the selector it stays when the label goes
    replaced(release, daemon, everywhere)
    label(image_node, None)
    assert not begun_dry(daemon)
    assert scheduled(image_node) == 1

    # 5: the kubelet's eviction is off, and then evictd has its thresholds
    before = configz(image_node)["evictionHard"]
    with instead_of_eviction(image_node):
        eventually(lambda: configz(image_node).get("systemReserved") == {"cpu": "100m", "memory": "100Mi"}, 120)
        assert set(configz(image_node)["evictionHard"].values()) == {"0%"}
        assert configz(image_node).keys().isdisjoint({"evictionSoft", "evictionSoftGracePeriod"})
        replaced(release, daemon, instead)
        with objects.created(admin, hog(HOG_MIB)) as path:
            wait_until_evicted(image_node, daemon, path)
        replaced(release, daemon, everywhere)

    # back: evictd's thresholds, the kubelet's eviction, then evictd goes, and nothing of it is left on the node
    eventually(lambda: configz(image_node).get("systemReserved") is None, 120)
    assert configz(image_node)["evictionHard"] == before
    release.uninstall()
    assert not [kind for kind in conditions(image_node) if kind.startswith("Evictd")]
    assert not taints(image_node)


def test_the_trial_of_the_alert_takes_the_pod_away_and_back(
    image_node: RealNode, release: Release, kubectl: Callable[[str], None]
) -> None:
    """Step 5, but for the 20 minutes of it: without a pod the DaemonSet has one that is unavailable, which the alert counts."""
    install, *_ = helm_commands()
    daemon, path = Daemon(image_node), "/apis/apps/v1/namespaces/evictd/daemonsets/evictd"
    release.run(install)
    label(image_node, "canary")
    daemon.wait_until_ready()
    before = PAGE[PAGE.index("\n## 5. ") : PAGE.index("\n1. Install the drop-in")]
    quota, delete, unquota, annotate = re.findall(r"^    (kubectl .*?)(?: +#.*)?$", before, re.MULTILINE)
    first = daemon.pod["metadata"]
    try:
        kubectl(quota)
        kubectl(delete.replace("POD", first["name"]))
        eventually(lambda: image_node.plane.admin.must("GET", path)["status"].get("numberUnavailable") == 1, 120)
        assert daemon.pod == {}
    finally:
        kubectl(unquota)
    kubectl(annotate)
    successor(daemon, first["uid"])


def test_the_thresholds_in_the_place_of_the_kubelet_are_those_of_the_overlay() -> None:
    (values,) = documents(CHART / "values-instead-of-kubelet.yaml")
    overlay = documents(DEPLOY / "overlays/instead-of-kubelet-eviction/config.yaml")[0]
    assert without_nulls(merged(DEFAULTS, values))["kubelet"] == {"evictionHard": overlay["evictionHard"]}
