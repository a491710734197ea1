"""Removes unused images, and finds which images are in use.

Performs the selections of `core.gc.image_gc`. A runtime removes an image that is in use, and even the image of sandboxes, so the
images in use are determined here first: those from which any container, running or not, was created, and those mounted into
containers as volumes. A container's mounts never change and are read once.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace

from evictd.clients.cri import values
from evictd.clients.cri.client import CriClient
from evictd.core.gc import image_gc
from evictd.core.gc.image_gc import Candidate, Image, ImageListing, ImageRecord, Sweep
from evictd.core.model.config import ImageGCPolicy, Policy
from evictd.core.model.decision import RecordEvent
from evictd.core.model.observation import Reclaim, ReclaimOutcome
from evictd.core.model.stats import FsStats
from evictd.errors import EvictdError, RuntimeNotFoundError, RuntimeRefusedError, RuntimeUnavailableError

ReadImageFs = Callable[[], FsStats | None]
"""Reads the current statistics of the filesystem that holds the images; `None` if it cannot be read."""


class ImageCollector:
    """Keeps the records of one runtime's images and removes images; blocking.

    `image_client` is the client of `imageServiceEndpoint` if that differs from the runtime's. `records` are those of previous
    runs on the same boot; `running_since` is the start of the first run, on the same clock as every `now`.
    """

    def __init__(
        self,
        client: CriClient,
        policy: ImageGCPolicy,
        *,
        image_fs: ReadImageFs,
        running_since: int,
        decision_policy: Policy = Policy.STANDARD,
        records: Mapping[str, ImageRecord] | None = None,
        image_client: CriClient | None = None,
    ) -> None:
        self._client = client
        self._image_client = image_client or client
        self.policy = policy
        self._image_fs = image_fs
        self._running_since = running_since
        self.decision_policy = decision_policy
        self._mounted: dict[str, frozenset[str]] = {}
        self._sandbox_images: dict[str, str] = {}
        self.records: Mapping[str, ImageRecord] = dict(records or {})
        self.unused_bytes: int | None = None
        """Sizes of the images that may be removed, added up: as last listed, without those removed since. `None`: not listed."""

    def detect(self, now: int) -> ImageListing:
        """List the images and update the records; raises the runtime errors of `evictd.errors`."""
        containers = self._client.list_containers()
        listing = ImageListing(
            images=tuple(sorted(map(_image, self._image_client.list_images()), key=lambda image: image.id)),
            in_use=frozenset(row.image_id or row.image_ref for row in containers) | self._mounted_images(containers),
            sandbox=self._images_of_sandboxes(),
        )
        self.records = image_gc.detect(self.records, listing, now)
        unused = image_gc.images_in_eviction_order(self.records, listing, self.policy.keep)
        self.unused_bytes = sum(image.size for image in unused)
        return listing

    def remember(self, now: int) -> None:
        """Update the records if the runtime answers; otherwise a later call does."""
        with suppress(EvictdError):
            self.detect(now)

    def delete_unused(self, now: int, wanted: int | None = None) -> ReclaimOutcome:
        """Free `wanted` bytes, or delete all unused images if it is `None` (`DeleteUnusedImages`).

        What counts as freed is the filesystem's gain in available bytes if that can be read. Images share layers, so the sum of
        their sizes would be too large: eviction would wait for bytes that never become available, and with `reclaim.images:
        Enough` pods would be evicted beside unused images. Then images are also removed for what pods write meanwhile.
        """
        try:
            sweep = image_gc.free_space(self._candidates(now), image_gc.EVERYTHING, self.policy, now)
            before = self._available()
            swept = self._perform(sweep, lambda each: wanted is not None and self._freed(each, before) >= wanted)
            freed = max(0, self._freed(swept, before))
        except EvictdError as error:
            return ReclaimOutcome(action=Reclaim.IMAGES, error=str(error))
        named = swept if wanted is None else replace(swept, wanted=wanted)
        return replace(_outcome(swept, error=named.error), freed_bytes=freed)

    def collect_garbage(self, now: int) -> tuple[ReclaimOutcome, tuple[RecordEvent, ...]]:
        """Run the periodic collection (`GarbageCollect`): delete old images, then free space down to the low percentage."""
        try:
            candidates = self._candidates(now)
            aged = self._perform(image_gc.free_old_images(candidates, self.policy, now, self._running_since))
            if aged.error:
                return _outcome(aged, error=aged.error), ()
            return self._collect_for_space(candidates, aged, now)
        except EvictdError as error:
            return ReclaimOutcome(action=Reclaim.IMAGES, error=str(error)), ()

    def _collect_for_space(
        self, candidates: tuple[Candidate, ...], aged: Sweep, now: int
    ) -> tuple[ReclaimOutcome, tuple[RecordEvent, ...]]:
        fs = self._image_fs()
        needed = image_gc.space_needed(fs, self.policy)
        if needed is None:
            event = image_gc.invalid_capacity(fs)
            error = "the image filesystem's size is unknown" if event is None else event.message
            return _outcome(aged, error=error), () if event is None else (event,)
        if needed.wanted is None:
            return _outcome(aged), ()
        left = (image for image in candidates if image not in aged.removed)
        swept = self._perform(image_gc.free_space(left, needed.wanted, self.policy, now))
        event = None if swept.error else image_gc.too_little_freed(needed, swept)
        error = swept.error if event is None else event.message
        return _outcome(aged, swept, error=error), () if event is None else (event,)

    def _available(self) -> int | None:
        try:
            fs = self._image_fs()
        except EvictdError:
            return None
        return None if fs is None else fs.available_bytes

    def _freed(self, sweep: Sweep, before: int | None) -> int:
        """Return by how much more is available than `before`; the sizes of the removed images where that cannot be read."""
        after = None if before is None else self._available()
        return sweep.freed if before is None or after is None else after - before

    def _candidates(self, now: int) -> tuple[Candidate, ...]:
        listing = self.detect(now)
        return image_gc.images_in_eviction_order(self.records, listing, self.policy.keep)

    def _perform(self, sweep: Sweep, is_enough: Callable[[Sweep], bool] = lambda _: False) -> Sweep:
        while (image := sweep.next_image) is not None and not is_enough(sweep):
            try:
                self._image_client.remove_image(image.id)
            except RuntimeUnavailableError as error:
                return sweep.after(str(error))  # an unavailable runtime cannot remove the next image either
            except EvictdError as error:
                sweep = sweep.after(str(error))
            else:
                sweep = sweep.after()
                self.unused_bytes = (self.unused_bytes or 0) - image.size
                self.records = {key: record for key, record in self.records.items() if key != image.id}
        return sweep

    def _mounted_images(self, containers: tuple[values.CriContainer, ...]) -> frozenset[str]:
        """Return the names or ids of images that are mounted into containers as volumes."""
        for gone in self._mounted.keys() - {row.id for row in containers}:
            del self._mounted[gone]
        for row in containers:
            if row.id not in self._mounted:
                self._mounted[row.id] = self._mounts_of(row.id)
        return frozenset().union(*self._mounted.values())

    def _mounts_of(self, container_id: str) -> frozenset[str]:
        try:
            return self._client.mounted_images(container_id)
        except RuntimeNotFoundError as error:
            if self.decision_policy is Policy.KUBELET:
                raise RuntimeRefusedError(f"get container status: {error}") from error
            return frozenset()  # it has been removed since it was listed

    def _images_of_sandboxes(self) -> frozenset[str]:
        """Return ids and names of the images that present and new sandboxes are made from."""
        rows = self._client.list_sandboxes()
        for gone in self._sandbox_images.keys() - {row.id for row in rows}:
            del self._sandbox_images[gone]
        for row in rows:
            if row.id not in self._sandbox_images:
                self._sandbox_images[row.id] = self._sandbox_image(row.id)
        names = {self._client.sandbox_image(), *self._sandbox_images.values()} - {""}
        found = (self._image_client.image_status(name) for name in names)
        return frozenset(names | {image.id for image in found if image is not None})

    def _sandbox_image(self, sandbox_id: str) -> str:
        try:
            return self._client.image_of_sandbox(sandbox_id)
        except RuntimeRefusedError:
            return ""  # removed or broken; the image of new sandboxes is protected anyway


def _image(row: values.CriImage) -> Image:
    return Image(id=row.id, size=row.size_bytes, pinned=row.pinned, names=(*row.repo_tags, *row.repo_digests))


def _outcome(*sweeps: Sweep, error: str = "") -> ReclaimOutcome:
    return ReclaimOutcome(
        action=Reclaim.IMAGES,
        freed_bytes=sum(sweep.freed for sweep in sweeps),
        removed=sum(len(sweep.removed) for sweep in sweeps),
        error=error,
    )
