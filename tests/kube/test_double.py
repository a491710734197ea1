"""The double is honest: it serves what the real API server served, by the API's own types, and refuses as it does."""

import http.client
import json
import ssl
import threading
import urllib.error
import urllib.request
from typing import Any

import pytest
from kubernetes import client, config, watch

from tests.kube import models
from tests.kube.api_server import ApiServer
from tests.kube.kubelet import Kubelet
from tests.kube.objects import node, pod, sample
from tests.kube.rbac import Rbac
from tests.kube.store import Json
from tests.kube.verbs import Budget
from tests.kube.waiting import eventually

MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"


def call(
    api: ApiServer, method: str, path: str, body: Any = None, content_type: str = MERGE, token: str = "token-1"
) -> tuple[int, Json, dict[str, str]]:
    """One request by the standard library's client: status, body, headers."""
    context = ssl.create_default_context(cafile=str(api.authority.cert))
    request = urllib.request.Request(
        f"https://127.0.0.1:{api.port}{path}",
        method=method,
        data=json.dumps(body).encode() if body is not None else None,
        headers={"Authorization": f"Bearer {token}", "Content-Type": content_type},
    )
    try:
        with urllib.request.urlopen(request, context=context, timeout=10) as answer:
            return answer.status, json.load(answer), dict(answer.headers)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error), dict(error.headers)


@pytest.mark.parametrize("name", ["pods", "node", "node-under-pressure", "evicted-pod", "events"])
def test_recorded_objects_fit_the_models(name: str) -> None:
    """The checker finds no fault in what a real API server served; a list is looked at item by item."""
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


def test_models_deserialise_what_it_serves(api: ApiServer) -> None:
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


def test_strategic_merge_of_conditions_touches_one_type_only(api: ApiServer) -> None:
    """A patch of one condition leaves the kubelet's alone; a repeated one changes nothing and costs no version."""
    body = {
        "status": {"conditions": [{"type": "EvictdMemoryPressure", "status": "True", "reason": "R", "message": "m"}]}
    }
    status, patched, _ = call(api, "PATCH", "/api/v1/nodes/n1/status?fieldManager=evictd", body, STRATEGIC)
    assert status == 200
    assert [c["type"] for c in patched["status"]["conditions"]] == [
        "MemoryPressure",
        "DiskPressure",
        "PIDPressure",
        "Ready",
        "EvictdMemoryPressure",
    ]
    _, again, _ = call(api, "PATCH", "/api/v1/nodes/n1/status?fieldManager=evictd", body, STRATEGIC)
    assert again["metadata"]["resourceVersion"] == patched["metadata"]["resourceVersion"]


def test_taints_merge_by_key(api: ApiServer) -> None:
    """An entry is added and removed by its key; others stay."""
    add = {"spec": {"taints": [{"key": "evictd.io/memory-pressure", "effect": "NoSchedule"}]}}
    _, patched, _ = call(api, "PATCH", "/api/v1/nodes/n1", add, STRATEGIC)
    before = {taint["key"] for taint in node()["spec"].get("taints", [])}
    assert {taint["key"] for taint in patched["spec"]["taints"]} == before | {"evictd.io/memory-pressure"}
    remove = {"spec": {"taints": [{"$patch": "delete", "key": "evictd.io/memory-pressure"}]}}
    _, patched, _ = call(api, "PATCH", "/api/v1/nodes/n1", remove, STRATEGIC)
    assert {taint["key"] for taint in patched["spec"].get("taints", [])} == before


def test_merge_patch_replaces_lists(api: ApiServer) -> None:
    """JSON merge patch knows no merge keys: the list is replaced."""
    body = {"spec": {"taints": [{"key": "only", "effect": "NoSchedule"}]}}
    _, patched, _ = call(api, "PATCH", "/api/v1/nodes/n1", body, MERGE)
    assert [taint["key"] for taint in patched["spec"]["taints"]] == ["only"]


def test_conflicts_by_uid_and_by_version(api: ApiServer) -> None:
    """Preconditions on a pod of the same name but another life are refused with 409."""
    made = api.store.create("pods", pod("a"))
    path = "/api/v1/namespaces/default/pods/a"
    assert call(api, "DELETE", path, {"preconditions": {"uid": "other"}})[0] == 409
    assert call(api, "PATCH", f"{path}/status", {"metadata": {"uid": "other"}, "status": {"phase": "Failed"}})[0] == 409
    stale = {"metadata": {"resourceVersion": "1"}, "status": {"phase": "Failed"}}
    assert call(api, "PATCH", f"{path}/status", stale)[0] == 409
    assert api.store.get(("pods", "default", "a")) == made


def test_a_status_patch_changes_the_status_only_and_a_terminal_phase_stays(api: ApiServer) -> None:
    """The subresource takes nothing but the status; Failed is for ever."""
    api.store.create("pods", pod("a"))
    path = "/api/v1/namespaces/default/pods/a/status"
    _, patched, _ = call(api, "PATCH", path, {"spec": {"nodeName": "n2"}, "status": {"phase": "Failed"}})
    assert (patched["spec"]["nodeName"], patched["status"]["phase"]) == ("n1", "Failed")
    _, patched, _ = call(api, "PATCH", path, {"status": {"phase": "Running"}})
    assert patched["status"]["phase"] == "Failed"


def test_an_unknown_field_is_refused(api: ApiServer) -> None:
    """What the API's types do not know, the double does not take."""
    status, body, _ = call(api, "PATCH", "/api/v1/nodes/n1/status", {"status": {"condtions": []}})
    assert status == 422
    assert "condtions" in body["message"]


def test_eviction_spends_the_budget_and_is_refused_without(api: ApiServer) -> None:
    """201 while the budget lasts, then 429 with its cause and Retry-After; two budgets are a server error."""
    for name in ("a", "b"):
        api.store.create("pods", pod(name, labels={"app": "t"}))
    api.verbs.budgets = [Budget("one", {"app": "t"}, 1)]

    def evict(name: str) -> tuple[int, Json, dict[str, str]]:
        body = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": name, "namespace": "default"},
            "deleteOptions": {"gracePeriodSeconds": 1},
        }
        return call(api, "POST", f"/api/v1/namespaces/default/pods/{name}/eviction", body, "application/json")

    assert evict("a")[0] == 201
    gone = api.store.get(("pods", "default", "a"))
    assert gone is not None
    assert gone["metadata"]["deletionGracePeriodSeconds"] == 1
    assert gone["status"]["conditions"][-1]["reason"] == "EvictionByEvictionAPI"
    status, body, headers = evict("b")
    assert (status, headers["Retry-After"]) == (429, "10")
    assert body["details"]["causes"][0]["reason"] == "DisruptionBudget"
    api.verbs.budgets.append(Budget("two", {"app": "t"}, 1))
    status, body, _ = evict("b")
    assert status == 500
    assert "more than one PodDisruptionBudget" in body["message"]


def test_delete_is_graceful_and_grace_only_shrinks(api: ApiServer) -> None:
    """The object stays with its deletion time until the kubelet is done; grace zero or a terminal phase removes it at once."""
    api.store.create("pods", pod("a"))
    path = "/api/v1/namespaces/default/pods/a"
    for asked, then in ((20, 20), (30, 20), (1, 1)):
        _, shown, _ = call(api, "DELETE", path, {"gracePeriodSeconds": asked})
        assert shown["metadata"]["deletionGracePeriodSeconds"] == then
    call(api, "DELETE", path, {"gracePeriodSeconds": 0})
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
    """No token, no answer; a token that was taken out has expired; a client certificate names its user."""
    assert call(api, "GET", "/api/v1/nodes/n1", token="wrong")[0] == 401
    api.tokens.clear()
    assert call(api, "GET", "/api/v1/nodes/n1")[0] == 401
    pair = api.authority.issue("system:node:n1")
    context = ssl.create_default_context(cafile=str(api.authority.cert))
    context.load_cert_chain(pair.cert, pair.key)
    with urllib.request.urlopen(f"https://127.0.0.1:{api.port}/api/v1/nodes/n1", context=context, timeout=10) as answer:
        assert answer.status == 200
    assert api.requests("get nodes")[-1].attributes.user == "system:node:n1"


def test_rbac_is_enforced_and_logged(api: ApiServer) -> None:
    """A verb that no rule names is refused with 403, and the refusal is in the log."""
    api.rbac = Rbac(())
    assert call(api, "GET", "/api/v1/nodes/n1")[0] == 403
    assert [(line.what, line.status) for line in api.requests()] == [("get nodes", 403)]


def test_faults_slow_cut_and_refuse(api: ApiServer) -> None:
    """Each fault does what it says, as often as it says."""
    api.fault(verb="get", status=500, times=1)
    assert call(api, "GET", "/api/v1/nodes/n1")[0] == 500
    assert call(api, "GET", "/api/v1/nodes/n1")[0] == 200
    api.fault(verb="get", cut=20, times=1)
    with pytest.raises((OSError, http.client.HTTPException)):
        call(api, "GET", "/api/v1/nodes/n1")
    api.fault(verb="get", refuse=True, times=1)
    with pytest.raises((OSError, http.client.HTTPException)):
        call(api, "GET", "/api/v1/nodes/n1")


def test_kubelet_reverts_built_in_conditions_and_leaves_others(api: ApiServer) -> None:
    """As observed: MemoryPressure written by us is False again, EvictdMemoryPressure stays."""
    kubelet = Kubelet(api.store, "n1")
    body = {
        "status": {
            "conditions": [
                {"type": kind, "status": "True", "reason": "R"} for kind in ("MemoryPressure", "EvictdMemoryPressure")
            ]
        }
    }
    call(api, "PATCH", "/api/v1/nodes/n1/status", body, STRATEGIC)
    kubelet.sync()
    shown = call(api, "GET", "/api/v1/nodes/n1")[1]["status"]["conditions"]
    assert {c["type"]: c["status"] for c in shown if "Pressure" in c["type"]} == {
        "MemoryPressure": "False",
        "DiskPressure": "False",
        "PIDPressure": "False",
        "EvictdMemoryPressure": "True",
    }


def test_kubelet_repairs_a_status_on_a_running_pod(api: ApiServer) -> None:
    """As observed: a patch alone evicts nothing; after a stop it sticks; a container stopped without it is restarted."""
    kubelet = Kubelet(api.store, "n1")
    made = api.store.create("pods", pod("a"))
    uid = made["metadata"]["uid"]
    kubelet.containers.start(uid, "c", "d")
    path = "/api/v1/namespaces/default/pods/a/status"
    kubelet.store.update(("pods", "default", "a"), lambda item: item["status"].update(phase="Failed", reason="Evicted"))
    kubelet.sync()
    after = call(api, "GET", path.removesuffix("/status"))[1]["status"]
    assert (after["phase"], after.get("reason")) == ("Running", None)
    kubelet.containers.stop(uid, "c")
    kubelet.sync()
    assert kubelet.containers.restarts[uid] == 1
    kubelet.containers.stop(uid)
    call(api, "PATCH", path, {"status": {"phase": "Failed", "reason": "Evicted"}})
    kubelet.sync()
    assert not kubelet.containers.running(uid)


def test_kubelet_finishes_a_deleted_pod(api: ApiServer) -> None:
    """A deleted pod is stopped, never restarted, and its object goes."""
    kubelet = Kubelet(api.store, "n1")
    made = api.store.create("pods", pod("a"))
    kubelet.containers.start(made["metadata"]["uid"], "c")
    call(api, "DELETE", "/api/v1/namespaces/default/pods/a", {"gracePeriodSeconds": 1})
    kubelet.sync()
    assert api.store.get(("pods", "default", "a")) is None
    assert kubelet.containers.restarts == {}


def test_going_down_cuts_watches_and_comes_back_on_the_same_port(api: ApiServer) -> None:
    """`down` and `up` are an API server that restarts."""
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
        except OSError:
            pass
        finally:
            ended.set()

    thread = threading.Thread(target=watcher)
    thread.start()
    eventually(lambda: api.requests("watch pods"))
    api.down()
    assert ended.wait(20)
    thread.join()
    api.up()
    assert api.port == port
    assert call(api, "GET", "/api/v1/nodes/n1")[0] == 200
