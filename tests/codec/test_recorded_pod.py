"""What a history reads of a pod in a journal line."""

import msgspec
import pytest

from evictd.codec.records.recorded_pod import RecordedPod


@pytest.mark.parametrize(
    ("spec", "requested"),
    [
        ("{}", 0),
        ('{"containers":[{"resources":{"requests":{"memory":"1Ki"}}},{"resources":{}},{}]}', 1024),
        ('{"initContainers":[{"restartPolicy":"Always","resources":{"requests":{"memory":"1Ki"}}}]}', 1024),
        ('{"initContainers":[{"resources":{"requests":{"memory":"1Ki"}}}]}', 0),
        (
            '{"containers":[{"resources":{"requests":{"memory":"1Ki"}}}],"resources":{"requests":{"memory":"2Ki"}}}',
            2048,
        ),
        ('{"overhead":{"memory":"1Ki"}}', 1024),
        ('{"containers":[{"resources":{"requests":{"memory":"damaged"}}}]}', 0),
    ],
    ids=["none", "a container", "a sidecar", "an init container", "of the pod", "overhead", "damaged"],
)
def test_the_memory_request_of_a_pod_is_read(spec: str, requested: int) -> None:
    assert msgspec.json.decode(f'{{"spec":{spec}}}', type=RecordedPod).spec.memory_request == requested


def test_the_controlling_owner_and_a_host_path_are_read() -> None:
    owners = '[{"kind":"Job","name":"other"},{"kind":"ReplicaSet","name":"web","controller":true}]'
    metadata = f'{{"name":"web-1","namespace":"shop","uid":"u","ownerReferences":{owners}}}'
    line = f'{{"metadata":{metadata},"spec":{{"volumes":[{{"emptyDir":{{}}}},{{"hostPath":{{"path":"/"}}}}]}}}}'
    found = msgspec.json.decode(line, type=RecordedPod)
    assert (found.full_name, found.owner, found.has_host_path) == ("shop/web-1", "ReplicaSet/web", True)
    assert (RecordedPod().owner, RecordedPod().has_host_path) == ("", False)
