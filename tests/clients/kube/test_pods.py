"""List, watch, resume, relist: the snapshot follows the API server through everything that can break."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from evictd.clients.kube.pods import PodWatch
from evictd.clients.kube.transport import Transport
from tests.kube.api_server import ApiServer
from tests.kube.fixtures import clock
from tests.kube.objects import pod, sample
from tests.kube.waiting import eventually


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


def test_lists_only_this_node_and_follows_it(api: ApiServer, transport: Transport) -> None:
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


def test_what_nobody_foresaw_is_told_and_the_watch_begins_again_with_a_list(
    api: ApiServer, transport: Transport
) -> None:
    """A change that could not be taken in is not lost, and the thread goes on."""
    told: list[str] = []
    failures: list[Exception] = []

    def changed() -> None:
        if failures:
            raise failures.pop()

    watch = PodWatch(
        transport, "n1", clock=clock, random=lambda: 0.01, changed=changed, complain=lambda _, what: told.append(what)
    )
    watch.start()
    try:
        eventually(lambda: watch.snapshot.synced)
        failures.append(ZeroDivisionError("nobody knows why"))
        api.store.create("pods", pod("a"))
        eventually(lambda: told)
        api.store.create("pods", pod("b"))
        eventually(sees(watch, "a", "b"))
        eventually(lambda: not watch.snapshot.problem)
    finally:
        watch.close()
    (once,) = told
    assert "ZeroDivisionError: nobody knows why" in once
    assert [line.what for line in api.requests(watches=False)] == ["list pods"] * 2


def test_nothing_is_known_before_the_first_list(api: ApiServer, transport: Transport) -> None:
    """An unreachable server is not an empty node."""
    api.fault(verb="list", status=500)
    with watching(transport) as watch:
        eventually(lambda: watch.snapshot.problem)
        assert not watch.snapshot.synced
        api.faults.clear()
        eventually(lambda: watch.snapshot.synced and not watch.snapshot.problem)


def test_a_list_comes_in_pages(api: ApiServer, transport: Transport) -> None:
    """Five pods by twos are three requests and one snapshot."""
    for number in range(5):
        api.store.create("pods", pod(f"p{number}"))
    with watching(transport, page=2) as watch:
        eventually(sees(watch, *(f"p{number}" for number in range(5))))
    assert len(api.requests("list pods")) == 3


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


def test_a_bookmark_moves_the_version_on_a_quiet_node(api: ApiServer, transport: Transport) -> None:
    """Other objects change, ours do not; after the bookmark the watch resumes from there."""
    with watching(transport, watch_seconds=1) as watch:
        eventually(lambda: watch.snapshot.synced)
        before = watch.snapshot.resource_version
        api.store.create("pods", pod("elsewhere", node_name="n2"))
        eventually(lambda: watch.snapshot.resource_version != before)
        eventually(lambda: api.requests("watch pods")[-1].query["resourceVersion"] != before)
    assert len(api.requests("list pods")) == 1


@pytest.mark.parametrize("how", ["event", "answer"])
def test_a_forgotten_version_costs_one_list(api: ApiServer, transport: Transport, how: str) -> None:
    """410, as an event of the watch or as its answer: list again, lose nothing."""
    api.store.create("pods", pod("a"))
    with watching(transport) as watch:
        eventually(lambda: api.requests("watch pods"))
        api.down()
        api.store.remove(("pods", "default", "a"))
        api.store.create("pods", pod("b"))
        if how == "event":
            api.store.compact()
        else:
            api.fault(verb="watch", status=410, times=1)
        api.up()
        eventually(sees(watch, "b"))
    assert len(api.requests("list pods")) == 2


def test_a_server_restart_keeps_the_snapshot_and_says_so(api: ApiServer, transport: Transport) -> None:
    """While nobody answers, the last known pods stay, with the reason why they may be old."""
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
    """It is left out and named; the others are there, also when it appears in a watch."""
    api.store.create("pods", pod("a"))
    with watching(transport) as watch:
        eventually(sees(watch, "a"))
        broken = pod("broken")
        broken["spec"]["containers"][0]["resources"]["requests"]["memory"] = "many"
        api.store.create("pods", broken)
        eventually(lambda: watch.snapshot.unreadable)
        assert "broken" in watch.snapshot.unreadable[0]
        api.store.create("pods", pod("b"))
        eventually(sees(watch, "a", "b"))


def test_a_recreated_pod_is_another_pod(api: ApiServer, transport: Transport) -> None:
    """Same name, new uid: two different entries, one after the other."""
    first = api.store.create("pods", pod("a"))
    with watching(transport) as watch:
        eventually(sees(watch, "a"))
        api.store.remove(("pods", "default", "a"))
        second = api.store.create("pods", pod("a"))
        eventually(lambda: set(watch.snapshot.pods) == {second["metadata"]["uid"]})
    assert first["metadata"]["uid"] != second["metadata"]["uid"]


def test_recorded_pods_are_read(api: ApiServer, transport: Transport) -> None:
    """All thirteen pods of the recorded node."""
    for item in sample("pods")["items"]:
        api.store.create("pods", item)
    with watching(transport) as watch:
        eventually(lambda: len(watch.snapshot.pods) == 13)
        assert watch.snapshot.pods.keys() == {item["metadata"]["uid"] for item in sample("pods")["items"]}


def test_closing_ends_a_watch_that_waits(api: ApiServer, transport: Transport) -> None:
    """No thread is left behind."""
    with watching(transport) as watch:
        eventually(lambda: api.requests("watch pods"))
    assert not watch._thread.is_alive()


def test_at_rest_only_the_watch_is_open(api: ApiServer, transport: Transport) -> None:
    """Changes cost the server nothing but the watch it already has."""
    with watching(transport) as watch:
        eventually(lambda: api.requests("watch pods"))
        api.forget_requests()
        for number in range(20):
            api.store.create("pods", pod(f"p{number}"))
        eventually(lambda: len(watch.snapshot.pods) == 20)
        assert api.requests() == []


def test_a_store_that_went_back_in_time_costs_one_list(api: ApiServer, transport: Transport) -> None:
    """After a backup was restored our version is too new, and would be for as long as we asked with it."""
    api.store.create("pods", pod("a"))
    body = b'{"message": "Timeout: Too large resource version: 900, current: 7", "code": 504}'
    api.fault(verb="watch", status=504, body=body, times=1)
    with watching(transport) as watch:
        eventually(lambda: len(api.requests("list pods")) == 2)
        eventually(sees(watch, "a"))
    assert len(api.requests("list pods")) == 2
