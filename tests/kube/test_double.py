"""The double serves recorded objects, validates by the API's own types, and answers as the real server.

What the real one does too runs on both; the rest are the double's own faults, identities and checks.
"""

import http.client
import json
import ssl
import threading
import urllib.request
from typing import Any

import pytest
import urllib3
from kubernetes import client, config, watch

from tests.kube import models
from tests.kube.admin import STRATEGIC_PATCH, Answer
from tests.kube.api import Api
from tests.kube.api_server import ApiServer
from tests.kube.kubelet import Kubelet
from tests.kube.objects import pod, sample
from tests.kube.rbac import Rbac
from tests.kube.store import Json
from tests.kube.waiting import eventually


@pytest.mark.parametrize("name", ["pods", "node", "node-under-pressure", "evicted-pod", "events"])
def test_recorded_objects_fit_the_models(name: str) -> None:
    """The checker finds no fault in what a real API server served; a list is checked item by item."""
    recorded = sample(name)
    items = recorded.get("items", [recorded])
    assert items
    # Fields younger than the published types: the recording is of a newer server.
    young = ("observedGeneration", "declaredFeatures", "not a field of V1Pod")
    assert [fault for item in items for fault in models.faults(item) if not any(word in fault for word in young)] == []


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"spec": {"nodeNmae": "n1", "containers": []}}, "nodeNmae: not a field of V1PodSpec"),
        ({"spec": {"containers": [{"name": 3}]}}, "is no str"),
        ({"spec": {"containers": "c"}}, "is no list"),
        ({"spec": {}}, "containers: required by V1PodSpec"),
        ({"metadata": {"creationTimestamp": "yesterday"}}, "is no time"),
    ],
)
def test_the_checker_names_each_fault(change: Json, fault: str) -> None:
    """Unknown field, wrong type, missing field: each is found, with its path."""
    found = models.faults({"apiVersion": "v1", "kind": "Pod", **change})
    assert any(fault in line for line in found), found


def test_models_deserialise_what_it_serves(api: Api) -> None:
    """The package's own client reads node and pods through its models, and watches."""
    for item in sample("pods")["items"]:
        api.store.create("pods", item)
    configuration = client.Configuration()
    config.load_kube_config(str(api.kubeconfig()), client_configuration=configuration)  # type: ignore[no-untyped-call]
    with client.ApiClient(configuration) as through:
        core: Any = client.CoreV1Api(through)
        pods = core.list_pod_for_all_namespaces(field_selector="spec.nodeName=n1")
        assert len(pods.items) == 13
        assert core.read_node("n1").status.conditions[0].type == "MemoryPressure"
        watching: Any = watch.Watch
        stream = watching().stream(
            core.list_pod_for_all_namespaces, resource_version=pods.metadata.resource_version, timeout_seconds=5
        )
        api.store.create("pods", pod("late"))
        seen = next(iter(stream))
        assert (seen["type"], seen["object"].metadata.name) == ("ADDED", "late")
        stream.close()


def test_strategic_merge_of_conditions_touches_one_type_only(api: Api) -> None:
    """A patch of one condition leaves the kubelet's unchanged; a repeated one changes nothing and costs no version."""
    body = {
        "status": {"conditions": [{"type": "EvictdMemoryPressure", "status": "True", "reason": "R", "message": "m"}]}
    }
    patched = api.client.must("PATCH", "/api/v1/nodes/n1/status?fieldManager=evictd", body, STRATEGIC_PATCH)
    assert [c["type"] for c in patched["status"]["conditions"]] == [
        "EvictdMemoryPressure",
        "MemoryPressure",
        "DiskPressure",
        "PIDPressure",
        "Ready",
    ]
    again = api.client.must("PATCH", "/api/v1/nodes/n1/status?fieldManager=evictd", body, STRATEGIC_PATCH)
    assert again["metadata"]["resourceVersion"] == patched["metadata"]["resourceVersion"]


def test_taints_are_an_atomic_list(api: Api) -> None:
    """A strategic merge patch replaces all of them; a removal by key is no taint and refused."""
    add = {"spec": {"taints": [{"key": "evictd.io/memory-pressure", "effect": "NoSchedule"}]}}
    patched = api.client.must("PATCH", "/api/v1/nodes/n1", add, STRATEGIC_PATCH)
    assert [taint["key"] for taint in patched["spec"]["taints"]] == ["evictd.io/memory-pressure"]
    remove = {"spec": {"taints": [{"$patch": "delete", "key": "evictd.io/memory-pressure"}]}}
    assert api.client.request("PATCH", "/api/v1/nodes/n1", remove, STRATEGIC_PATCH).status == 422


def test_merge_patch_replaces_lists(api: Api) -> None:
    """JSON merge patch has no merge keys: the list is replaced."""
    body = {"spec": {"taints": [{"key": "only", "effect": "NoSchedule"}]}}
    patched = api.client.must("PATCH", "/api/v1/nodes/n1", body)
    assert [taint["key"] for taint in patched["spec"]["taints"]] == ["only"]


def test_conflicts_by_uid_and_by_version(api: Api) -> None:
    """Preconditions on a recreated pod of the same name: 409, but for a patch of the uid, which is immutable (422)."""
    made = api.store.create("pods", pod("a"))
    path = "/api/v1/namespaces/default/pods/a"
    assert api.client.request("DELETE", path, {"preconditions": {"uid": "other"}}).status == 409
    other = {"metadata": {"uid": "other"}, "status": {"phase": "Failed"}}
    assert api.client.request("PATCH", f"{path}/status", other).status == 422
    stale = {"metadata": {"resourceVersion": "1"}, "status": {"phase": "Failed"}}
    assert api.client.request("PATCH", f"{path}/status", stale).status == 409
    assert api.store.get(("pods", "default", "a")) == made


def test_a_status_patch_changes_the_status_only_and_no_phase_is_final(api: Api) -> None:
    """The subresource takes nothing but the status; that Failed is final is the kubelet's rule and not the server's."""
    api.store.create("pods", pod("a"))
    path = "/api/v1/namespaces/default/pods/a/status"
    patched = api.client.must("PATCH", path, {"spec": {"nodeName": "n2"}, "status": {"phase": "Failed"}})
    assert (patched["spec"]["nodeName"], patched["status"]["phase"]) == ("n1", "Failed")
    patched = api.client.must("PATCH", path, {"status": {"phase": "Running"}})
    assert patched["status"]["phase"] == "Running"


def test_an_unknown_field_is_refused(api: ApiServer) -> None:
    """The double refuses fields that the API's types lack."""
    answer = api.client.request("PATCH", "/api/v1/nodes/n1/status", {"status": {"condtions": []}})
    assert answer.status == 422
    assert "condtions" in answer.message


def test_eviction_spends_the_budget_and_is_refused_without(api: Api) -> None:
    """201 while the budget lasts, then 429 with its cause; two budgets are a server error."""
    for name in ("a", "b"):
        api.store.create("pods", pod(name, labels={"app": "t"}))
    api.budget("one", {"app": "t"}, allowed=1)

    def evict(name: str) -> Answer:
        body = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": name, "namespace": "default"},
            "deleteOptions": {"gracePeriodSeconds": 1},
        }
        return api.client.request("POST", f"/api/v1/namespaces/default/pods/{name}/eviction", body)

    assert evict("a").status == 201
    gone = api.store.get(("pods", "default", "a"))
    assert gone is not None
    assert gone["metadata"]["deletionGracePeriodSeconds"] == 1
    reasons = {each["type"]: each.get("reason") for each in gone["status"]["conditions"]}
    assert reasons["DisruptionTarget"] == "EvictionByEvictionAPI"
    spent = evict("b")
    assert (spent.status, spent.headers.get("Retry-After")) == (429, None)
    assert spent.body["details"]["causes"][0]["reason"] == "DisruptionBudget"
    api.budget("two", {"app": "t"}, allowed=None)
    several = evict("b")
    assert several.status == 500
    assert "more than one PodDisruptionBudget" in several.message


def test_delete_is_graceful_and_grace_only_shrinks(api: Api) -> None:
    """The object stays with its deletion time until the kubelet is done; grace zero or a terminal phase removes it at once."""
    api.store.create("pods", pod("a"))
    path = "/api/v1/namespaces/default/pods/a"
    for asked, then in ((20, 20), (30, 20), (1, 1)):
        shown = api.client.must("DELETE", path, {"gracePeriodSeconds": asked})
        assert shown["metadata"]["deletionGracePeriodSeconds"] == then
    api.client.request("DELETE", path, {"gracePeriodSeconds": 0})
    assert api.store.get(("pods", "default", "a")) is None


def test_watch_resumes_and_a_compacted_version_is_gone(api: ApiServer) -> None:
    """A watch from a version gets what came after it, one from before the compaction gets 410; its end brings a bookmark."""
    _, first = api.store.list("pods")
    api.store.create("pods", pod("a"))
    path = "/api/v1/pods?watch=1&allowWatchBookmarks=true&timeoutSeconds=0.1"
    context = ssl.create_default_context(cafile=str(api.authority.cert))

    def events(version: int) -> list[Json]:
        request = urllib.request.Request(
            f"https://127.0.0.1:{api.port}{path}&resourceVersion={version}", headers={"Authorization": "Bearer token-1"}
        )
        with urllib.request.urlopen(request, context=context, timeout=10) as answer:
            return [json.loads(line) for line in answer]

    assert [event["type"] for event in events(first)] == ["ADDED", "BOOKMARK"]
    api.store.compact()
    expired = events(first)
    assert [event["type"] for event in expired] == ["ERROR"]
    assert expired[0]["object"]["code"] == 410


def test_identities_are_checked_and_tokens_expire(api: ApiServer) -> None:
    """A removed token has expired; a client certificate names its user."""
    assert api.client.request("GET", "/api/v1/nodes/n1").status == 200
    api.tokens.clear()
    assert api.client.request("GET", "/api/v1/nodes/n1").status == 401
    pair = api.authority.issue("system:node:n1")
    context = ssl.create_default_context(cafile=str(api.authority.cert))
    context.load_cert_chain(pair.cert, pair.key)
    with urllib.request.urlopen(f"https://127.0.0.1:{api.port}/api/v1/nodes/n1", context=context, timeout=10) as answer:
        assert answer.status == 200
    assert api.requests("get nodes")[-1].attributes.user == "system:node:n1"


def test_rbac_is_enforced_and_logged(api: ApiServer) -> None:
    """A verb that no rule names is refused with 403, and the refusal is in the log."""
    api.rbac = Rbac(())
    assert api.client.request("GET", "/api/v1/nodes/n1").status == 403
    assert [(line.what, line.status) for line in api.requests()] == [("get nodes", 403)]


def test_faults_slow_cut_and_refuse(api: ApiServer) -> None:
    """Each fault applies as often as its rule says."""
    api.fault(verb="get", status=500, times=1)
    assert api.client.request("GET", "/api/v1/nodes/n1").status == 500
    assert api.client.request("GET", "/api/v1/nodes/n1").status == 200
    api.fault(verb="get", cut=20, times=1)
    with pytest.raises(urllib3.exceptions.HTTPError):
        api.client.request("GET", "/api/v1/nodes/n1")
    api.fault(verb="get", refuse=True, times=1)
    with pytest.raises(urllib3.exceptions.HTTPError):
        api.client.request("GET", "/api/v1/nodes/n1")


def test_kubelet_reverts_built_in_conditions_and_leaves_others(api: Api) -> None:
    """As observed: MemoryPressure written by evictd is False again, EvictdMemoryPressure stays."""
    kubelet = Kubelet(api.store, "n1")
    body = {
        "status": {
            "conditions": [
                {"type": kind, "status": "True", "reason": "R"} for kind in ("MemoryPressure", "EvictdMemoryPressure")
            ]
        }
    }
    api.client.request("PATCH", "/api/v1/nodes/n1/status", body, STRATEGIC_PATCH)
    kubelet.sync()
    shown = api.client.must("GET", "/api/v1/nodes/n1")["status"]["conditions"]
    assert {c["type"]: c["status"] for c in shown if "Pressure" in c["type"]} == {
        "MemoryPressure": "False",
        "DiskPressure": "False",
        "PIDPressure": "False",
        "EvictdMemoryPressure": "True",
    }


def test_kubelet_repairs_a_status_on_a_running_pod(api: Api) -> None:
    """As observed: a patch alone evicts nothing; after a stop it sticks; a container stopped without it is restarted."""
    kubelet = Kubelet(api.store, "n1")
    made = api.store.create("pods", pod("a"))
    uid = made["metadata"]["uid"]
    kubelet.containers.start(uid, "c", "d")
    path = "/api/v1/namespaces/default/pods/a/status"
    kubelet.store.update(("pods", "default", "a"), lambda item: item["status"].update(phase="Failed", reason="Evicted"))
    kubelet.sync()
    after = api.client.must("GET", path.removesuffix("/status"))["status"]
    assert (after["phase"], after.get("reason")) == ("Running", None)
    kubelet.containers.stop(uid, "c")
    kubelet.sync()
    assert kubelet.containers.restarts[uid] == 1
    kubelet.containers.stop(uid)
    api.client.request("PATCH", path, {"status": {"phase": "Failed", "reason": "Evicted"}})
    kubelet.sync()
    assert not kubelet.containers.running(uid)


def test_kubelet_finishes_a_deleted_pod(api: Api) -> None:
    """A deleted pod is stopped, never restarted, and its object is removed."""
    kubelet = Kubelet(api.store, "n1")
    made = api.store.create("pods", pod("a"))
    kubelet.containers.start(made["metadata"]["uid"], "c")
    api.client.request("DELETE", "/api/v1/namespaces/default/pods/a", {"gracePeriodSeconds": 1})
    kubelet.sync()
    assert api.store.get(("pods", "default", "a")) is None
    assert kubelet.containers.restarts == {}


def test_going_down_cuts_watches_and_comes_back_on_the_same_port(api: ApiServer) -> None:
    """`down` and `up` simulate an API server that restarts."""
    port = api.port
    ended = threading.Event()

    def watcher() -> None:
        context = ssl.create_default_context(cafile=str(api.authority.cert))
        request = urllib.request.Request(
            f"https://127.0.0.1:{port}/api/v1/pods?watch=1", headers={"Authorization": "Bearer token-1"}
        )
        try:
            with urllib.request.urlopen(request, context=context, timeout=30) as answer:
                answer.read()
        except (OSError, http.client.HTTPException):
            pass
        finally:
            ended.set()

    thread = threading.Thread(target=watcher)
    thread.start()
    eventually(lambda: api.requests("watch pods"))
    api.down()
    assert ended.wait(60)
    thread.join()
    api.up()
    assert api.port == port
    assert api.client.request("GET", "/api/v1/nodes/n1").status == 200
