"""Loads one credential for the API server: the server's URL, the Authorization header and the connection pool.

In a pod the service account's files are read here. A kubeconfig is read by the `kubernetes` package, and so is a service account
where a proxy is configured by environment variables. That package costs 20 MiB and a second of a slow processor, so it is
imported only then.
"""

import shutil
import socket
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import urllib3
from urllib3.connection import HTTPConnection

from evictd.clients.kube.service_account import IN_CLUSTER, service_account_files
from evictd.core.frozen import frozen

_IDLE_CONNECTIONS = 4
"""Kept per pool: the request queue's, the evictor's and the watch's, and one to spare."""
PLUGIN_SECONDS = 10
"""The time that a credential plugin (`exec` of a kubeconfig) may take; then it has failed."""
_PROXY_VARIABLES = ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy")
_KEEPALIVE = (
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 30),
    (socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 15),
    (socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 9),
)
"""The values of client-go: a watch on a connection that was dropped silently must end."""


@frozen
class Access:
    """One loaded credential. `files` are the files whose replacement makes it stale."""

    host: str
    headers: Callable[[], Mapping[str, str]]
    """Returns the Authorization header; empty with a client certificate."""
    files: tuple[str, ...]
    make_pool: Callable[[], Any]
    """Makes a `urllib3.PoolManager`."""


def load_access(source: str, environ: Mapping[str, str], service_account: Path) -> Access:
    """Load a kubeconfig, or `in-cluster`; raises whatever the files and the `kubernetes` package raise."""
    if source != IN_CLUSTER:
        return _from_kubeconfig(source)
    if any(environ.get(name) for name in _PROXY_VARIABLES):
        return _from_service_account_behind_proxy(environ, service_account)
    return _from_service_account(environ, service_account)


def _from_service_account(environ: Mapping[str, str], folder: Path) -> Access:
    host, port = environ.get("KUBERNETES_SERVICE_HOST"), environ.get("KUBERNETES_SERVICE_PORT")
    if not host or not port:
        raise ValueError("KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set")
    files = service_account_files(folder)
    token, authority = (Path(name).read_text(encoding="utf-8").strip() for name in files)
    if not token or not authority:
        raise ValueError(f"an empty file in {folder}")
    header = {"Authorization": f"Bearer {token}"}

    def make_pool() -> urllib3.PoolManager:
        return urllib3.PoolManager(
            cert_reqs="CERT_REQUIRED",
            ca_cert_data=authority,
            maxsize=_IDLE_CONNECTIONS,
            socket_options=[*HTTPConnection.default_socket_options, *_KEEPALIVE],
        )

    bracketed = f"[{host}]" if ":" in host else host
    return Access(host=f"https://{bracketed}:{port}", headers=lambda: header, files=files, make_pool=make_pool)


def _from_service_account_behind_proxy(environ: Mapping[str, str], folder: Path) -> Access:
    from kubernetes import client, config  # noqa: PLC0415 - the module's docstring says why

    configuration: Any = client.Configuration()
    token, authority = service_account_files(folder)
    loader: Any = config.incluster_config.InClusterConfigLoader(  # type: ignore[no-untyped-call]
        token_filename=token, cert_filename=authority, try_refresh_token=False, environ=environ
    )
    loader.load_and_set(configuration)
    return _of_configuration(configuration, (token, authority))


def _from_kubeconfig(path: str) -> Access:
    from kubernetes import client, config  # noqa: PLC0415
    from kubernetes.config import exec_provider, kube_config  # noqa: PLC0415

    package: Any = kube_config
    plugin: Any = exec_provider.ExecProvider
    package.ExecProvider = lambda *given: _bounded(plugin(*given))
    configuration: Any = client.Configuration()
    load: Any = config.load_kube_config
    load(config_file=path, client_configuration=configuration)
    named = (configuration.ssl_ca_cert, configuration.cert_file, configuration.key_file)
    return _of_configuration(configuration, (path, *(name for name in named if name)))


def _bounded(plugin: Any) -> Any:
    """Let a credential plugin be ended after its time, which the package does not: it is run before the daemon's first cycle.

    Not at a terminal, where it may ask its user.
    """
    if not sys.stdout.isatty() and shutil.which("timeout") is not None:
        plugin.args = ["timeout", "-k", "1", str(PLUGIN_SECONDS), *plugin.args]
    return plugin


def _of_configuration(configuration: Any, files: tuple[str, ...]) -> Access:
    from kubernetes.client.rest import RESTClientObject  # noqa: PLC0415

    configuration.keep_alive = True
    configuration.retries = False  # the callers decide on retries: not every request may be repeated

    def headers() -> Mapping[str, str]:
        # Not a constant: a credential plugin's token is refreshed by this call.
        values = [entry["value"] for entry in configuration.auth_settings().values() if entry.get("value")]
        return {"Authorization": str(values[0])} if values else {}

    def make_pool() -> Any:
        return RESTClientObject(configuration).pool_manager

    return Access(host=str(configuration.host).rstrip("/"), headers=headers, files=files, make_pool=make_pool)
