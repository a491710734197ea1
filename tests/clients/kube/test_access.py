"""A service account is read without the `kubernetes` package, and behind a proxy with it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from evictd.clients.kube import access
from evictd.clients.kube.access import load_access
from evictd.clients.kube.service_account import IN_CLUSTER

ENVIRON = {"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": "6443"}
VERSION = "client.authentication.k8s.io/v1"


@pytest.fixture
def account(tmp_path: Path) -> Path:
    (tmp_path / "token").write_text("t0ken\n")
    (tmp_path / "ca.crt").write_text("-----BEGIN CERTIFICATE-----\n")
    return tmp_path


def test_a_service_account_is_its_files_and_the_servers_variables(account: Path) -> None:
    found = load_access(IN_CLUSTER, ENVIRON, account)
    assert (found.host, found.headers()) == ("https://127.0.0.1:6443", {"Authorization": "Bearer t0ken"})
    assert found.files == (str(account / "token"), str(account / "ca.crt"))


def test_an_ipv6_address_is_bracketed(account: Path) -> None:
    found = load_access(IN_CLUSTER, {**ENVIRON, "KUBERNETES_SERVICE_HOST": "::1"}, account)
    assert found.host == "https://[::1]:6443"


@pytest.mark.parametrize("variable", ENVIRON)
def test_a_missing_variable_is_an_error(account: Path, variable: str) -> None:
    with pytest.raises(ValueError, match="KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT"):
        load_access(IN_CLUSTER, {**ENVIRON, variable: ""}, account)


@pytest.mark.parametrize("name", ["token", "ca.crt"])
def test_an_empty_file_is_an_error(account: Path, name: str) -> None:
    (account / name).write_text("")
    with pytest.raises(ValueError, match="an empty file"):
        load_access(IN_CLUSTER, ENVIRON, account)


def test_a_proxy_of_the_environment_is_the_packages_to_understand(
    account: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its NO_PROXY knows networks, which urllib3 does not."""
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:3128")
    monkeypatch.setenv("NO_PROXY", "")
    found = load_access(IN_CLUSTER, {**ENVIRON, "HTTPS_PROXY": "http://127.0.0.1:3128"}, account)
    assert found.headers()["Authorization"].split() == ["bearer", "t0ken"]
    assert found.make_pool().proxy.host == "127.0.0.1"
    monkeypatch.setenv("NO_PROXY", "127.0.0.0/8")
    assert load_access(IN_CLUSTER, {**ENVIRON, "HTTPS_PROXY": "x"}, account).make_pool().proxy is None


def test_the_package_is_not_imported_for_a_service_account(account: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from evictd.clients.kube.access import load_access\n"
        f"load_access('in-cluster', {ENVIRON!r}, Path({str(account)!r}))\n"
        "print('kubernetes' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_a_credential_plugin_that_hangs_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is first run before the daemon's first cycle: while it hung, no pod was evicted."""
    credential = {"apiVersion": VERSION, "kind": "ExecCredential", "status": {"token": "late"}}
    script = f"#!/bin/sh\necho $$ >{tmp_path}/pid\nsleep 600\necho '{json.dumps(credential)}'\n"
    (tmp_path / "plugin").write_text(script)
    (tmp_path / "plugin").chmod(0o700)
    plugin = {"apiVersion": VERSION, "command": "./plugin"}
    kubeconfig = {
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
        "clusters": [{"name": "k", "cluster": {"server": "https://127.0.0.1:6443"}}],
        "users": [{"name": "u", "user": {"exec": plugin}}],
    }
    (tmp_path / "kubeconfig").write_text(json.dumps(kubeconfig))
    (tmp_path / "pid").touch()
    for seconds in (1, 10, 60):  # on a busy machine the plugin may be ended before its first line
        monkeypatch.setattr(access, "PLUGIN_SECONDS", seconds)
        assert load_access(str(tmp_path / "kubeconfig"), {}, tmp_path).headers() == {}
        if (tmp_path / "pid").read_text():
            break
    pid = (tmp_path / "pid").read_text().strip()
    assert pid
    assert not Path("/proc", pid).exists(), "it was ended, not left behind"
