"""Decoding of pod lists and watch events."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evictd.codec.pods.pod import decode_pod, encode_pod
from evictd.codec.pods.slim_pods import PodEvent, PodPage, WatchType, decode_event, decode_page
from evictd.core.model.pod import MOST_LABELS, PodSource
from evictd.core.units.quantity import parse_quantity
from evictd.errors import InputError
from tests.kube.objects import padded, pod, pod_list, sample


def test_the_recorded_list() -> None:
    """Names, phases and requests as the API server sent them."""
    page = decode_page(pod_list(*sample("pods")["items"]))
    assert len(page.pods) == 13
    assert page.unreadable == ()
    first = page.pods[0]
    assert (first.pod.full_name, first.pod.phase, first.resource_version) == ("default/a", "Running", "340")
    assert str(first.pod.containers[0].requests["memory"]) == "20Mi"


def test_the_recorded_victim_was_evicted_by_the_kubelet() -> None:
    """Failed and Evicted, but evictd never wrote its status."""
    entry = decode_event(json.dumps({"type": "MODIFIED", "object": sample("evicted-pod")}).encode()).pod
    assert entry is not None
    assert (entry.terminal, entry.reason, entry.left_by_evictd) == (True, "Evicted", False)


def test_our_own_leftovers_are_known_by_the_field_manager() -> None:
    """Only the manager of the status counts."""
    made = sample("evicted-pod")
    for subresource, ours in (("status", True), ("", False)):
        made["metadata"]["managedFields"] = [{"manager": "evictd", "subresource": subresource}]
        entry = decode_event(json.dumps({"type": "ADDED", "object": made}).encode()).pod
        assert entry is not None
        assert entry.left_by_evictd is ours


@pytest.mark.parametrize(
    ("annotations", "owner", "source"),
    [
        ({"mirror": "hash-1", "source": "file"}, ("v1", "Node", "n1", True), PodSource.MIRROR),
        ({"mirror": "hash-1"}, ("v1", "Node", "n2", True), PodSource.API),
        ({"mirror": "hash-1"}, ("v1", "Node", "n1", False), PodSource.API),
        ({"mirror": "hash-1"}, ("evil.io/v1", "Node", "n1", True), PodSource.API),
        ({"mirror": "hash-1"}, ("apps/v1", "ReplicaSet", "n1", True), PodSource.API),
        ({"mirror": ""}, ("v1", "Node", "n1", True), PodSource.API),
        ({"source": "file"}, ("v1", "Node", "n1", True), PodSource.API),
        ({"source": "http"}, None, PodSource.API),
    ],
)
def test_no_annotation_alone_makes_a_pod_static_or_a_mirror(
    annotations: dict[str, str], owner: tuple[str, str, str, bool] | None, source: PodSource
) -> None:
    """docs/faults.md, 10: any pod's author writes annotations. The uid is always the object's own."""
    made = pod("web", uid="own", annotations={f"kubernetes.io/config.{k}": v for k, v in annotations.items()})
    keys = ("apiVersion", "kind", "name", "controller")
    made["metadata"]["ownerReferences"] = [] if owner is None else [dict(zip(keys, owner, strict=True))]
    entry = decode_event(json.dumps({"type": "ADDED", "object": made}).encode()).pod
    assert entry is not None
    assert (entry.pod.uid, entry.pod.source) == ("own", source)
    assert entry.mirror_of == ("hash-1" if source is PodSource.MIRROR else "")


def test_no_annotation_makes_a_pod_one_of_which_something_is_unknown() -> None:
    """A pod without known volumes is not chosen for a disk: its author must not make it one."""
    made = pod("web", uid="own", annotations={"evictd.io/spec-known": "false", "evictd.io/volumes-known": "false"})
    found = decode_event(json.dumps({"type": "ADDED", "object": made}).encode()).pod
    assert found is not None
    assert (found.pod.spec_known, found.pod.volumes_known) == (True, True)


def test_managed_fields_cost_no_objects() -> None:
    """A padded pod is read to the same value."""
    plain = pod("a", uid="u")
    fat = padded(pod("a", uid="u"), 8192)
    read = [decode_page(pod_list(item)).pods[0] for item in (plain, fat)]
    assert read[0] == read[1]


def test_pages_bookmarks_and_errors() -> None:
    """The tokens and versions that a reflector needs."""
    page = decode_page(b'{"kind": "PodList", "metadata": {"resourceVersion": "7", "continue": "next"}, "items": null}')
    assert (page.resource_version, page.continue_token, page.pods) == ("7", "next", ())
    mark = decode_event(b'{"type": "BOOKMARK", "object": {"kind": "Pod", "metadata": {"resourceVersion": "9"}}}')
    assert (mark.type, mark.resource_version, mark.pod) == (WatchType.BOOKMARK, "9", None)
    gone = decode_event(b'{"type": "ERROR", "object": {"kind": "Status", "code": 410, "message": "too old"}}')
    assert (gone.type, gone.status, gone.message) == (WatchType.ERROR, 410, "too old")


@pytest.mark.parametrize(
    ("where", "value", "unread"),
    [
        (("spec", "volumes"), [{"name": "v", "emptyDir": {"sizeLimit": "lots"}}], "spec.volumes[0].emptyDir.sizeLimit"),
        (("spec", "containers", 0, "resources", "requests", "ephemeral-storage"), "12 potatoes",
         "spec.containers[0].resources.requests.ephemeral-storage"),
        (("status", "containerStatuses"), [{"name": "c", "allocatedResources": {"memory": "12 potatoes"}}],
         "status.containerStatuses[0].allocatedResources.memory"),
        (("spec", "containers", 0, "resources", "limits"), ["1Gi"], "spec.containers[0].resources.limits"),
        (("spec", "tolerations"), [{"key": 7}], "spec.tolerations[0].key"),
        (("spec", "priority"), "high", "spec.priority"),
        (("spec", "priority"), 10**400, "spec.priority"),
        (("status", "qosClass"), "Foo", "status.qosClass"),
        (("status", "phase"), "\ud800", "status.phase"),
        (("metadata", "annotations"), {"\ud800": "x"}, "metadata.annotations.\\ud800"),
        (("metadata", "ownerReferences"), 7, "metadata.ownerReferences"),
        (("spec",), "none", "spec"),
    ],
)  # fmt: skip
def test_a_pod_with_unreadable_parts_is_there_without_them(
    where: tuple[str | int, ...], value: object, unread: str
) -> None:
    """docs/faults.md, 11: left out it was no candidate, and another pod was evicted."""
    broken = pod("broken", uid="u")
    at = broken
    for key in where[:-1]:
        at = at[key]  # type: ignore[index]
    at[where[-1]] = value  # type: ignore[index]
    page = decode_page(pod_list(pod("a"), broken, pod("b")))
    assert [entry.pod.name for entry in page.pods] == ["a", "broken", "b"]
    assert [entry.unread for entry in page.pods] == [(), (unread,), ()]
    assert page.unreadable == ()
    entry = page.pods[1]
    assert (entry.pod.uid, entry.pod.critical) == ("u", False)
    assert decode_pod(json.dumps(encode_pod(entry.pod))) == entry.pod


@pytest.mark.parametrize("limit", ["1e5000", 10**30, "9" * 5000])
def test_a_size_limit_of_any_size_is_one(limit: str | int) -> None:
    """As apimachinery reads it: `1e5000` left the whole pod out."""
    made = pod("web")
    made["spec"]["volumes"] = [{"name": "v", "emptyDir": {"sizeLimit": limit}}]
    (entry,) = decode_page(pod_list(made)).pods
    size = entry.pod.volumes[0].size_limit
    assert size is not None
    assert parse_quantity("8Ei") < size


def test_a_pod_without_an_identity_is_left_out_and_named() -> None:
    """Such a pod cannot be evicted."""
    broken = pod("broken")
    broken["metadata"]["uid"] = 7
    page = decode_page(pod_list(pod("a"), broken, [], {}, pod("b")))
    assert [entry.pod.name for entry in page.pods] == ["a", "b"]
    assert "default/broken" in page.unreadable[0]
    assert len(page.unreadable) == 3


@given(st.binary(max_size=200))
def test_garbage_is_an_input_error(data: bytes) -> None:
    """Any input gives a value or `InputError`."""
    for decode in (decode_page, decode_event):
        try:
            read: object = decode(data)
        except InputError as error:
            read = error
        assert isinstance(read, PodPage | PodEvent | InputError)


@pytest.mark.parametrize(
    "data",
    [
        b"{}",
        b'{"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": []}',
        b'{"metadata": {"resourceVersion": "7"}, "items": []}',
        b'{"kind": "Status", "status": "Success", "metadata": {"resourceVersion": "7"}}',
        b'{"kind": "Table", "metadata": {"resourceVersion": "7"}, "rows": []}',
    ],
)
def test_lists_that_are_none(data: bytes) -> None:
    """An object that is no list of pods does not say that there are none; a watch cannot begin without a version."""
    with pytest.raises(InputError, match="pod list"):
        decode_page(data)


@pytest.mark.parametrize(
    "line",
    [b'{"type":"NEW","object":{}}', b'{"type":"ADDED"}', b'{"type":"DELETED","object":{}}', b"[" * 100_000],
)
def test_events_that_are_none(line: bytes) -> None:
    """Unknown type, no object, no pod, unbounded nesting."""
    with pytest.raises(InputError):
        decode_event(line)


def test_of_failed_pods_those_that_the_kubelet_evicted_are_known() -> None:
    """Not those that it did not admit under pressure, which have the same reason, nor evictd's own."""
    entry = decode_event(json.dumps({"type": "MODIFIED", "object": sample("evicted-pod")}).encode()).pod
    assert entry is not None
    assert entry.evicted_by_kubelet
    assert (entry.message[:35], entry.disrupted_at) == ("The node was low on resource: memor", "2026-11-21T02:27:09Z")
    assert not replace(entry, message="Pod was rejected: The node had condition: [DiskPressure]. ").evicted_by_kubelet
    assert not replace(entry, written_by_evictd=True).evicted_by_kubelet
    assert not replace(entry, reason="Terminated").evicted_by_kubelet
    assert not replace(entry, pod=replace(entry.pod, phase="Running")).evicted_by_kubelet


def test_of_a_pod_a_bounded_number_of_labels_is_kept() -> None:
    """An API server takes 110,000 labels, which would take 10 MiB of memory."""
    page = decode_page(pod_list(pod("a", labels={f"l{number}": "" for number in range(1000)})))
    assert len(page.pods[0].pod.labels) == MOST_LABELS
