"""The double merges as the real server does: by the same document, and with the same results for generated patches."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.cluster import objects
from tests.cluster.control_plane import ControlPlane
from tests.cluster.openapi import relevant
from tests.kube import patching
from tests.kube.admin import MERGE_PATCH, STRATEGIC_PATCH

pytestmark = pytest.mark.cluster


WORDS = st.sampled_from(["a", "b", "c", "d"])
EFFECTS = st.sampled_from(["NoSchedule", "NoExecute"])
TAINT = st.fixed_dictionaries({"key": WORDS, "effect": EFFECTS}, optional={"value": WORDS})
LABELS = st.dictionaries(WORDS, st.none() | WORDS, max_size=3)
FINALIZERS = st.lists(WORDS.map("evictd.test/{}".format), unique=True, max_size=3)
CONDITION = st.fixed_dictionaries(
    {"type": WORDS},
    optional={"status": st.sampled_from(["True", "False"]), "reason": WORDS, "message": st.none() | WORDS},
)
DELETION = WORDS.map(lambda word: {"type": word, "$patch": "delete"})


def by(*names: str) -> Any:
    return lambda entry: tuple(entry.get(name) for name in names)


SPEC_PATCHES = st.fixed_dictionaries(
    {},
    optional={
        "metadata": st.fixed_dictionaries(
            {}, optional={"labels": LABELS, "annotations": LABELS, "finalizers": FINALIZERS}
        ),
        "spec": st.fixed_dictionaries(
            {},
            optional={
                "taints": st.none() | st.lists(TAINT, unique_by=by("key", "effect"), max_size=3),
                "unschedulable": st.booleans(),
            },
        ),
    },
)
STATUS_PATCHES = st.lists(CONDITION | DELETION, unique_by=by("type"), max_size=4).map(
    lambda found: {"status": {"conditions": found}}
)


@pytest.fixture(scope="module")
def node(control_plane: ControlPlane) -> Iterator[str]:
    """A node with something in every place that is patched."""
    taints = [{"key": "a", "effect": "NoSchedule", "value": "b"}, {"key": "a", "effect": "NoExecute"}]
    with objects.node(control_plane.admin, "patched", taints=taints) as path:
        meta = {"labels": {"a": "b", "c": "d"}, "annotations": {"a": "b"}, "finalizers": ["evictd.test/a"]}
        conditions = [{"type": word, "status": "True", "reason": "R", "message": "m"} for word in ("b", "a")]
        control_plane.admin.must("PATCH", path, {"metadata": meta})
        control_plane.admin.must("PATCH", f"{path}/status", {"status": {"conditions": conditions}})
        yield path
        control_plane.admin.must("PATCH", path, {"metadata": {"finalizers": None}})


def comparable(found: dict[str, Any]) -> dict[str, Any]:
    """What patches reach, without the fields that the server fills in."""
    meta, spec = found["metadata"], found.get("spec", {})
    taints = [{k: v for k, v in taint.items() if k != "timeAdded"} for taint in spec.get("taints") or []]
    conditions = [
        {k: v for k, v in each.items() if v and not k.startswith(("last", "$"))}  # unknown fields are dropped
        for each in found.get("status", {}).get("conditions") or []
    ]
    return {
        "labels": meta.get("labels") or {},
        "annotations": meta.get("annotations") or {},
        "finalizers": meta.get("finalizers") or [],
        "taints": taints,
        "unschedulable": spec.get("unschedulable") or False,
        "conditions": conditions,
    }


def test_the_record_is_what_the_server_publishes(control_plane: ControlPlane) -> None:
    """Else run `python -m tests.cluster.openapi`."""
    assert json.loads(patching.RECORD.read_text()) == relevant(control_plane.admin.must("GET", "/openapi/v2"))


def test_taints_are_atomic_and_conditions_merge_by_type() -> None:
    """The two lists that evictd writes on a node."""
    types = patching.record()
    assert types["io.k8s.api.core.v1.NodeSpec"]["taints"]["x-kubernetes-list-type"] == "atomic"
    assert "x-kubernetes-patch-merge-key" not in types["io.k8s.api.core.v1.NodeSpec"]["taints"]
    assert types["io.k8s.api.core.v1.NodeStatus"]["conditions"]["x-kubernetes-patch-merge-key"] == "type"


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(patch=SPEC_PATCHES | STATUS_PATCHES)
def test_generated_patches_give_what_the_server_gives(control_plane: ControlPlane, node: str, patch: Any) -> None:
    """Strategic and merge patches of a node and its status, as a dry run; what the server refuses is left out."""
    before = control_plane.admin.must("GET", node)
    part = "/status" if "status" in patch else ""
    for kind in (STRATEGIC_PATCH, MERGE_PATCH):
        answer = control_plane.admin.request("PATCH", f"{node}{part}?dryRun=All", patch, kind)
        if answer.status == 422:
            continue
        assert answer.status == 200, answer.message
        ours = patching.strategic(before, patch, "Node") if kind == STRATEGIC_PATCH else patching.merge(before, patch)
        assert comparable(answer.body) == comparable(ours), (kind, patch)
