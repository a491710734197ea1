"""Loads the credential for the API server, and reloads it when its files change.

In a pod it is the service account's projected token, which the kubelet replaces before it expires. On a node it is a kubeconfig,
whose files (client certificate, key, token, CA) are rotated too. Reloading does not depend on time: before each request the
identities of the files are compared. A 401 forces a reload, because a kubeconfig may refer to further files (exec plugins).
"""

import os
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from evictd.clients.kube.access import Access, load_access
from evictd.clients.kube.service_account import IN_CLUSTER, SERVICE_ACCOUNT
from evictd.errors import InputError, file_fault


class Credentials:
    """Holds one credential. `source` is the path of a kubeconfig or `in-cluster`. Raises `InputError` if it is unusable."""

    def __init__(
        self, source: str, *, environ: Mapping[str, str] | None = None, service_account: Path = SERVICE_ACCOUNT
    ) -> None:
        self._source = source
        self._environ = os.environ if environ is None else environ
        self._service_account = service_account
        self._lock = threading.Lock()
        self.generation = 0
        """Incremented by each reload; a connection pool of an older generation must be replaced."""
        self.access = self._load()
        """The credential as last loaded."""
        self._stamp = _stamp(self.access.files)

    def refresh(self) -> None:
        """Reload if a file has changed since the last reload; costs a few `stat` calls."""
        with self._lock:
            if _stamp(self.access.files) == self._stamp:
                return
        self.reload()

    def reload(self) -> None:
        """Load the credential again. If that fails, as while files are being replaced, the old one stays in use."""
        with self._lock, suppress(InputError):
            self.access = self._load()
            self._stamp = _stamp(self.access.files)
            self.generation += 1

    def _load(self) -> Access:
        try:
            if self._source != IN_CLUSTER:
                os.close(os.open(self._source, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC))
            return load_access(self._source, self._environ, self._service_account)
        except OSError as error:  # the `kubernetes` package says of a missing file: Invalid kube-config file
            where = self._source if error.filename is None else error.filename
            of = "" if where == self._source else f"{self._source}: "
            raise InputError(f"cluster.kubeconfig: {of}{where}: {file_fault(error)}") from error
        except Exception as error:
            # The `kubernetes` package does not map the exceptions of its YAML parser and of credential plugins.
            raise InputError(f"cluster.kubeconfig: {self._source}: {error}") from error


def _stamp(files: tuple[str, ...]) -> tuple[tuple[str, int, int, int], ...]:
    """Return name, inode, size and time of the existing files; symlinks are followed, as the kubelet replaces those."""
    found = []
    for name in files:
        try:
            status = Path(name).stat()
        except OSError:
            continue
        found.append((name, status.st_ino, status.st_size, status.st_mtime_ns))
    return tuple(found)
