"""Undeclared fields are skipped."""

import msgspec

from evictd.codec.pods.pod_wire import WirePod


def test_unknown_fields_are_skipped() -> None:
    """Most of a pod's fields play no part in eviction."""
    data = b'{"metadata": {"uid": "u", "managedFields": [{"x": {}}]}, "spec": {"dnsPolicy": "Default"}, "kind": "Pod"}'
    assert msgspec.json.decode(data, type=WirePod).metadata.uid == "u"


def test_null_is_absent() -> None:
    """Kubernetes writes null for empty lists."""
    pod = msgspec.json.decode(b'{"spec": {"containers": null, "volumes": null}}', type=WirePod)
    assert pod.spec.containers is None
