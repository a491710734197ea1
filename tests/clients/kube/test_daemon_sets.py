"""The DaemonSet's deletion, which waits for its pods, and what a server says about one that is gone."""

import pytest

from evictd.clients.kube.daemon_sets import DaemonSetClient
from evictd.clients.kube.transport import Transport
from evictd.errors import ApiUnavailableError
from tests.kube.api_server import ApiServer


def test_it_is_deleted_after_its_pods(api: ApiServer, transport: Transport) -> None:
    meta = {"name": "evictd", "namespace": "evictd"}
    api.store.create("daemonsets", {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": meta})
    client = DaemonSetClient(transport, "evictd", "evictd")
    assert client.exists()
    client.delete()
    assert api.requests("delete daemonsets")[0].body["propagationPolicy"] == "Foreground"
    assert not client.exists()
    client.delete()  # gone already: no error


def test_another_servers_404_proves_nothing(api: ApiServer, transport: Transport) -> None:
    api.fault(resource="daemonsets", status=404, body=b"<html>")
    with pytest.raises(ApiUnavailableError):
        DaemonSetClient(transport, "evictd", "evictd").exists()
