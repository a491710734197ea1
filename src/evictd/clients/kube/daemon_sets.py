"""Deletes a DaemonSet and reports when its pods have ended, for the removal of evictd."""

from urllib.parse import quote

from evictd.clients.kube.transport import Transport


class DaemonSetClient:
    """Deletes one DaemonSet. Methods raise `ApiUnavailableError` and `ApiRefusedError`."""

    def __init__(self, transport: Transport, namespace: str, name: str) -> None:
        self._transport = transport
        self._path = f"/apis/apps/v1/namespaces/{quote(namespace, safe='')}/daemonsets/{quote(name, safe='')}"

    def delete(self) -> None:
        """Delete it after its pods: the object is gone when they have ended. One that does not exist is no error."""
        body = {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Foreground"}
        reply = self._transport.request("DELETE", self._path, body=body, accept=frozenset({404}))
        reply.absent("DaemonSet")  # raises for a 404 that is not the API server's

    def exists(self) -> bool:
        """Return whether the object exists."""
        return not self._transport.request("GET", self._path, accept=frozenset({404})).absent("DaemonSet")
