"""Which calls of `runtime.v1.ImageService` evictd makes.

A runtime removes an image that is in use, and even the sandbox image, when it is asked to: what may go is decided by
the caller.
"""

from cri_api.v1 import api_pb2 as pb

from evictd.clients.cri import decode, values
from evictd.clients.cri.channel import Channel, Method
from evictd.clients.cri.runtime import absent_is_success

_SERVICE = "ImageService"
LIST_IMAGES = Method(_SERVICE, "ListImages", pb.ListImagesResponse)
IMAGE_STATUS = Method(_SERVICE, "ImageStatus", pb.ImageStatusResponse)
REMOVE_IMAGE = Method(_SERVICE, "RemoveImage", pb.RemoveImageResponse)
IMAGE_FS_INFO = Method(_SERVICE, "ImageFsInfo", pb.ImageFsInfoResponse)


class ImageCalls:
    """The calls about images; all raise the runtime errors of `evictd.errors`."""

    def __init__(self, channel: Channel, *, timeout_seconds: int, read_timeout_seconds: int) -> None:
        self._channel = channel
        self._timeout = timeout_seconds
        self._read_timeout = read_timeout_seconds

    def list_images(self) -> tuple[values.Image, ...]:
        """All images."""
        answer = self._channel.call(LIST_IMAGES, pb.ListImagesRequest(), timeout=self._read_timeout)
        return decode.images(answer)

    def image_status(self, reference: str) -> values.Image | None:
        """One image by id, tag or digest; `None` when it is not there."""
        request = pb.ImageStatusRequest(image=pb.ImageSpec(image=reference))
        answer = self._channel.call(IMAGE_STATUS, request, timeout=self._read_timeout, target=reference)
        return decode.image_status(answer)

    def image_fs_info(self) -> values.ImageFsInfo:
        """Where images and writable layers live; containerd's numbers are as old as its `stats_collect_period`."""
        answer = self._channel.call(IMAGE_FS_INFO, pb.ImageFsInfoRequest(), timeout=self._read_timeout)
        return decode.image_fs_info(answer)

    def remove_image(self, reference: str) -> None:
        """Remove an image with all its tags; its space is back on return."""
        request = pb.RemoveImageRequest(image=pb.ImageSpec(image=reference))
        absent_is_success(lambda: self._channel.call(REMOVE_IMAGE, request, timeout=self._timeout, target=reference))
