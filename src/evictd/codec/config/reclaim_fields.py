"""Declares what may be freed before a pod is evicted (`reclaim`)."""

from typing import Annotated

import msgspec

from evictd.codec.config.fields import about
from evictd.core.model.config import ImageReclaim


class ReclaimFields(msgspec.Struct, kw_only=True, frozen=True, rename="camel"):
    """What may be freed before a pod is evicted."""

    containers: Annotated[bool, about("Delete dead containers.", sets="reclaim_containers", live=True)] = True
    images: Annotated[
        ImageReclaim,
        about(
            "Delete all unused images, as many as needed, or none (Off: for images that cannot be pulled again).",
            sets="reclaim_images",
            live=True,
        ),
    ] = ImageReclaim.ALL
    keep_images: Annotated[
        tuple[str, ...],
        about(
            "Patterns (`*`, `?`, `[...]`) of tags and digests; matching images are never deleted.", sets="image_gc.keep"
        ),
    ] = ()
    rotated_logs: Annotated[
        bool,
        about(
            "Delete the rotated logs of running containers before a pod is evicted for nodefs, never the log that is written "
            "(policy Standard). Where it is off, a finding says how much that would have freed.",
            sets="reclaim_rotated_logs",
            live=True,
        ),
    ] = False
    page_cache: Annotated[
        bool,
        about(
            "Have the kernel drop clean file pages of pods before one is evicted for a soft threshold on memory.available, once "
            "in ten minutes at most (policy Standard, cgroup v2). Where it is off, a finding says what that could have freed.",
            sets="reclaim_page_cache",
            live=True,
        ),
    ] = False
