"""List, watch, resume and relist: the snapshot follows the API server through every failure."""

import itertools
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace

import pytest

from evictd.clients.kube.pods import MOST_EVICTED, PodSnapshot, PodWatch, applied
from evictd.clients.kube.transport import Transport
from evictd.codec.pods.slim_pods import PodEvent, WatchType, decode_event
from evictd.core.units.duration import SECOND
from tests.kube.api import Api
from tests.kube.api_server import ApiServer
from tests.kube.fixtures import clock
from tests.kube.objects import pod, pod_list, sample
from tests.kube.waiting import eventually
from tests.recorded_errors import RecordedErrors

TOO_NEW = b'{"message": "Timeout: Too large resource version: 900, current: 7", "code": 504}'


@contextmanager
def watching(transport: Transport, *, page: int = 250, watch_seconds: int = 60) -> Iterator[PodWatch]:
    """A running watch of n1 that never waits long."""
    watch = PodWatch(transport, "n1", clock=clock, random=lambda: 0.01, page=page, watch_seconds=watch_seconds)
    watch.start()
    try:
        yield watch
    finally:
        watch.close()


def names(watch: PodWatch) -> set[str]:
    return {entry.pod.name for entry in watch.snapshot.pods.values()}


def sees(watch: PodWatch, *expected: str) -> Callable[[], bool]:
    return lambda: watch.snapshot.synced and names(watch) == set(expected)


def test_lists_only_this_node_and_follows_it(api: Api, transport: Transport) -> None:
    """Added, changed, bound, deleted; pods of other nodes are never fetched."""
    api.store.create("pods", pod("a"))
    api.store.create("pods", pod("elsewhere", node_name="n2"))
    with watching(transport) as watch:
        eventually(sees(watch, "a"))
        api.store.create("pods", pod("b"))
        api.store.create("pods", pod("other", node_name="n2"))
        eventually(sees(watch, "a", "b"))
        api.store.update(("pods", "default", "a"), lambda item: item["status"].update(phase="Failed"))
        eventually(lambda: {e.pod.phase for e in watch.snapshot.pods.values()} == {"Running", "Failed"})
        api.store.remove(("pods", "default", "a"))
        eventually(sees(watch, "b"))
    assert [line.query["fieldSelector"] for line in api.requests()] == ["spec.nodeName=n1"] * 2


def test_an_unforeseen_error_is_reported_and_the_watch_lists_again(api: Api, transport: Transport) -> None:
    """A change that could not be taken in is not lost, and the thread goes on."""
    errors = RecordedErrors()
    failures: list[Exception] = []

    def changed() -> None:
        if failures:
            raise failures.pop()

    watch = PodWatch(
        transport,
        "n1",
        clock=clock,
        random=lambda: 0.01,
        changed=changed,
        errors=errors,
    )
    watch.start()
    try:
        eventually(lambda: watch.snapshot.synced)
        failures.append(ZeroDivisionError("unforeseen"))
        api.store.create("pods", pod("a"))
        eventually(lambda: errors)
        api.store.create("pods", pod("b"))
        eventually(sees(watch, "a", "b"))
        eventually(lambda: not watch.snapshot.problem)
    finally:
        watch.close()
    (once,) = errors.details
    assert "ZeroDivisionError: unforeseen" in once
    assert [line.what for line in api.requests(watches=False)] == ["list pods"] * 2


def test_only_a_change_that_evictd_reads_is_notified(api: ApiServer, transport: Transport) -> None:
    """A kubelet writes readiness and restarts all the time; each notice would have the loop look at the whole node."""
    api.store.create("pods", pod("a"))
    key, versions = ("pods", "default", "a"), list[set[str]]()

    def seen() -> set[str]:
        return {entry.resource_version for entry in watch.snapshot.pods.values()}

    watch = PodWatch(transport, "n1", clock=clock, random=lambda: 0.01, changed=lambda: versions.append(seen()))
    watch.start()
    try:
        eventually(lambda: versions)  # of the list; the snapshot is there before its notice
        versions.clear()
        unready = api.store.update(key, lambda item: item["status"]["conditions"][2].update(status="False"))
        eventually(lambda: seen() == {unready["metadata"]["resourceVersion"]})
        labelled = api.store.update(key, lambda item: item["metadata"].update(labels={"tier": "front"}))
        failed = api.store.update(key, lambda item: item["status"].update(phase="Failed"))
        api.store.remove(key)
        eventually(lambda: set() in versions)
    finally:
        watch.close()
    assert versions == [{each["metadata"]["resourceVersion"]} for each in (labelled, failed)] + [set()]


def test_nothing_is_known_before_the_first_list(api: ApiServer, transport: Transport) -> None:
    """An unreachable server is not an empty node."""
    api.fault(verb="list", status=500)
    with watching(transport) as watch:
        eventually(lambda: watch.snapshot.problem)
        assert not watch.snapshot.synced
        api.faults.clear()
        eventually(lambda: watch.snapshot.synced and not watch.snapshot.problem)


def test_the_first_list_may_come_from_the_servers_cache(api: Api, transport: Transport) -> None:
    """A list of the latest version makes a server with an older etcd read all pods of the cluster, once for each node."""
    api.store.create("pods", pod("a"))
    with watching(transport) as watch:
        eventually(sees(watch, "a"))
    (line,) = api.requests("list pods")
    assert (line.query["resourceVersion"], line.query["resourceVersionMatch"]) == ("0", "NotOlderThan")


def test_a_list_comes_in_pages(api: ApiServer, transport: Transport) -> None:
    """Five pods by twos are three requests and one snapshot; a server's cache knows no pages."""
    for number in range(5):
        api.store.create("pods", pod(f"p{number}"))
    api.fault(verb="watch", status=504, body=TOO_NEW, times=1)
    with watching(transport, page=2) as watch:
        eventually(lambda: api.requests("watch pods")[1:])
        assert sees(watch, *(f"p{number}" for number in range(5)))()
    assert len([line for line in api.requests("list pods") if "limit" in line.query]) == 3


def test_a_list_that_is_too_large_comes_in_smaller_pages(
    api: ApiServer, transport: Transport, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pod's author can make an object of nine MiB; a few of them must not hide the pods of the node."""
    for number in range(5):
        api.store.create("pods", pod(f"p{number}", annotations={"filler": "x" * 100_000}))
    monkeypatch.setattr("evictd.clients.kube.transport.MAX_BODY", 150_000)
    with watching(transport, page=8) as watch:
        eventually(sees(watch, *(f"p{number}" for number in range(5))))
        eventually(lambda: not watch.snapshot.problem)
    assert [line.query.get("limit") for line in api.requests("list pods")] == [None, "8", *["1"] * 5]


def test_the_longest_pod_does_not_end_the_watch(api: ApiServer, transport: Transport) -> None:
    """An etcd takes 1.5 MiB, of which JSON writes a control character as six bytes."""
    long = pod("long")
    long["spec"]["containers"][0]["env"] = [{"name": "FILLER", "value": "\1" * 1_500_000}]
    with watching(transport) as watch:
        eventually(sees(watch))
        api.store.create("pods", long)
        api.store.create("pods", pod("after"))
        eventually(sees(watch, "long", "after"))
    assert len(api.requests("list pods")) == 1


def test_after_an_event_that_is_too_long_the_pods_are_listed(
    api: ApiServer, transport: Transport, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Resumed at the same version, the watch would send that event again, for ever."""
    monkeypatch.setattr("evictd.clients.kube.transport.MAX_WATCH_LINE", 150_000)
    with watching(transport) as watch:
        eventually(sees(watch))
        api.store.create("pods", pod("long", annotations={"filler": "x" * 400_000}))
        eventually(sees(watch, "long"))
        api.store.create("pods", pod("after"))
        eventually(sees(watch, "long", "after"))


def test_a_cut_watch_resumes_without_another_list(api: ApiServer, transport: Transport) -> None:
    """From the last version seen, so that nothing is lost in between."""
    with watching(transport) as watch:
        eventually(lambda: api.requests("watch pods"))
        for number in range(3):
            api.cut_connections()
            api.store.create("pods", pod(f"p{number}"))
            eventually(sees(watch, *(f"p{i}" for i in range(number + 1))))
    assert len(api.requests("list pods")) == 1
    assert len({line.query["resourceVersion"] for line in api.requests("watch pods")}) > 1


@pytest.mark.parametrize("body", [b"{}", b"<html>under maintenance</html>", b""])
def test_what_is_no_watch_hides_no_pod(api: ApiServer, transport: Transport, body: bytes) -> None:
    """A proxy that answers 200 in the server's place: pods that began later were never seen, and the listed ones went."""
    api.fault(verb="watch", status=200, body=body)
    with watching(transport) as watch:
        eventually(lambda: watch.snapshot.synced)
        api.store.create("pods", pod("later"))
        eventually(sees(watch, "later"))
        if body:
            eventually(lambda: "watch" in watch.snapshot.problem)


def test_pods_of_another_node_are_left_out_and_named(api: ApiServer, transport: Transport) -> None:
    """A cache that ignores the field selector."""
    event = json.dumps({"type": "ADDED", "object": pod("there", node_name="n2")}).encode() + b"\n"
    api.fault(verb="list", status=200, body=pod_list(pod("here"), pod("elsewhere", node_name="n2")), times=1)
    api.fault(verb="watch", status=200, body=event)
    with watching(transport) as watch:
        eventually(lambda: "default/there" in watch.snapshot.problem)
        assert names(watch) == {"here"}
        assert "default/elsewhere" in "".join(watch.snapshot.unreadable)


@pytest.mark.slow
def test_a_bookmark_moves_the_version_on_an_idle_node(api: Api, transport: Transport) -> None:
    """Only other nodes' objects change; after the bookmark, two seconds before the watch's end, it resumes from its version.

    kube-apiserver sends no bookmark for a change before a watch begins or in its last two seconds, so there is another change.
    """
    others = itertools.count()
    with watching(transport, watch_seconds=4) as watch:
        eventually(lambda: watch.snapshot.synced)
        before = watch.snapshot.resource_version

        def moved_after_a_change() -> bool:
            api.store.create("pods", pod(f"elsewhere-{next(others)}", node_name="n2"))
            with suppress(AssertionError):
                eventually(lambda: watch.snapshot.resource_version != before, seconds=3)
            return watch.snapshot.resource_version != before

        eventually(moved_after_a_change, seconds=60)
        eventually(lambda: api.requests("watch pods")[-1].query["resourceVersion"] != before)
    assert len(api.requests("list pods")) == 1


@pytest.mark.parametrize("how", ["event", "answer"])
def test_an_expired_version_costs_one_list(api: ApiServer, transport: Transport, how: str) -> None:
    """410, as an event of the watch or as its answer: list again, lose nothing."""
    api.store.create("pods", pod("a"))
    with watching(transport) as watch:
        eventually(lambda: api.requests("watch pods"))
        api.cut_connections()  # a version that the list has just given counts as one that the server will lose again
        eventually(lambda: len(api.requests("watch pods")) == 2)
        with api.store.changed:  # under which the double looks for changes, so that the watch sees none of these
            api.store.remove(("pods", "default", "a"))
            api.store.create("pods", pod("b"))
            if how == "event":
                api.store.compact()
            else:
                api.fault(verb="watch", status=410, times=1)
                api.cut_connections()
        eventually(sees(watch, "b"))
        eventually(lambda: len(api.requests("watch pods")) == (3 if how == "event" else 4))
    first, second = (line.query["resourceVersion"] for line in api.requests("list pods"))
    assert int(second) > int(first) == 0, "as new as what was known, and not the latest, which costs the server more"


def test_after_an_outage_an_expired_version_is_listed_soon(
    api: ApiServer, transport: Transport, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The pauses have grown while the server was away; its 410 is an answer, and is no reason to wait as long again."""
    pauses: list[int] = []
    with watching(transport) as watch:
        monkeypatch.setattr(watch, "_wait", pauses.append)
        eventually(lambda: watch.snapshot.synced and api.requests("watch pods"))
        api.fault(verb="watch", status=503, times=6)
        api.fault(verb="watch", status=410, times=1)
        api.cut_connections()
        eventually(lambda: len(api.requests("list pods")) == 2)
    *_, away, expired = pauses
    assert away > 5 * SECOND > SECOND > expired


def test_a_server_restart_keeps_the_snapshot_with_a_problem(api: ApiServer, transport: Transport) -> None:
    """While the server does not respond, the last pods stay, with a problem."""
    api.store.create("pods", pod("a"))
    with watching(transport) as watch:
        eventually(lambda: api.requests("watch pods"))
        api.down()
        eventually(lambda: watch.snapshot.problem)
        assert names(watch) == {"a"}
        api.up()
        eventually(lambda: not watch.snapshot.problem)
        api.store.create("pods", pod("b"))
        eventually(sees(watch, "a", "b"))


def test_retry_after_is_honoured(api: ApiServer, transport: Transport) -> None:
    """A server that asks for a second gets it."""
    api.fault(verb="list", status=429, retry_after="1", times=1)
    with watching(transport) as watch:
        eventually(lambda: watch.snapshot.synced)
    first, second = api.requests("list pods")
    assert second.at - first.at >= 1.0


def test_a_pod_that_cannot_be_read_does_not_blind_the_node(api: ApiServer, transport: Transport) -> None:
    """It is there without what cannot be read; a watch goes on, without another list."""
    api.store.create("pods", pod("a"))
    with watching(transport) as watch:
        eventually(sees(watch, "a"))
        broken = pod("broken")
        broken["metadata"]["annotations"] = {"size": "x"}
        broken["metadata"]["generation"] = "many"
        api.store.create("pods", broken)
        eventually(sees(watch, "a", "broken"))
        assert watch.snapshot.unread_parts == ("default/broken: cannot be read: metadata.generation",)
        assert len(api.requests("list pods")) == 1
        api.store.create("pods", pod("b"))
        eventually(sees(watch, "a", "b", "broken"))


def test_a_recreated_pod_is_another_pod(api: Api, transport: Transport) -> None:
    """Same name, new uid: two different entries, one after the other."""
    first = api.store.create("pods", pod("a"))
    with watching(transport) as watch:
        eventually(sees(watch, "a"))
        api.store.remove(("pods", "default", "a"))
        second = api.store.create("pods", pod("a"))
        eventually(lambda: set(watch.snapshot.pods) == {second["metadata"]["uid"]})
    assert first["metadata"]["uid"] != second["metadata"]["uid"]


def test_recorded_pods_are_read(api: Api, transport: Transport) -> None:
    """All thirteen pods of the recorded node."""
    uids = {api.store.create("pods", item)["metadata"]["uid"] for item in sample("pods")["items"]}
    with watching(transport) as watch:
        eventually(lambda: len(watch.snapshot.pods) == 13)
        assert watch.snapshot.pods.keys() == uids


def test_closing_ends_a_watch_that_waits(api: Api, transport: Transport) -> None:
    """No thread is left behind."""
    with watching(transport) as watch:
        eventually(lambda: api.requests("watch pods"))
    assert not watch._thread.is_alive()


def test_closing_does_not_wait_for_a_server_that_does_not_open_a_watch(api: ApiServer, transport: Transport) -> None:
    """The daemon has fifteen seconds to end, and a node without it evicts nothing."""
    api.fault(verb="watch", delay=20)
    with watching(transport) as watch:
        eventually(lambda: watch.snapshot.synced)
        begun = clock()
    assert clock() - begun < 10 * SECOND


def test_at_rest_only_the_watch_is_open(api: Api, transport: Transport) -> None:
    """Changes cost the server nothing but the watch it already has."""
    with watching(transport) as watch:
        eventually(lambda: api.requests("watch pods"))
        api.forget_requests()
        for number in range(20):
            api.store.create("pods", pod(f"p{number}"))
        eventually(lambda: len(watch.snapshot.pods) == 20)
        assert api.requests() == []


def test_a_store_that_went_back_in_time_costs_one_list(api: ApiServer, transport: Transport) -> None:
    """After a restored backup the snapshot's version is too new for a long time."""
    api.store.create("pods", pod("a"))
    api.fault(verb="watch", status=504, body=TOO_NEW, times=1)
    with watching(transport) as watch:
        eventually(lambda: len(api.requests("list pods")) == 2)
        eventually(sees(watch, "a"))
    assert len(api.requests("list pods")) == 2
    assert "resourceVersion" not in api.requests("list pods")[-1].query


def test_an_eviction_by_the_kubelet_is_remembered_also_if_the_pod_is_deleted_at_once(
    api: Api, transport: Transport
) -> None:
    """A DaemonSet's controller deletes a failed pod before the next cycle."""
    api.store.create("pods", pod("a"))
    api.store.create("pods", pod("b"))
    api.store.update(("pods", "default", "a"), lambda item: item["status"].update(phase="Failed", reason="Evicted"))
    with watching(transport) as watch:
        eventually(sees(watch, "a", "b"))
        api.store.update(("pods", "default", "b"), lambda item: item["status"].update(phase="Failed", reason="Evicted"))
        api.store.remove(("pods", "default", "b"))
        eventually(sees(watch, "a"))
        assert [each.pod.name for each in watch.snapshot.evicted_by_kubelet] == ["a", "b"]


def test_an_eviction_by_the_kubelet_is_new_once_however_many_failed_pods_stay(
    api: ApiServer, transport: Transport
) -> None:
    """The objects of evicted pods stay until someone deletes them, by the hundred: each list and each change has them again."""
    for number in range(MOST_EVICTED + 5):
        api.store.create("pods", pod(f"p{number:03}"))
        one = ("pods", "default", f"p{number:03}")
        api.store.update(one, lambda item: item["status"].update(phase="Failed", reason="Evicted"))
    with watching(transport) as watch:
        eventually(lambda: watch.snapshot.synced)
        known = [each.pod.name for each in watch.snapshot.evicted_by_kubelet]
        assert (known[0], known[-1]) == ("p005", f"p{MOST_EVICTED + 4}")
        api.store.update(("pods", "default", "p000"), lambda item: item["metadata"].update(labels={"kept": "yes"}))
        eventually(lambda: any(each.pod.labels for each in watch.snapshot.pods.values()))
        assert [each.pod.name for each in watch.snapshot.evicted_by_kubelet] == known
        api.fault(verb="watch", status=410, times=1)
        api.cut_connections()
        eventually(lambda: len(api.requests("list pods")) == 2 and len(api.requests("watch pods")) == 3)
        assert [each.pod.name for each in watch.snapshot.evicted_by_kubelet] == known


def test_only_so_many_evictions_by_the_kubelet_are_remembered() -> None:
    evicted = decode_event(json.dumps({"type": "MODIFIED", "object": sample("evicted-pod")}).encode()).pod
    assert evicted is not None
    snapshot = PodSnapshot(synced=True)
    for number in range(MOST_EVICTED + 5):
        one = replace(evicted, pod=replace(evicted.pod, uid=f"u{number}"))
        snapshot = applied(snapshot, PodEvent(type=WatchType.MODIFIED, pod=one))
    found = [each.pod.uid for each in snapshot.evicted_by_kubelet]
    assert (len(found), found[0], found[-1]) == (MOST_EVICTED, "u5", f"u{MOST_EVICTED + 4}")
