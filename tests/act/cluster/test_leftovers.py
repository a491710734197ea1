"""Only pods that evictd itself left as Failed are deleted, and only after their time to live."""

from evictd.act.cluster.leftovers import Leftovers
from evictd.act.cluster.request_queue import RequestQueue
from evictd.clients.kube.eviction import EvictionClient
from evictd.clients.kube.pods import PodSnapshot
from evictd.clients.kube.transport import Transport
from evictd.codec.pods.slim_pods import decode_page
from evictd.core.units.duration import MINUTE
from tests.kube.api import Api
from tests.kube.api_server import ApiServer
from tests.kube.driving import SILENT_BELL, Driver
from tests.kube.objects import pod, pod_list

OURS = [{"manager": "evictd", "subresource": "status", "operation": "Update"}]


def snapshot(api: Api) -> PodSnapshot:
    items, _ = api.store.list("pods")
    page = decode_page(pod_list(*items))
    return PodSnapshot(pods={entry.pod.uid: entry for entry in page.pods}, synced=True)


def corpse(name: str, *, ours: bool = True, reason: str = "Evicted") -> dict[str, object]:
    made = pod(name)
    made["status"].update(phase="Failed", reason=reason)
    if ours:
        made["metadata"]["managedFields"] = OURS
    return made


def names(api: Api) -> set[str]:
    return {item["metadata"]["name"] for item in api.store.list("pods")[0]}


def run(driver: Driver, queue: RequestQueue, source: Leftovers, seconds: int) -> None:
    """Run the queue, and the loop with its duties every ten seconds."""
    while seconds > 0:
        source.delete_due(driver.now)
        driver.run(queue, min(seconds, 10))
        seconds -= 10


def test_without_the_loop_s_duties_nothing_is_deleted(api: Api, transport: Transport) -> None:
    """A dry run has none."""
    api.store.create("pods", corpse("ours"))
    driver = Driver()
    source = Leftovers(EvictionClient(transport), lambda: snapshot(api), SILENT_BELL, time_to_live=MINUTE)
    driver.run(RequestQueue([source], driver.clocks), 3600)
    assert names(api) == {"ours"}


def test_a_reload_to_a_dry_run_deletes_no_more_of_what_was_due(api: ApiServer, transport: Transport) -> None:
    """The queue's thread goes on; the duties do not. With them, what is due is deleted again."""
    for name in ("first", "second"):
        api.store.create("pods", corpse(name))
    api.fault(verb="delete", status=503)
    driver = Driver()
    source = Leftovers(EvictionClient(transport), lambda: snapshot(api), SILENT_BELL, time_to_live=MINUTE)
    queue = RequestQueue([source], driver.clocks)
    run(driver, queue, source, 80)
    assert api.requests("delete pods")
    source.suspend()
    api.faults.clear()
    driver.run(queue, 3600)
    assert names(api) == {"first", "second"}
    run(driver, queue, source, 80)
    assert names(api) == set()


def test_ours_go_after_their_time_and_others_stay(api: Api, transport: Transport) -> None:
    """The kubelet's own victims, other failures and running pods stay."""
    api.store.create("pods", corpse("ours"))
    api.store.create("pods", corpse("kubelets", ours=False))
    api.store.create("pods", corpse("crashed", reason="Error"))
    api.store.create("pods", pod("running"))
    driver = Driver()
    source = Leftovers(EvictionClient(transport), lambda: snapshot(api), SILENT_BELL, time_to_live=5 * MINUTE)
    queue = RequestQueue([source], driver.clocks)
    run(driver, queue, source, 299)
    assert len(names(api)) == 4
    run(driver, queue, source, 62)
    assert names(api) == {"kubelets", "crashed", "running"}
    assert [line.body["preconditions"] for line in api.requests("delete pods")]


def test_zero_keeps_everything(api: Api, transport: Transport) -> None:
    """Off by default."""
    api.store.create("pods", corpse("ours"))
    driver = Driver()
    off = Leftovers(EvictionClient(transport), lambda: snapshot(api), SILENT_BELL, time_to_live=0)
    run(driver, RequestQueue([off], driver.clocks), off, 3600)
    assert api.requests() == []


def test_a_refusal_is_not_repeated(api: ApiServer, transport: Transport) -> None:
    """Forbidden once is forbidden."""
    api.store.create("pods", corpse("ours"))
    driver = Driver()
    api.fault(verb="delete", status=403)
    source = Leftovers(EvictionClient(transport), lambda: snapshot(api), SILENT_BELL, time_to_live=MINUTE)
    run(driver, RequestQueue([source], driver.clocks), source, 3600)
    assert len(api.requests("delete pods")) == 1
