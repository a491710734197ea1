"""Credentials on the real server: what it makes of a revoked token and of a certificate that is replaced."""

from pathlib import Path

import pytest

from evictd.clients.kube.credentials import Credentials
from evictd.clients.kube.service_account import IN_CLUSTER
from evictd.clients.kube.transport import Transport
from evictd.errors import ApiRefusedError, ApiUnavailableError
from tests.clients.kube.test_credentials import project
from tests.cluster import objects
from tests.cluster.control_plane import ControlPlane
from tests.kube.waiting import eventually

pytestmark = pytest.mark.cluster

CACHED_SECONDS = 60
"""The server goes on with a token that it has seen for 10 s."""


def refused(transport: Transport) -> str:
    """The server's words to a user without any right, whom it names."""
    with pytest.raises(ApiRefusedError) as caught:
        transport.request("GET", f"{objects.NODES}/n1")
    assert caught.value.status == 403
    return str(caught.value)


def test_a_token_of_a_deleted_pod_is_an_outage_until_the_kubelet_has_written_another(
    control_plane: ControlPlane, tmp_path: Path
) -> None:
    """As in the DaemonSet: a token bound to its pod, in a folder of links."""
    admin, ca = control_plane.admin, control_plane.authority.cert.read_text()
    environ = {"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": str(control_plane.port)}

    def token(pod: str) -> str:
        return control_plane.service_account_token("default", "default", admin.must("GET", f"{objects.PODS}/{pod}"))

    def rejected() -> bool:
        try:
            return not refused(transport)
        except ApiUnavailableError as error:
            return "rejects evictd's credentials" in str(error)

    with (
        objects.created(admin, objects.service_account("default", "default")),
        objects.node(admin),
        objects.created(admin, objects.pod("second", "n1")),
    ):
        with objects.created(admin, objects.pod("first", "n1")):
            project(tmp_path, "1", token("first"), ca)
            transport = Transport(Credentials(IN_CLUSTER, environ=environ, service_account=tmp_path))
            assert "system:serviceaccount:default:default" in refused(transport)
        try:
            eventually(rejected, CACHED_SECONDS)
            project(tmp_path, "2", token("second"), ca)
            assert "system:serviceaccount:default:default" in refused(transport)
        finally:
            transport.close()


def test_a_client_certificate_is_used_and_replaced(control_plane: ControlPlane, tmp_path: Path) -> None:
    """The next request is the new one's."""
    current = tmp_path / "current.pem"
    user = {"client-certificate": str(current), "client-key": str(current)}

    def renew(name: str) -> None:
        pair = control_plane.authority.issue(name)
        renewed = tmp_path / "next.pem"
        renewed.write_bytes(pair.cert.read_bytes() + pair.key.read_bytes())
        renewed.rename(current)

    renew("a-node")
    transport = Transport(Credentials(str(control_plane.kubeconfig_with(user, "certificate.kubeconfig"))))
    try:
        assert '"a-node"' in refused(transport)
        renew("a-node-renewed")
        assert '"a-node-renewed"' in refused(transport)
    finally:
        transport.close()
