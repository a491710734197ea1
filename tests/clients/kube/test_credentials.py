"""Service account and kubeconfig, and reloads after changes of their files."""

import base64
from pathlib import Path

import pytest

from evictd.clients.kube.credentials import Credentials
from evictd.clients.kube.service_account import IN_CLUSTER
from evictd.clients.kube.transport import Transport
from evictd.errors import ApiUnavailableError, InputError
from tests.kube.api_server import ApiServer

NODE = "/api/v1/nodes/n1"


def in_cluster(api: ApiServer, folder: Path, token: str) -> Credentials:
    """A service account's folder as the kubelet projects it: a link to the current version."""
    project(folder, "1", token, api.authority.cert.read_text())
    environ = {"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": str(api.port)}
    return Credentials(IN_CLUSTER, environ=environ, service_account=folder)


def project(folder: Path, version: str, token: str, ca: str) -> None:
    """Write the next version of a service account's folder, and switch the link to it."""
    data = folder / version
    data.mkdir(parents=True)
    (data / "token").write_text(token)
    (data / "ca.crt").write_text(ca)
    link = folder / f"..data-{version}"
    link.symlink_to(version)
    link.rename(folder / "..data")
    for name in ("token", "ca.crt"):
        if not (folder / name).is_symlink():
            (folder / name).symlink_to(f"..data/{name}")


def test_the_service_account_token_is_read_again_when_it_rotates(api: ApiServer, tmp_path: Path) -> None:
    """The kubelet swaps a link; the next request already carries the new token."""
    api.tokens = {"old": "system:serviceaccount:evictd:evictd"}
    folder = tmp_path / "sa"
    transport = Transport(in_cluster(api, folder, "old"))
    assert transport.request("GET", NODE).status == 200
    api.tokens = {"new": "system:serviceaccount:evictd:evictd"}
    project(folder, "2", "new", api.authority.cert.read_text())
    assert transport.request("GET", NODE).status == 200
    assert [line.status for line in api.requests("get nodes")] == [200, 200]
    transport.close()


def test_an_expired_token_is_an_outage_until_there_is_a_new_one(api: ApiServer, tmp_path: Path) -> None:
    """401 is worth trying again; nothing is given up."""
    folder = tmp_path / "sa"
    transport = Transport(in_cluster(api, folder, "token-1"))
    api.tokens.clear()
    with pytest.raises(ApiUnavailableError, match="rejects evictd's credentials"):
        transport.request("GET", NODE)
    api.tokens["fresh"] = "someone"
    project(folder, "2", "fresh", api.authority.cert.read_text())
    assert transport.request("GET", NODE).status == 200
    transport.close()


def test_a_token_file_of_a_kubeconfig_is_read_again_after_401(api: ApiServer, tmp_path: Path) -> None:
    """The kubeconfig itself did not change, but the server no longer knows its token."""
    (tmp_path / "token").write_text("token-1")
    transport = Transport(Credentials(str(api.kubeconfig({"tokenFile": str(tmp_path / "token")}))))
    assert transport.request("GET", NODE).status == 200
    api.tokens = {"token-2": "admin"}
    (tmp_path / "token").write_text("token-2")
    assert transport.request("GET", NODE).status == 200
    transport.close()


def test_a_client_certificate_is_used_and_replaced(api: ApiServer, tmp_path: Path) -> None:
    """A node's own kubeconfig: certificate and key in files, swapped by the kubelet."""
    first, second = api.authority.issue("system:node:n1"), api.authority.issue("system:node:n1-renewed")
    current = tmp_path / "current.pem"
    current.write_bytes(first.cert.read_bytes() + first.key.read_bytes())
    user = {"client-certificate": str(current), "client-key": str(current)}
    transport = Transport(Credentials(str(api.kubeconfig(user))))
    transport.request("GET", NODE)
    renewed = tmp_path / "next.pem"
    renewed.write_bytes(second.cert.read_bytes() + second.key.read_bytes())
    renewed.rename(current)
    transport.request("GET", NODE)
    assert [line.attributes.user for line in api.requests("get nodes")] == ["system:node:n1", "system:node:n1-renewed"]
    transport.close()


def test_inline_data_and_an_unknown_authority(api: ApiServer, tmp_path: Path) -> None:
    """Data inside the kubeconfig works; a server of another authority is not spoken to."""
    pair = api.authority.issue("inline")
    user = {
        "client-certificate-data": base64.b64encode(pair.cert.read_bytes()).decode(),
        "client-key-data": base64.b64encode(pair.key.read_bytes()).decode(),
    }
    transport = Transport(Credentials(str(api.kubeconfig(user))))
    assert transport.request("GET", NODE).status == 200
    transport.close()
    (tmp_path / "other").mkdir()
    from tests.kube.certs import Authority

    api.authority = Authority(tmp_path / "other")
    stranger = Transport(Credentials(str(api.kubeconfig({"token": "token-1"}, name="stranger"))))
    with pytest.raises(ApiUnavailableError, match=r"(?i)certificate"):
        stranger.request("GET", NODE)
    stranger.close()


@pytest.mark.parametrize("content", ["", "{", "a: [", "kind: Config\nclusters: []\n"])
def test_an_invalid_kubeconfig_is_one_clear_error(tmp_path: Path, content: str) -> None:
    """The path and the reason, no traceback of a foreign library."""
    path = tmp_path / "broken"
    path.write_text(content)
    with pytest.raises(InputError, match=r"cluster\.kubeconfig: .*broken"):
        Credentials(str(path))


def test_a_missing_file_is_one_clear_error(tmp_path: Path) -> None:
    """Also a service account that is not mounted."""
    with pytest.raises(InputError) as caught:
        Credentials(str(tmp_path / "no-such"))
    assert str(caught.value) == f"cluster.kubeconfig: {tmp_path}/no-such: there is no such file"
    with pytest.raises(InputError, match="is a directory"):
        Credentials(str(tmp_path))
    with pytest.raises(InputError, match="in-cluster"):
        Credentials(IN_CLUSTER, environ={}, service_account=tmp_path)
