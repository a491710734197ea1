"""v1.Pod in and out: a real API server's pods, and every field that eviction looks at."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from evictd.codec.pods.pod import LONGEST_GRACE_PERIOD_SECONDS, decode_pod, encode_pod, quantity_of, resources_of
from evictd.codec.pods.pod_wire import WireResources
from evictd.codec.state import decode_state, encode_state
from evictd.core.eviction.accounts.ledger import victim_until
from evictd.core.model.pod import Pod, PodSource
from evictd.core.model.resources import QOSClass, VolumeKind
from evictd.core.model.state import State, Victim
from evictd.core.units.quantity import Format, Quantity, parse_quantity
from evictd.errors import InputError, InvalidValueError
from tests.strategies import pods

SAMPLES = Path(__file__).parents[1] / "data" / "samples"


def wire(**spec: Any) -> dict[str, Any]:
    """A v1.Pod with this spec."""
    return {"metadata": {"name": "p", "namespace": "default", "uid": "u"}, "spec": spec}


def real_pods() -> list[Pod]:
    """A pod list recorded from an API server."""
    return [decode_pod(item) for item in json.loads((SAMPLES / "pods.json").read_bytes())["items"]]


def test_real_pods_are_read() -> None:
    """The thirteen recorded pods."""
    found = real_pods()
    assert len(found) == 13
    assert all(pod.uid and pod.containers for pod in found)
    first = found[0]
    assert (first.full_name, first.termination_grace_period_seconds, first.phase) == ("default/a", 20, "Running")
    assert str(first.containers[0].requests["memory"]) == "20Mi"
    assert first.qos_class is QOSClass.BURSTABLE


def test_real_pods_survive_being_written() -> None:
    """Through JSON text and back."""
    for pod in real_pods():
        assert decode_pod(json.dumps(encode_pod(pod))) == pod


@given(pods("u"))
def test_any_pod_survives_being_written(pod: Pod) -> None:
    """No field that a decision uses is lost."""
    assert decode_pod(encode_pod(pod)) == pod


def test_only_an_init_container_that_is_restarted_always_is_a_sidecar() -> None:
    """`podutil.IsRestartableInitContainer`; since Kubernetes 1.34 a regular container may set it as well."""
    always, never = {"name": "a", "restartPolicy": "Always"}, {"name": "n", "restartPolicy": "Never"}
    found = decode_pod(wire(containers=[always, never], initContainers=[always, never, {"name": "plain"}]))
    assert [each.sidecar for each in found.containers] == [False, False]
    assert [each.sidecar for each in found.init_containers] == [True, False, False]


@pytest.mark.parametrize(
    ("annotations", "source"),
    [
        ({}, PodSource.API),
        ({"kubernetes.io/config.source": "api"}, PodSource.API),
        ({"kubernetes.io/config.source": "file"}, PodSource.STATIC),
        ({"kubernetes.io/config.source": "http"}, PodSource.STATIC),
        ({"kubernetes.io/config.mirror": ""}, PodSource.MIRROR),
    ],
)
def test_static_and_mirror_pods_are_recognised_by_their_annotations(
    annotations: dict[str, str], source: PodSource
) -> None:
    """kubernetes/kubernetes#73572: both annotations count."""
    assert decode_pod({"metadata": {"annotations": annotations}}).source is source


def test_what_is_unknown_of_a_pod_is_written() -> None:
    unknown = Pod(name="web", namespace="ns", uid="u", spec_known=False, volumes_known=False)
    assert decode_pod(encode_pod(unknown)) == unknown


@pytest.mark.parametrize(("spec", "shared"), [({}, True), ({"hostUsers": True}, True), ({"hostUsers": False}, False)])
def test_a_pod_has_the_nodes_user_namespace_unless_its_spec_says_otherwise(spec: dict[str, Any], shared: bool) -> None:
    pod = decode_pod(wire(**spec))
    assert pod.host_users is shared
    assert decode_pod(encode_pod(pod)) == pod


def test_volume_kinds() -> None:
    """By the field that is set."""
    sources: dict[str, Any] = {kind.value: {} for kind in VolumeKind if kind is not VolumeKind.OTHER}
    sources["persistentVolumeClaim"] = {"claimName": "x"}
    pod = decode_pod(wire(volumes=[{"name": name, name: source} for name, source in sources.items()]))
    assert [volume.kind.value for volume in pod.volumes] == [*list(sources)[:-1], "other"]


def test_an_empty_dir_has_its_medium_and_limit() -> None:
    """A limit may be a bare number."""
    pod = decode_pod(wire(volumes=[{"name": "v", "emptyDir": {"medium": "Memory", "sizeLimit": 1024}}]))
    assert (pod.volumes[0].medium, str(pod.volumes[0].size_limit)) == ("Memory", "1024")


def test_owners_and_generation_are_kept() -> None:
    """Only the controlling owner."""
    metadata = {
        "uid": "u",
        "generation": 3,
        "deletionGracePeriodSeconds": 5,
        "ownerReferences": [{"kind": "Node", "name": "n"}, {"kind": "ReplicaSet", "name": "r", "controller": True}],
    }
    pod = decode_pod({"metadata": metadata})
    assert (pod.owner, pod.generation, pod.deletion_grace_period_seconds) == ("ReplicaSet/r", 3, 5)


@pytest.mark.parametrize("seconds", [2**31, 10**10, 2**63 - 1])
def test_a_grace_period_of_any_length_leaves_a_state_that_can_be_read(seconds: int) -> None:
    """A pod's author chooses it. Its deadline had more than 64 bits, and a restart forgot every timer and victim."""
    read = decode_pod(
        {"metadata": {"deletionGracePeriodSeconds": seconds}, "spec": {"terminationGracePeriodSeconds": seconds}}
    )
    assert read.termination_grace_period_seconds == LONGEST_GRACE_PERIOD_SECONDS
    assert read.deletion_grace_period_seconds == LONGEST_GRACE_PERIOD_SECONDS
    until = victim_until(LONGEST_GRACE_PERIOD_SECONDS, 10**18)  # after thirty years without a boot
    leaving = Victim(uid="u", grace_period_seconds=LONGEST_GRACE_PERIOD_SECONDS, until=until)
    state = State(leaving=(leaving,))
    assert decode_state(encode_state(state)) == state


def test_pod_level_resources_may_be_empty_or_absent() -> None:
    """The two differ."""
    assert decode_pod(wire(resources={})).resources is not None
    assert decode_pod(wire()).resources is None


@pytest.mark.parametrize(
    ("document", "path"),
    [
        (wire(containers=[{"name": 7}]), "containers"),
        (wire(priority="high"), "priority"),
        (wire(containers=[{"name": "c", "resources": {"requests": {"memory": "1GB"}}}]), "default/p"),
        ("{", "pod"),
        ("[]", "pod"),
    ],
)
def test_a_fault_is_named(document: Any, path: str) -> None:
    """One line with the path; a malformed quantity is an error."""
    with pytest.raises(InputError, match=path) as caught:
        decode_pod(document)
    assert "\n" not in str(caught.value)


def test_requests_of_any_size_are_summed_and_printed() -> None:
    """This sum had more digits than Python prints, and the eviction message of it ended the daemon."""
    texts = ("9" * 900 + "e4095", "1")
    pod = decode_pod(wire(containers=[{"name": t[-1], "resources": {"requests": {"memory": t}}} for t in texts]))
    total = Quantity(pod.resource_totals.memory_request, Format.BINARY_SI)
    assert parse_quantity("1Ei") < total
    assert len(str(total)) < 300
    assert decode_pod(json.dumps(encode_pod(pod))) == pod


def test_quantities_come_as_strings_numbers_and_null() -> None:
    """Blanks around them are trimmed; null is zero (apimachinery's `Quantity.UnmarshalJSON`)."""
    amounts: WireResources = {"memory": " 1Gi ", "cpu": 2, "ephemeral-storage": None}
    got = {name: str(quantity) for name, quantity in resources_of(amounts).items()}
    assert got == {"memory": "1Gi", "cpu": "2", "ephemeral-storage": "0"}
    assert resources_of(None) == {}


def test_a_malformed_quantity_is_an_error() -> None:
    with pytest.raises(InvalidValueError):
        quantity_of("1GB")


# --- requests and limits of pods that were resized in place ----------------------------------------------------------

MEMORY_AND_DISK = {"memory": "64Gi", "ephemeral-storage": "1Gi"}


@pytest.mark.parametrize(
    ("status", "request_", "limit"),
    [
        ({}, "64Gi", "64Gi"),
        ({"allocatedResources": {"memory": "1Gi"}}, "1Gi", "64Gi"),
        ({"allocatedResources": {"memory": "1Gi"}, "resources": {"limits": {"memory": "2Gi"}}}, "1Gi", "2Gi"),
        ({"resources": {"requests": {"memory": "1Gi"}}}, "1Gi", None),
        ({"resources": {}}, None, None),
        ({"allocatedResources": {"cpu": "1"}, "resources": {"requests": {"cpu": "1"}}}, None, None),
    ],
    ids=[
        "not reported",
        "requests only",
        "both",
        "without allocatedResources",
        "nothing allocated",
        "memory was added",
    ],
)
@pytest.mark.parametrize("init", [False, True], ids=["container", "sidecar"])
def test_the_requests_are_the_allocated_ones(
    status: dict[str, Any], request_: str | None, limit: str | None, *, init: bool
) -> None:
    """As the kubelet's `getAllocatedPods`; only memory and cpu can be resized (`updatePodFromAllocation`)."""
    resources = {"requests": MEMORY_AND_DISK, "limits": {"memory": "64Gi"}}
    container = {"name": "main", "resources": resources, "restartPolicy": "Always"}
    document = wire(**{"initContainers" if init else "containers": [container]})
    statuses = [{"name": "other", "allocatedResources": {"memory": "9Gi"}}, {"name": "main", **status}]
    document["status"] = {"initContainerStatuses" if init else "containerStatuses": statuses}
    pod = decode_pod(document)
    (found,) = pod.init_containers if init else pod.containers
    assert found.requests.get("memory") == (request_ and parse_quantity(request_))
    assert found.limits.get("memory") == (limit and parse_quantity(limit))
    assert found.requests["ephemeral-storage"] == parse_quantity("1Gi")
    assert found.asked == ({} if request_ == "64Gi" else {"memory": parse_quantity("64Gi")})
    assert decode_pod(encode_pod(pod)) == pod


def test_pod_level_requests_are_the_allocated_ones() -> None:
    """Recorded from kubelet 1.36.2: where a pod has none of its own, its status has the sum of its containers."""
    status = {
        "allocatedResources": {"cpu": "10m", "ephemeral-storage": "1Mi", "memory": "1Gi"},
        "resources": {"limits": {"memory": "2Gi"}, "requests": {"memory": "1Gi"}},
    }
    resized = {**wire(resources={"requests": {"memory": "64Gi"}, "limits": {"memory": "64Gi"}}), "status": status}
    level = decode_pod(resized).resources
    assert level is not None
    assert level.requests == {"memory": parse_quantity("1Gi")}
    assert level.limits == {"memory": parse_quantity("2Gi")}
    assert decode_pod({**wire(), "status": status}).resources is None
