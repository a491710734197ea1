"""Lists and watch events straight from bytes to core pods."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evictd.codec.slim_pods import PodEvent, PodPage, WatchType, decode_event, decode_page
from evictd.core.pod import PodSource
from evictd.errors import InputError
from tests.kube.objects import padded, pod, sample


def test_the_recorded_list() -> None:
    """Names, phases and requests as the API server sent them."""
    page = decode_page(json.dumps(sample("pods")).encode())
    assert len(page.pods) == 13
    assert page.unreadable == ()
    first = page.pods[0]
    assert (first.pod.full_name, first.pod.phase, first.resource_version) == ("default/a", "Running", "340")
    assert str(first.pod.containers[0].requests["memory"]) == "20Mi"


def test_the_recorded_victim_is_the_kubelets_not_ours() -> None:
    """Failed and Evicted, but evictd never wrote its status."""
    entry = decode_event(json.dumps({"type": "MODIFIED", "object": sample("evicted-pod")}).encode()).pod
    assert entry is not None
    assert (entry.terminal, entry.reason, entry.left_by_evictd) == (True, "Evicted", False)


def test_our_own_leftovers_are_known_by_the_field_manager() -> None:
    """Only who wrote the status counts, not who wrote anything else."""
    made = sample("evicted-pod")
    for subresource, ours in (("status", True), ("", False)):
        made["metadata"]["managedFields"] = [{"manager": "evictd", "subresource": subresource}]
        entry = decode_event(json.dumps({"type": "ADDED", "object": made}).encode()).pod
        assert entry is not None
        assert entry.left_by_evictd is ours


def test_a_mirror_pod_has_its_static_pods_uid() -> None:
    """Sandboxes and cgroups know only that one."""
    made = pod("etcd-n1", annotations={"kubernetes.io/config.mirror": "hash-1", "kubernetes.io/config.source": "file"})
    entry = decode_event(json.dumps({"type": "ADDED", "object": made}).encode()).pod
    assert entry is not None
    assert (entry.pod.uid, entry.pod.source, entry.pod.critical) == ("hash-1", PodSource.MIRROR, True)


def test_managed_fields_cost_no_objects() -> None:
    """A padded pod is read to the same value."""
    plain = pod("a", uid="u")
    fat = padded(pod("a", uid="u"), 8192)
    read = [decode_page(json.dumps({"items": [item]}).encode()).pods[0] for item in (plain, fat)]
    assert read[0] == read[1]


def test_pages_bookmarks_and_errors() -> None:
    """The tokens and versions that a reflector needs."""
    page = decode_page(b'{"metadata": {"resourceVersion": "7", "continue": "next"}, "items": null}')
    assert (page.resource_version, page.continue_token, page.pods) == ("7", "next", ())
    mark = decode_event(b'{"type": "BOOKMARK", "object": {"kind": "Pod", "metadata": {"resourceVersion": "9"}}}')
    assert (mark.type, mark.resource_version, mark.pod) == (WatchType.BOOKMARK, "9", None)
    gone = decode_event(b'{"type": "ERROR", "object": {"kind": "Status", "code": 410, "message": "too old"}}')
    assert (gone.type, gone.status, gone.message) == (WatchType.ERROR, 410, "too old")


def test_one_broken_pod_is_left_out_and_named() -> None:
    """The others are there."""
    broken = pod("broken")
    broken["spec"]["containers"][0]["resources"]["requests"]["memory"] = "12 potatoes"
    page = decode_page(json.dumps({"items": [pod("a"), broken, pod("b")]}).encode())
    assert [entry.pod.name for entry in page.pods] == ["a", "b"]
    assert "default/broken" in page.unreadable[0]


@given(st.binary(max_size=200))
def test_garbage_is_an_input_error(data: bytes) -> None:
    """Whatever comes in: a value or `InputError`, nothing else."""
    for decode in (decode_page, decode_event):
        try:
            read: object = decode(data)
        except InputError as error:
            read = error
        assert isinstance(read, PodPage | PodEvent | InputError)


@pytest.mark.parametrize("line", [b'{"type":"NEW","object":{}}', b'{"type":"ADDED"}', b"[" * 100_000])
def test_events_that_are_none(line: bytes) -> None:
    """Unknown type, no object, nesting without end."""
    with pytest.raises(InputError):
        decode_event(line)
