"""Makes the calls of `runtime.v1.ImageService`.

A runtime removes any image on request, even the sandbox image or one in use; the caller decides which images may be removed.
"""

from evictd.clients.cri import api_pb2 as pb
from evictd.clients.cri import decode, values
from evictd.clients.cri.channel import Channel, Method
from evictd.clients.cri.runtime import absent_is_success

_SERVICE = "ImageService"
LIST_IMAGES = Method(_SERVICE, "ListImages", pb.ListImagesResponse)
IMAGE_STATUS = Method(_SERVICE, "ImageStatus", pb.ImageStatusResponse)
REMOVE_IMAGE = Method(_SERVICE, "RemoveImage", pb.RemoveImageResponse)
IMAGE_FS_INFO = Method(_SERVICE, "ImageFsInfo", pb.ImageFsInfoResponse)


class ImageCalls:
    """The calls about images; all raise the runtime errors of `evictd.errors`. Timeouts in seconds."""

    def __init__(self, channel: Channel, *, timeout_seconds: int, read_timeout_seconds: int) -> None:
        self._channel = channel
        self._timeout = timeout_seconds
        self._read_timeout = read_timeout_seconds

    def list_images(self) -> tuple[values.CriImage, ...]:
        """List all images."""
        answer = self._channel.call(LIST_IMAGES, pb.ListImagesRequest(), timeout=self._read_timeout)
        return decode.images(answer)

    def image_status(self, reference: str) -> values.CriImage | None:
        """Return one image by id, tag or digest; `None` if the runtime does not have it."""
        request = pb.ImageStatusRequest(image=pb.ImageSpec(image=reference))
        answer = self._channel.call(IMAGE_STATUS, request, timeout=self._read_timeout, target=reference)
        return decode.image_status(answer)

    def image_fs_info(self) -> values.ImageFsInfo:
        """Return the usage of the filesystems of images and writable layers, up to `stats_collect_period` old in containerd."""
        answer = self._channel.call(IMAGE_FS_INFO, pb.ImageFsInfoRequest(), timeout=self._read_timeout)
        return decode.image_fs_info(answer)

    def remove_image(self, reference: str) -> None:
        """Remove an image with all its tags; its space is free on return. Succeeds if the image does not exist."""
        request = pb.RemoveImageRequest(image=pb.ImageSpec(image=reference))
        absent_is_success(lambda: self._channel.call(REMOVE_IMAGE, request, timeout=self._timeout, target=reference))
