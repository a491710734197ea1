"""Only what evictd itself left behind goes, and only after its time."""

import json

from evictd.act.cluster.leftovers import Leftovers
from evictd.act.cluster.outbox import Outbox
from evictd.clients.kube.eviction import EvictionClient
from evictd.clients.kube.pods import PodSnapshot
from evictd.clients.kube.transport import Transport
from evictd.codec.slim_pods import decode_page
from evictd.core.duration import MINUTE
from tests.kube.api_server import ApiServer
from tests.kube.driving import Driver
from tests.kube.objects import pod

OURS = [{"manager": "evictd", "subresource": "status", "operation": "Update"}]


def snapshot(api: ApiServer) -> PodSnapshot:
    items, _ = api.store.list("pods")
    page = decode_page(json.dumps({"items": items}).encode())
    return PodSnapshot(pods={entry.pod.uid: entry for entry in page.pods}, synced=True)


def corpse(name: str, *, ours: bool = True, reason: str = "Evicted") -> dict[str, object]:
    made = pod(name)
    made["status"].update(phase="Failed", reason=reason)
    if ours:
        made["metadata"]["managedFields"] = OURS
    return made


def names(api: ApiServer) -> set[str]:
    return {item["metadata"]["name"] for item in api.store.list("pods")[0]}


def test_ours_go_after_their_time_and_others_stay(api: ApiServer, transport: Transport) -> None:
    """The kubelet's own victims, other failures and running pods are nobody's leftovers of ours."""
    api.store.create("pods", corpse("ours"))
    api.store.create("pods", corpse("kubelets", ours=False))
    api.store.create("pods", corpse("crashed", reason="Error"))
    api.store.create("pods", pod("running"))
    driver = Driver()
    lane = Leftovers(EvictionClient(transport), lambda: snapshot(api), time_to_live=5 * MINUTE)
    outbox = Outbox([lane], clock=driver.clock, random=lambda: 0.5)
    driver.run(outbox, 299)
    assert len(names(api)) == 4
    driver.run(outbox, 62)
    assert names(api) == {"kubelets", "crashed", "running"}
    assert [line.body["preconditions"] for line in api.requests("delete pods")]


def test_zero_keeps_everything_and_a_refusal_is_not_repeated(api: ApiServer, transport: Transport) -> None:
    """Off by default; forbidden once is forbidden."""
    api.store.create("pods", corpse("ours"))
    driver = Driver()
    off = Leftovers(EvictionClient(transport), lambda: snapshot(api), time_to_live=0)
    driver.run(Outbox([off], clock=driver.clock, random=lambda: 0.5), 3600)
    assert api.requests() == []
    api.fault(verb="delete", status=403)
    lane = Leftovers(EvictionClient(transport), lambda: snapshot(api), time_to_live=MINUTE)
    driver.run(Outbox([lane], clock=driver.clock, random=lambda: 0.5), 3600)
    assert len(api.requests("delete pods")) == 1
