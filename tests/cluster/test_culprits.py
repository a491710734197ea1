"""Which pod goes where the one that fills the disk comes back, may not go, or is refused: that one or none, and no neighbour.

The kubelet's own eviction is off; the controllers that recreate, count budgets and keep roles are the real ones.
"""

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from evictd.core.units.duration import SECOND
from tests.cluster import objects
from tests.cluster.deployed import scraped
from tests.cluster.node import NAME, RealNode
from tests.cluster.pressure import PRESSURES
from tests.cluster.short_disk import (
    BOUND,
    NODEFS,
    chosen,
    created,
    explained,
    gone,
    hard,
    pressure,
    soft,
    taints,
    undisturbed,
)
from tests.cluster.side_by_side import (
    MI,
    OFF,
    Json,
    Load,
    Recorded,
    daemon,
    disk,
    kubelet_with,
    pods,
)
from tests.deploy.manifests import base
from tests.kube.waiting import eventually
from tests.ports import free_ports

pytestmark = [pytest.mark.cluster, pytest.mark.root]

REPLICA_SETS = "/apis/apps/v1/namespaces/default/replicasets"
NEIGHBOURS = tuple(
    disk(name, 60, resources={"requests": {"ephemeral-storage": "100Mi"}}) for name in ("neighbour-1", "neighbour-2")
)
"""Each within its request; together they hold less than what the hog makes short."""
BYSTANDER = disk("bystander", 20)
"""It requests nothing, so it exceeds its request as the hog does."""
HOG = disk("hog", 800)


@pytest.fixture
def node(real_node: RealNode) -> RealNode:
    eventually(lambda: not any(real_node.path("/var/lib/kubelet/pods").iterdir()), BOUND)
    return real_node


@contextmanager
def replicas(node: RealNode, load: Load) -> Iterator[Json]:
    """A ReplicaSet of one pod whose template names the node: each pod of it comes back here, whatever the node's taints.

    At the end its pod has the time to stop. One that is deleted by force is listed no more while its bytes are still there, and
    evictd takes the neighbours for them.
    """
    pod, labels = load.manifest(), {"app": load.name}
    template = {"metadata": {"labels": labels}, "spec": {**pod["spec"], "restartPolicy": "Always"}}
    spec = {"replicas": 1, "selector": {"matchLabels": labels}, "template": template}
    body = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": load.name}, "spec": spec}
    admin, listed = node.plane.admin, f"{objects.PODS}?labelSelector=app%3D{load.name}"
    try:
        yield admin.must("POST", REPLICA_SETS, body)
    finally:
        objects.remove(admin, f"{REPLICA_SETS}/{load.name}")
        for each in admin.must("GET", listed)["items"]:
            admin.request("DELETE", f"{objects.PODS}/{each['metadata']['name']}")
        eventually(lambda: not admin.must("GET", listed)["items"], BOUND)


def calm_again(node: RealNode, recorded: Recorded) -> None:
    """The pressure has ended, and every neighbour runs as it did."""
    eventually(lambda: pressure(node) == "False", BOUND)
    assert all(undisturbed(node, each.name) for each in NEIGHBOURS), explained(recorded)
    eventually(lambda: "evictd.io/" not in taints(node), BOUND)


def test_a_hog_that_its_owner_recreates_here_goes_each_time_and_no_neighbour(node: RealNode) -> None:
    """Three times in a row; its ReplicaSet has an event that says what would help."""
    with daemon(node, {}, **hard(node)) as recorded, pods(node, [*NEIGHBOURS, BYSTANDER]):
        with replicas(node, HOG) as owner:
            eventually(lambda: len(chosen(recorded)) >= 3, BOUND)
            uid = owner["metadata"]["uid"]
            eventually(lambda: events_about(node, uid, "RepeatedEviction"), BOUND)
        assert [name for name in chosen(recorded) if not name.startswith("hog-")] == []
        calm_again(node, recorded)
        assert undisturbed(node, BYSTANDER.name)
        assert "of ephemeral-storage" in events_about(node, uid, "RepeatedEviction")[0]["message"]


def events_about(node: RealNode, uid: str, reason: str) -> list[Json]:
    """The events with a reason about an object."""
    items = node.plane.admin.must("GET", "/api/v1/namespaces/default/events")["items"]
    return [each for each in items if each["involvedObject"].get("uid") == uid and each["reason"] == reason]


def test_a_static_pod_that_grows_costs_no_neighbour(node: RealNode) -> None:
    """It may not be evicted, and the neighbours together hold less than it takes."""
    steps = "i=0; while [ $i -lt 40 ]; do i=$((i + 1))"
    grow = f"{steps}; /bin/busybox fallocate -l $((i * {20 * MI})) /scratch/x; sleep 0.1; done"
    address, before = f"127.0.0.1:{free_ports(1)[0]}", PRESSURES[NODEFS].available(node)

    def cycles() -> float:
        return scraped(address)["evictd_cycle_duration_seconds_count"]

    with daemon(node, {"listenAddress": address}, **hard(node)) as recorded, pods(node, NEIGHBOURS):
        with static(node, Load(name="static", script=grow)):
            eventually(lambda: pressure(node) == "True", BOUND)
            eventually(lambda: before - PRESSURES[NODEFS].available(node) > 800 * MI, BOUND)
            first = cycles()
            eventually(lambda: cycles() > first + 2, BOUND)
            assert chosen(recorded) == []
            assert scraped(address)['evictd_no_action{reason="ProtectedCulprit"}'] >= 1
        calm_again(node, recorded)
        assert chosen(recorded) == []


@contextmanager
def static(node: RealNode, load: Load) -> Iterator[None]:
    """A pod from a file of the kubelet; gone at the end, with its mirror."""
    manifest = load.manifest()
    for field in ("nodeName", "serviceAccountName", "automountServiceAccountToken"):
        manifest["spec"].pop(field)
    file = node.folder / "static" / f"{load.name}.json"
    try:
        file.write_text(json.dumps(manifest))
        yield
    finally:
        file.unlink()
        eventually(lambda: gone(node, f"{load.name}-{NAME}"), BOUND)


@pytest.mark.parametrize(
    ("place", "volumes"), [("/scratch", True), ("", True), ("", False)], ids=["volume", "layer", "layer-alone"]
)
def test_pods_that_are_deleted_by_force_cost_no_neighbour(node: RealNode, place: str, *, volumes: bool) -> None:
    """Such a pod is listed no more two or three seconds before its container is dead and the kubelet has removed what it held."""
    admin, before = node.plane.admin, PRESSURES[NODEFS].available(node)

    def left() -> int:
        return PRESSURES[NODEFS].available(node)

    with daemon(node, {}, **hard(node)) as recorded, pods(node, [*NEIGHBOURS, BYSTANDER]):
        for number in range(8):
            hog = disk(f"hog-{number}", 800, place=place)
            admin.must("POST", objects.PODS, hog.manifest() if volumes else without_volumes(hog))
            # On a busy machine evictd may have chosen it, and its disk be free again, between two looks.
            eventually(lambda name=hog.name: left() < before - 500 * MI or name in chosen(recorded), BOUND)  # type: ignore[misc]
            objects.remove(admin, f"{objects.PODS}/{hog.name}")
            eventually(lambda: left() > before - 200 * MI, BOUND)
        assert [name for name in chosen(recorded) if not name.startswith("hog-")] == []
        calm_again(node, recorded)
        assert undisturbed(node, BYSTANDER.name)


def test_a_kubelet_that_is_away_when_a_pod_is_deleted_by_force_costs_no_neighbour(node: RealNode) -> None:
    """It restarts, say: the pod is listed no more, and its volume and its container stay until the kubelet is back."""
    assert node.kubelet is not None
    with daemon(node, {}, **soft(node)) as recorded, pods(node, NEIGHBOURS), created(node, HOG):
        eventually(lambda: pressure(node) == "True", BOUND)
        with node.kubelet.suspended():
            objects.remove(node.plane.admin, f"{objects.PODS}/{HOG.name}")
            since = latest(recorded)
            eventually(lambda: latest(recorded) > since + 20 * SECOND, BOUND)
        calm_again(node, recorded)
        assert set(chosen(recorded)) <= {"hog"}, "none but what runs here without being listed"


def latest(recorded: Recorded) -> int:
    """The time of the last cycle that was recorded, in nanoseconds of the node's clock."""
    return int(recorded.records()[-1]["now"])


def without_volumes(load: Load) -> Json:
    """The manifest of a pod of which the kubelet's directory has no volume."""
    manifest = load.manifest()
    manifest["spec"]["volumes"] = []
    del manifest["spec"]["containers"][0]["volumeMounts"]
    return manifest


def test_a_budget_of_zero_costs_no_neighbour(node: RealNode) -> None:
    """The hog is refused, nobody goes in its place, and it is deleted when the wait for its budget is over."""
    labels = {"app": "guarded"}
    with ExitStack() as stack:
        path = objects.budget(node.plane.admin, "keep", labels, None)
        stack.callback(objects.remove, node.plane.admin, path)
        recorded = stack.enter_context(daemon(node, {"cluster": {"evictionTimeout": "5s"}}, **soft(node)))
        stack.enter_context(pods(node, NEIGHBOURS))
        stack.enter_context(created(node, HOG, {"labels": labels}))
        eventually(lambda: gone(node, "hog"), BOUND)
        calm_again(node, recorded)
        assert set(chosen(recorded)) == {"hog"}
        assert refused(recorded) == {"default/hog"}


def refused(recorded: Recorded) -> set[str]:
    """The pods whose eviction a budget refused."""
    return {each["pod"] for record in recorded.records() for each in record.get("extra", {}).get("refused", ())}


@pytest.mark.side_by_side
def test_a_pod_whose_eviction_is_forbidden_stays_until_the_right_is_back(node: RealNode) -> None:
    """With `podTermination: EvictionAPI` a 403 deletes nothing; evictd asks again, without a restart."""
    with ExitStack() as stack:
        role, rules = stack.enter_context(least_rights(node))
        without = [each for each in rules if "pods/eviction" not in each["resources"]]
        node.plane.admin.must("PATCH", role, {"rules": without})
        own = {"kubeconfig": str(kubeconfig(node)), "podTermination": "EvictionAPI", "evictionTimeout": "5s"}
        recorded = stack.enter_context(daemon(node, {"cluster": own}, **soft(node)))
        stack.enter_context(pods(node, NEIGHBOURS))
        stack.enter_context(created(node, HOG))
        eventually(lambda: chosen(recorded).count("hog") >= 2, BOUND)  # asked, refused, asked again
        assert undisturbed(node, "hog")
        node.plane.admin.must("PATCH", role, {"rules": rules})
        eventually(lambda: gone(node, "hog"), BOUND)
        calm_again(node, recorded)
        assert set(chosen(recorded)) == {"hog"}


@contextmanager
def least_rights(node: RealNode) -> Iterator[tuple[str, list[Json]]]:
    """The daemon's account and its role as it is shipped; gives the role's path and rules."""
    kinds = {"Namespace", "ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"}
    items = [each for each in base() if each["kind"] in kinds]
    (role,) = (each for each in items if each["kind"] == "ClusterRole")
    with ExitStack() as stack:
        paths = {each["kind"]: stack.enter_context(objects.created(node.plane.admin, each)) for each in items}
        yield paths["ClusterRole"], role["rules"]


def kubeconfig(node: RealNode) -> Path:
    token = node.plane.service_account_token("evictd", "evictd")
    return node.plane.kubeconfig_with({"token": token}, "least.kubeconfig")


@pytest.mark.side_by_side
def test_pods_of_one_owner_over_their_own_limit_go_after_a_back_off(node: RealNode) -> None:
    """A volume is measured every ten seconds, which hides the first pause of ten; the next one is twenty."""
    load = disk("limited", 32, size_limit="8Mi")
    own = kubelet_with(node, localStorageCapacityIsolation=False)  # else it evicts them without any back-off
    with own, daemon(node, {}, evictionHard=OFF) as recorded, replicas(node, load):
        eventually(lambda: len(chosen(recorded)) >= 4, BOUND)
        assert "pod skipped" in recorded.process.log.read_text()
        records = recorded.records()
    times = [record["now"] for record in records if any(each["kind"] == "EvictPod" for each in record["decisions"])]
    assert times[3] - times[2] >= 20 * SECOND
