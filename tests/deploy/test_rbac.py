"""The rules in deploy/base/rbac.yaml are enough, and not one verb is too much.

The API server double enforces that very file. With all of it everything that evictd does works; with one verb taken out
exactly the one thing that needs it no longer does, and the test that says so is named after the verb.
"""

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from evictd.clients.kube.credentials import Credentials
from evictd.clients.kube.events import EventClient, KubeEvent, Regarding
from evictd.clients.kube.eviction import EvictionClient
from evictd.clients.kube.nodes import Condition, NodeClient, NodeObject
from evictd.clients.kube.transport import Transport
from evictd.codec.pods.pod import decode_pod
from evictd.commands.cleanup import NodeCleanup
from evictd.core.model.decision import PodCondition
from evictd.errors import ApiRefusedError, ExitCode
from tests.deploy.manifests import USER, base, cleanup
from tests.kube.api_server import ApiServer
from tests.kube.kubelet import Kubelet
from tests.kube.objects import node, pod
from tests.kube.rbac import Grant, Rbac

TIME = "2026-11-21T02:00:00.000001Z"
VERBS = {
    "pods:list": "the pods of the node are listed",
    "pods:watch": "the pods of the node are watched",
    "pods:delete": "a pod is deleted",
    "pods/eviction:create": "a pod is evicted through the Eviction API",
    "pods/status:patch": "DisruptionTarget is set",
    "nodes:get": "the node is read",
    "nodes:patch": "the node is tainted",
    "nodes/status:patch": "a condition is written",
    "events:create": "an event is written",
    "events:patch": "an event is counted",
    "leases:get": "the kubelet's lease is read",
}


def stored(api: ApiServer) -> NodeObject:
    """The node as it is, without asking the server."""
    found = api.store.get(("nodes", "", "n1"))
    assert found is not None
    version = found["metadata"]["resourceVersion"]
    return NodeObject(name="n1", uid="u", conditions={}, taints=(), resource_version=version, date=None)


def everything(api: ApiServer, transport: Transport) -> dict[str, Callable[[], object]]:
    """Each thing that evictd asks of the API server."""
    victims = [decode_pod(pod(name, uid=f"uid-{name}")) for name in ("a", "b", "c")]
    nodes, pods, events = NodeClient(transport, "n1"), EvictionClient(transport), EventClient(transport, "n1")
    event = KubeEvent(regarding=Regarding(kind="Node", name="n1"), type="Normal", reason="R", note="n")
    target = PodCondition(type="DisruptionTarget", status="True", reason="R", message="m")
    condition = Condition(type="EvictdMemoryPressure", status="True", reason="R", message="m")
    selector = {"fieldSelector": "spec.nodeName=n1"}

    def watch() -> None:
        query = {**selector, "watch": "1", "timeoutSeconds": "0"}
        list(transport.stream("/api/v1/pods", query=query, idle_seconds=10))

    return {
        VERBS["pods:list"]: lambda: transport.request("GET", "/api/v1/pods", query=selector),
        VERBS["pods:watch"]: watch,
        VERBS["pods/status:patch"]: lambda: pods.mark_disrupted(victims[0], target, TIME),
        VERBS["pods:delete"]: lambda: pods.delete(victims[0], 1),
        VERBS["pods/eviction:create"]: lambda: pods.evict(victims[1], 1),
        VERBS["nodes:get"]: nodes.get,
        VERBS["nodes:patch"]: lambda: nodes.replace_taints(stored(api), []),
        VERBS["nodes/status:patch"]: lambda: nodes.patch_conditions([condition]),
        VERBS["events:create"]: lambda: events.create(event, "e.1", TIME),
        VERBS["events:patch"]: lambda: events.count(event, "e.0", 2, TIME),
        VERBS["leases:get"]: nodes.lease,
    }


@pytest.fixture
def api(tmp_path: Path) -> Iterator[ApiServer]:
    """An API server that knows evictd's service account and the rules of the base."""
    with ApiServer(tmp_path, rbac=Rbac.of_manifests(base()), user=USER) as server:
        server.store.create("nodes", node())
        Kubelet(server.store, "n1").sync()
        for name in ("a", "b", "c"):
            server.store.create("pods", pod(name, uid=f"uid-{name}"))
        old = {"metadata": {"name": "e.0", "namespace": "default"}, "eventTime": TIME, "type": "Normal"}
        server.store.create("events", {"apiVersion": "events.k8s.io/v1", "kind": "Event", **old})
        yield server


def works(api: ApiServer) -> set[str]:
    """Do everything, and tell what was allowed."""
    transport = Transport(Credentials(str(api.kubeconfig())))
    allowed = set()
    for what, do in everything(api, transport).items():
        with contextlib.suppress(ApiRefusedError):
            do()
            allowed.add(what)
    transport.close()
    return allowed


CLEANUP_USER = "system:serviceaccount:evictd:evictd-cleanup"
CLEANUP_VERBS = ("nodes:list", "nodes:get", "nodes:patch", "nodes/status:patch", "daemonsets:get", "daemonsets:delete")


def cleans(folder: Path, rbac: Rbac) -> bool:
    """Whether `evictd cleanup` with these rules ends the DaemonSet and removes a node's marks, with a conflict in between."""
    with ApiServer(folder, rbac=rbac, user=CLEANUP_USER) as server:
        item = node()
        item["status"]["conditions"].append({"type": "EvictdMemoryPressure", "status": "True", "message": "m"})
        item["spec"]["taints"] = [{"key": "evictd.io/memory-pressure", "effect": "NoSchedule"}]
        server.store.create("nodes", item)
        meta = {"name": "evictd", "namespace": "evictd"}
        server.store.create("daemonsets", {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": meta})
        server.fault(verb="patch", resource="nodes", status=409, times=1)
        transport = Transport(Credentials(str(server.kubeconfig())))
        try:
            cleanup_ = NodeCleanup(transport, lambda _: None, expired=False)
            return cleanup_.run(None, daemon_set="evictd/evictd", timeout=1) is ExitCode.DONE
        except ApiRefusedError:
            return False
        finally:
            transport.close()


def test_the_rules_of_the_cleanup_are_enough_and_not_one_verb_too_much(tmp_path: Path) -> None:
    rbac = Rbac.of_manifests(cleanup())
    assert granted(rbac) == set(CLEANUP_VERBS)
    assert {grant.user for grant in rbac.grants} == {CLEANUP_USER}
    assert cleans(tmp_path, rbac)
    for verb in CLEANUP_VERBS:
        assert not cleans(tmp_path, without(rbac, verb)), verb


def without(rbac: Rbac, verb: str) -> Rbac:
    """The same rules, one verb on one resource less."""
    resource, _, name = verb.partition(":")

    def cut(grant: Grant) -> Grant:
        if resource not in grant.rule["resources"]:
            return grant
        return replace(grant, rule={**grant.rule, "verbs": [each for each in grant.rule["verbs"] if each != name]})

    return Rbac(cut(grant) for grant in rbac.grants)


def granted(rbac: Rbac) -> set[str]:
    """Every verb that the rules grant, as `resource:verb`."""
    return {
        f"{resource}:{verb}"
        for grant in rbac.grants
        for resource in grant.rule["resources"]
        for verb in grant.rule["verbs"]
    }


def test_the_rules_are_enough(api: ApiServer) -> None:
    """Everything that evictd does is allowed."""
    assert works(api) == set(VERBS.values())


def test_every_verb_granted_is_accounted_for(api: ApiServer) -> None:
    """A rule that is added without a reason here fails; wildcards do as well."""
    assert api.rbac is not None
    assert granted(api.rbac) == set(VERBS)
    assert {grant.user for grant in api.rbac.grants} == {USER}
    assert {grant.namespace for grant in api.rbac.grants} == {"", "kube-node-lease"}


@pytest.mark.parametrize("verb", VERBS)
def test_without(api: ApiServer, verb: str) -> None:
    """Exactly the one thing that needs this verb no longer works."""
    assert api.rbac is not None
    api.rbac = without(api.rbac, verb)
    assert set(VERBS.values()) - works(api) == {VERBS[verb]}
