"""The admission policy's expressions, evaluated: own node and own pods only, and on the node nothing but evictd's taints."""

import copy

import pytest

from tests.deploy.manifests import USER, Json, base
from tests.kube.objects import node, pod

cel = pytest.importorskip("cel", reason="has no wheel for this machine")

NODE_NAME = "authentication.kubernetes.io/node-name"
OURS = {"key": "evictd.io/memory-pressure", "effect": "NoSchedule"}
THEIRS = {"key": "dedicated", "effect": "NoSchedule"}
POLICY: Json = next(item for item in base() if item["kind"] == "ValidatingAdmissionPolicy")["spec"]


def refusals(resource: str, name: str, new: Json | None, old: Json, bound_to: str = "n1") -> list[str]:
    """The messages of the validations that say no."""
    extra = {NODE_NAME: [bound_to]} if bound_to else {}
    request = {
        "name": name,
        "resource": {"group": "", "version": "v1", "resource": resource},
        "userInfo": {"username": USER, "extra": extra},
    }
    scope: Json = {"request": request, "object": new, "oldObject": old}
    assert all(cel.evaluate(each["expression"], scope) is True for each in POLICY["matchConditions"])
    scope["variables"] = {each["name"]: cel.evaluate(each["expression"], scope) for each in POLICY["variables"]}
    return [each["message"] for each in POLICY["validations"] if cel.evaluate(each["expression"], scope) is not True]


def tainted(*taints: Json) -> Json:
    made = copy.deepcopy(node())
    made["spec"]["taints"] = list(taints)
    return made


def test_what_evictd_does_is_allowed() -> None:
    """Conditions and its own taints on its node, status and deletion of its pods."""
    bare = node()
    bare["spec"].pop("taints", None)
    changed = copy.deepcopy(bare)
    changed["status"]["conditions"] = []
    assert refusals("nodes", "n1", changed, bare) == []
    assert refusals("nodes", "n1", tainted(OURS), bare) == []
    assert refusals("nodes", "n1", tainted(THEIRS), tainted(THEIRS, OURS)) == []
    mine = pod("a")
    assert refusals("pods", "a", None, mine) == []
    assert refusals("pods", "a", mine, mine) == []


@pytest.mark.parametrize("bound_to", ["n2", ""])
def test_another_nodes_token_and_one_of_no_node_are_refused(bound_to: str) -> None:
    """For the node as for its pods."""
    assert refusals("nodes", "n1", node(), node(), bound_to=bound_to)
    assert refusals("pods", "a", None, pod("a"), bound_to=bound_to)


def test_on_the_node_nothing_else_may_change() -> None:
    """Others' taints, labels, annotations, schedulability."""
    assert refusals("nodes", "n1", tainted(), tainted(THEIRS))
    assert refusals("nodes", "n1", tainted(THEIRS, OURS), tainted())
    for change in (
        {"metadata": {**node()["metadata"], "labels": {"a": "b"}}},
        {"metadata": {**node()["metadata"], "annotations": {"a": "b"}}},
        {"spec": {**node()["spec"], "unschedulable": True}},
    ):
        assert refusals("nodes", "n1", {**node(), **change}, node())
