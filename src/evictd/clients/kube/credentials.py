"""Loads the credential for the API server, and reloads it when its files change.

In a pod it is the service account's projected token, which the kubelet replaces before it expires. On a node it is a kubeconfig,
whose files (client certificate, key, token, CA) are rotated too. Reloading does not depend on time: before each request the
identities of the files are compared. A 401 forces a reload, because a kubeconfig may refer to further files (exec plugins).
"""

import os
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evictd.clients.kube.access import IN_CLUSTER, Access, load_access, service_account_files
from evictd.errors import InputError

__all__ = ["IN_CLUSTER", "SERVICE_ACCOUNT", "Credentials"]

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")

_Stamp = tuple[tuple[str, int, int, int], ...]


class Credentials:
    """Holds one credential. `source` is the path of a kubeconfig or `in-cluster`. Raises `InputError` if it is unusable."""

    def __init__(
        self, source: str, *, environ: Mapping[str, str] | None = None, service_account: Path = SERVICE_ACCOUNT
    ) -> None:
        self._source = source
        self._environ = os.environ if environ is None else environ
        self._service_account = service_account
        self._lock = threading.Lock()
        self._stamp: _Stamp = ()
        self.generation = 0
        """Incremented by each reload; a connection pool of an older generation must be replaced."""
        self._access: Access | None = None
        self.reload()

    @property
    def host(self) -> str:
        """The server's base URL."""
        return self._loaded.host

    def make_pool(self) -> Any:
        """Make a `urllib3.PoolManager` for the server."""
        return self._loaded.make_pool()

    def headers(self) -> Mapping[str, str]:
        """Return the Authorization header; empty with a client certificate."""
        return self._loaded.headers()

    @property
    def _loaded(self) -> Access:
        if self._access is None:
            raise InputError(f"cluster.kubeconfig: {self._source}: not loaded")
        return self._access

    def refresh(self) -> None:
        """Reload if a file has changed since the last reload; costs a few `stat` calls."""
        with self._lock:
            if _stamp(self._files()) == self._stamp:
                return
        self.reload()

    def reload(self) -> None:
        """Load the credential again. If that fails, as while files are being replaced, the old one stays in use.

        Raises `InputError` if there is no old one.
        """
        with self._lock:
            try:
                fresh = self._load()
            except InputError:
                if self._access is None:
                    raise
                return
            self._access = fresh
            self._stamp = _stamp(self._files())
            self.generation += 1

    def _load(self) -> Access:
        try:
            return load_access(self._source, self._environ, self._service_account)
        except Exception as error:
            # The `kubernetes` package does not map the exceptions of its YAML parser and of credential plugins.
            raise InputError(f"cluster.kubeconfig: {self._source}: {error}") from error

    def _files(self) -> tuple[str, ...]:
        if self._access is not None:
            return self._access.files
        return service_account_files(self._service_account) if self._source == IN_CLUSTER else (self._source,)


def _stamp(files: tuple[str, ...]) -> _Stamp:
    """Return name, inode, size and time of the existing files; symlinks are followed, as the kubelet replaces those."""
    found = []
    for name in files:
        try:
            status = Path(name).stat()
        except OSError:
            continue
        found.append((name, status.st_ino, status.st_size, status.st_mtime_ns))
    return tuple(found)
