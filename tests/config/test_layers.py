"""Documents are sorted by kind, default thresholds are added, and drop-ins are merged."""

import pytest

from evictd.codec.config import evictd_config, kubelet_fields
from evictd.config.layers import Layers, drop_in, main_layers, merge_patch
from evictd.core.model.threshold import Origin
from evictd.core.model.threshold_config import DEFAULT_EVICTION_HARD


def kubelet(**fields: object) -> dict[str, object]:
    return {"apiVersion": kubelet_fields.API_VERSION, "kind": kubelet_fields.KIND, **fields}


def evictd(**fields: object) -> dict[str, object]:
    return {"apiVersion": evictd_config.API_VERSION, "kind": evictd_config.KIND, **fields}


@pytest.mark.parametrize(
    ("target", "patch", "merged"),
    [
        ({"a": 1}, {"b": 2}, {"a": 1, "b": 2}),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": None, "d": 3}}, {"a": {"c": 2, "d": 3}}),
        ({"a": 1}, {"a": {"b": 2}}, {"a": {"b": 2}}),
        ({"a": {"b": 1}}, {"a": [1]}, {"a": [1]}),
        ({"a": 1}, {"a": None, "z": None}, {}),
        ({}, {"a": {"b": None}}, {"a": {}}),
    ],
)
def test_merge_patches_follow_rfc_7386(
    target: dict[str, object], patch: dict[str, object], merged: dict[str, object]
) -> None:
    assert merge_patch(target, patch) == merged


def test_an_absent_map_gets_the_defaults() -> None:
    layers = main_layers([kubelet()], [], "f")
    assert layers.kubelet["evictionHard"] == DEFAULT_EVICTION_HARD
    assert set(layers.hard_origins.values()) == {Origin.DEFAULT}


def test_both_kinds_are_sorted() -> None:
    layers = main_layers([evictd(dryRun=True), kubelet(evictionHard={})], [], "f")
    assert (layers.evictd["dryRun"], layers.kubelet["evictionHard"], layers.problems) == (True, {}, ())


def test_configz_is_effective_already() -> None:
    layers = main_layers([{"kubeletconfig": {"maxPods": 1}}], [], "f")
    assert (layers.kubelet["maxPods"], "evictionHard" in layers.kubelet, layers.problems) == (1, False, ())


def test_configz_without_a_list_of_enforcements_is_of_a_kubelet_that_enforces_none() -> None:
    """A kubelet with `enforceNodeAllocatable: []` prints no such field: `check` had it limit all pods to Allocatable."""
    assert main_layers([{"kubeletconfig": {}}], [], "f").kubelet["enforceNodeAllocatable"] == []
    given = {"enforceNodeAllocatable": ["pods"]}
    assert main_layers([{"kubeletconfig": given}], [], "f").kubelet == given
    assert "enforceNodeAllocatable" not in main_layers([kubelet()], [], "f").kubelet, "a file has the default, pods"


def test_a_wrong_version_does_not_hide_the_other_faults() -> None:
    layers = main_layers([{**kubelet(maxPods="x"), "apiVersion": "v1"}], [], "f")
    assert layers.kubelet["maxPods"] == "x"
    assert len(layers.problems) == 1


@pytest.mark.parametrize("documents", [[], [evictd()], [kubelet(), evictd()]])
def test_a_drop_in_is_one_kubelet_configuration(documents: list[object]) -> None:
    assert len(drop_in(Layers(), documents, [], "d").problems) == 1


def test_what_a_drop_in_sets_is_the_users_own() -> None:
    base = main_layers([kubelet()], [], "f")
    layers = drop_in(base, [kubelet(evictionHard={"nodefs.available": "1Gi"})], [], "d")
    assert "nodefs.available" not in layers.hard_origins
    assert "memory.available" in layers.hard_origins
    assert layers.sources == {"evictionHard": "d"}


def test_the_header_of_each_document_has_its_line() -> None:
    """`check` named line 1, where the first document has an apiVersion, for the second one without it."""
    version = f"apiVersion: {kubelet_fields.API_VERSION}"
    text = f"{version}\nkind: {kubelet_fields.KIND}\n---\nkind: {evictd_config.KIND}\n"
    second = {"kind": evictd_config.KIND}
    (missing,) = main_layers([kubelet(), second], [], "f", text=text).problems
    assert missing == f"f: line 4: apiVersion: is missing; give {evictd_config.API_VERSION}"
    (wrong,) = main_layers(
        [kubelet(), {**second, "apiVersion": "v1"}], [], "f", text=f"{text}apiVersion: v1\n"
    ).problems
    assert wrong.startswith('f: line 5: apiVersion: "v1": is not the version of')
    (twice,) = main_layers([kubelet(), kubelet()], [], "f", text=f"{version}\n---\n{version}\n").problems
    assert twice == f"f: line 3: document 2: {kubelet_fields.KIND}: appears twice; keep one of them"


def test_the_header_of_a_drop_in_has_its_line() -> None:
    def problem(fields: dict[str, object], text: str) -> str:
        (found,) = drop_in(Layers(), [fields], [], "d", text=text).problems
        return found

    assert problem({"maxPods": 1}, "# comment\nmaxPods: 1\n").startswith("d: line 2: maxPods: is a field of")
    assert problem(evictd(), "\n\nkind: x\n").startswith("d: line 3: the document: is no KubeletConfiguration")
