"""Reads which images are in use by other than the containers created from them, for image garbage collection.

The runtime needs the image of its sandboxes, and a container may have images mounted as volumes. Neither is in a listing: the
first is in the verbose status of the runtime (containerd) and of a sandbox, the second in a container's status.
"""

import json
from collections.abc import Mapping
from typing import Any

from cri_api.v1 import api_pb2 as pb

from evictd.clients.cri.channel import Channel, Method
from evictd.clients.cri.runtime import CONTAINER_STATUS, SANDBOX_STATUS

STATUS = Method("RuntimeService", "Status", pb.StatusResponse)


class ImageUse:
    """Calls one runtime on a separate connection; all methods raise the runtime errors of `evictd.errors`."""

    def __init__(self, endpoint: str, *, timeout_seconds: int = 10) -> None:
        self._channel = Channel(endpoint)
        self._timeout = timeout_seconds

    def close(self) -> None:
        """Close the connection."""
        self._channel.close()

    def sandbox_image(self) -> str:
        """Return the name of the image of new sandboxes; empty if the runtime does not report it."""
        answer = self._channel.call(STATUS, pb.StatusRequest(verbose=True), timeout=self._timeout)
        return _text(answer.info, "config", "sandboxImage")

    def image_of_sandbox(self, sandbox_id: str) -> str:
        """Return the name of a sandbox's image; empty if the runtime does not report it."""
        request = pb.PodSandboxStatusRequest(pod_sandbox_id=sandbox_id, verbose=True)
        answer = self._channel.call(SANDBOX_STATUS, request, timeout=self._timeout, target=sandbox_id)
        return _text(answer.info, "info", "image")

    def mounted_images(self, container_id: str) -> frozenset[str]:
        """Return the images, by name or id, that a container has mounted as volumes."""
        request = pb.ContainerStatusRequest(container_id=container_id)
        answer = self._channel.call(CONTAINER_STATUS, request, timeout=self._timeout, target=container_id)
        return frozenset(mount.image.image for mount in answer.status.mounts if mount.image.image)


def _text(info: Mapping[str, str], entry: str, key: str) -> str:
    """Return one string of a verbose response, which is JSON in the runtime's own format; empty if it has another form."""
    try:
        found: Any = json.loads(info.get(entry, "{}"))
    except (ValueError, RecursionError):
        return ""
    value = found.get(key) if isinstance(found, dict) else None
    return value if isinstance(value, str) else ""
