"""Who we are to the API server, and how that is kept up to date.

In a pod: the service account's projected token, which the kubelet rewrites before it expires. On a node: a kubeconfig,
whose files (client certificate, key, token, authority) rotate as well. Nothing is refreshed by the clock: before each request
the files' identities are compared, and a 401 forces a fresh look, because a kubeconfig may point at files not named to us.
"""

import os
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kubernetes import config as kubeconfig
from kubernetes.client import Configuration

from evictd.errors import ApiUnavailableError, InputError

IN_CLUSTER = "in-cluster"
SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")

_Stamp = tuple[tuple[str, int, int, int], ...]


class Credentials:
    """Loads and reloads one credential. `source` is a kubeconfig's path, or `in-cluster`."""

    def __init__(
        self, source: str, *, environ: Mapping[str, str] | None = None, service_account: Path = SERVICE_ACCOUNT
    ) -> None:
        self._source = source
        self._environ = os.environ if environ is None else environ
        self._service_account = service_account
        self._lock = threading.Lock()
        self._stamp: _Stamp = ()
        self.generation = 0
        """Grows with each reload; a connection pool made from an older one is stale."""
        self._configuration: Any = None
        self.reload()

    @property
    def host(self) -> str:
        """The server's base URL."""
        return str(self._configuration.host).rstrip("/")

    @property
    def configuration(self) -> Any:
        """The `kubernetes` package's own form, for the transport alone."""
        return self._configuration

    def headers(self) -> dict[str, str]:
        """Give the Authorization header, where there is one; a client certificate needs none."""
        values = [entry["value"] for entry in self._configuration.auth_settings().values() if entry.get("value")]
        return {"Authorization": str(values[0])} if values else {}

    def refresh(self) -> None:
        """Reload if a file has changed since the last time; costs a few `stat` calls."""
        with self._lock:
            if _stamp(self._files()) == self._stamp:
                return
        self.reload()

    def reload(self) -> None:
        """Read everything again; raises `InputError` where nothing usable is found.

        While a file is being replaced the old credential stays in use.
        """
        with self._lock:
            try:
                fresh = self._load()
            except InputError:
                if self._configuration is None:
                    raise
                return
            self._configuration = fresh
            self._stamp = _stamp(self._files())
            self.generation += 1

    def _load(self) -> Any:
        configuration: Any = Configuration()
        try:
            if self._source == IN_CLUSTER:
                loader: Any = kubeconfig.incluster_config.InClusterConfigLoader(  # type: ignore[no-untyped-call]
                    token_filename=str(self._service_account / "token"),
                    cert_filename=str(self._service_account / "ca.crt"),
                    try_refresh_token=False,
                    environ=self._environ,
                )
                loader.load_and_set(configuration)
            else:
                load: Any = kubeconfig.load_kube_config
                load(config_file=self._source, client_configuration=configuration)
        except Exception as error:
            # The package lets through whatever its YAML parser and its credential plugins raise.
            raise InputError(f"cluster.kubeconfig: {self._source}: {error}") from error
        configuration.keep_alive = True  # a watch over a connection that is silently gone must end some time
        configuration.retries = False  # whether to try again is decided by the caller, who knows what it asked for
        return configuration

    def _files(self) -> tuple[str, ...]:
        if self._source == IN_CLUSTER:
            return (str(self._service_account / "token"), str(self._service_account / "ca.crt"))
        named = (self._configuration.ssl_ca_cert, self._configuration.cert_file, self._configuration.key_file)
        return (self._source, *(name for name in named if name))


def _stamp(files: tuple[str, ...]) -> _Stamp:
    """Tell whether files were replaced: their inode, size and time, symbolic links followed as the kubelet swaps those."""
    found = []
    for name in files:
        try:
            status = Path(name).stat()
        except OSError:
            continue
        found.append((name, status.st_ino, status.st_size, status.st_mtime_ns))
    return tuple(found)


def unauthorized(error: str) -> ApiUnavailableError:
    """Say that the server does not know us: a token may be rotated any moment, so it is worth trying again."""
    return ApiUnavailableError(f"the API server does not accept our credentials: {error}")
