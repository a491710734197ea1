"""Events are created once and then counted in their series."""

from evictd.clients.kube.events import ANNOTATION_BYTES, NOTE_BYTES, EventClient, KubeEvent, Regarding, cut
from evictd.clients.kube.transport import Transport
from tests.kube.api import Api
from tests.kube.api_server import ApiServer

TIME = "2026-11-21T02:00:00.000001Z"
EVICTED = KubeEvent(
    regarding=Regarding(kind="Pod", name="a", namespace="default", uid="u-1"),
    type="Warning",
    reason="Evicted",
    note="The node was low on resource: memory. ",
    annotations={"starved_resource": "memory", "offending_containers": ""},
)


def test_an_event_is_created_and_counted(api: Api, transport: Transport) -> None:
    """The double checks it against the API's types; the count is a series."""
    client = EventClient(transport, "n1")
    client.create(EVICTED, "a.1", TIME)
    client.create(EVICTED, "a.1", TIME)  # a response was lost and the request is repeated: still one event
    assert client.count(EVICTED, "a.1", 3, TIME)
    found = api.store.get(("events", "default", "a.1"))
    assert found is not None
    assert found["series"] == {"count": 3, "lastObservedTime": TIME}
    assert found["metadata"]["annotations"]["starved_resource"] == "memory"
    assert found["regarding"] == {
        "apiVersion": "v1",
        "kind": "Pod",
        "name": "a",
        "namespace": "default",
        "uid": "u-1",
    }


def test_counting_a_removed_event_returns_false(api: Api, transport: Transport) -> None:
    """Events are removed after an hour; the caller then creates a new one."""
    assert not EventClient(transport, "n1").count(EVICTED, "a.1", 2, TIME)


def test_an_event_on_the_node_lives_in_default(api: Api, transport: Transport) -> None:
    """As the kubelet's: by name, without a uid."""
    about = KubeEvent(
        regarding=Regarding(kind="Node", name="n1"), type="Warning", reason="EvictionThresholdMet", note="m"
    )
    EventClient(transport, "n1").create(about, "n1.1", TIME)
    found = api.store.get(("events", "default", "n1.1"))
    assert found is not None
    assert found["regarding"] == {"apiVersion": "v1", "kind": "Node", "name": "n1"}


def test_a_long_note_is_cut_between_characters() -> None:
    """The API takes 1,024 bytes."""
    long = "ü" * 1000
    assert len(cut(long, NOTE_BYTES).encode()) == NOTE_BYTES
    assert cut("a" + long, NOTE_BYTES).endswith("ü")


def test_a_long_annotation_is_cut(api: ApiServer, transport: Transport) -> None:
    """To what the admission policy allows: a pod may have hundreds of containers with long names."""
    long = KubeEvent(
        regarding=EVICTED.regarding, type="Warning", reason="Evicted", note="n", annotations={"a": "x" * 9000}
    )
    EventClient(transport, "n1").create(long, "a.1", TIME)
    (sent,) = api.requests("create events")
    assert len(sent.body["metadata"]["annotations"]["a"]) == ANNOTATION_BYTES
