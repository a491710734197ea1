"""How images are removed, and how the runtime is asked which of them somebody needs.

Performs what `core.image_gc` chooses. A runtime removes an image that is in use, and even the one that sandboxes are made
from, whenever it is told to: so what is needed is found out here before anything goes. In use is what any container,
running or not, was made from or has mounted as a volume; a container's mounts never change and are asked for once.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace

from evictd.clients.cri import CriClient, values
from evictd.clients.cri.image_use import ImageUse
from evictd.core import image_gc
from evictd.core.config import ImageGCPolicy, Policy
from evictd.core.decision import RecordEvent
from evictd.core.image_gc import Candidate, Image, ImageListing, ImageRecord, Sweep
from evictd.core.observation import Reclaim, ReclaimOutcome
from evictd.core.stats import FsStats
from evictd.errors import EvictdError, RuntimeNotFoundError, RuntimeRefusedError, RuntimeUnavailableError

ReadImageFs = Callable[[], FsStats | None]
"""Gives the filesystem that holds the images as it is now; `None` where it cannot be read."""


class ImageCollector:
    """Keeps the records of one runtime's images and removes some; blocks while it works.

    `image_client` is needed where images are served by another endpoint than pods (`imageServiceEndpoint`).
    `records` are what an earlier run of the daemon has learned on the same boot; `running_since` is when the first run
    began, on the same clock as every `now`.
    """

    def __init__(
        self,
        client: CriClient,
        use: ImageUse,
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
        self._use = use
        self.policy = policy
        self._image_fs = image_fs
        self._running_since = running_since
        self.decision_policy = decision_policy
        self._mounted: dict[str, frozenset[str]] = {}
        self._sandbox_images: dict[str, str] = {}
        self.records: Mapping[str, ImageRecord] = dict(records or {})

    def detect(self, now: int) -> ImageListing:
        """Look at the images and bring the records up to date; raises the runtime errors of `evictd.errors`."""
        containers = self._client.list_containers()
        listing = ImageListing(
            images=tuple(sorted(map(_image, self._image_client.list_images()), key=lambda image: image.id)),
            in_use=frozenset(row.image_id or row.image_ref for row in containers) | self._mounted_images(containers),
            sandbox=self._images_of_sandboxes(),
        )
        self.records = image_gc.detect(self.records, listing, now)
        return listing

    def remember(self, now: int) -> None:
        """Bring the records up to date if the runtime answers; otherwise the next time does."""
        with suppress(EvictdError):
            self.detect(now)

    def delete_unused(self, now: int, wanted: int | None = None) -> ReclaimOutcome:
        """Free what eviction asks for (`DeleteUnusedImages`): so many bytes, or all that is unused.

        `freed_bytes` is what the filesystem gained, where that can be read: images share layers, so their sizes add up
        to more than comes back, and eviction would wait for bytes that never come.
        """
        try:
            sweep = image_gc.free_space(
                self._candidates(now), image_gc.EVERYTHING if wanted is None else wanted, self.policy, now
            )
            before = self._available()
            swept = self._perform(sweep) if wanted is None or wanted > 0 else sweep
            after = self._available()
        except EvictdError as error:
            return ReclaimOutcome(action=Reclaim.IMAGES, error=str(error))
        outcome = _outcome(swept, error=swept.error)
        return outcome if before is None or after is None else replace(outcome, freed_bytes=max(0, after - before))

    def collect_garbage(self, now: int) -> tuple[ReclaimOutcome, tuple[RecordEvent, ...]]:
        """Do the periodic duty (`GarbageCollect`): what is too old, then from above the high to the low percentage."""
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

    def _candidates(self, now: int) -> tuple[Candidate, ...]:
        listing = self.detect(now)
        return image_gc.images_in_eviction_order(self.records, listing, self.policy.keep)

    def _perform(self, sweep: Sweep) -> Sweep:
        while (image := sweep.next_image) is not None:
            try:
                self._image_client.remove_image(image.id)
            except RuntimeUnavailableError as error:
                return sweep.after(str(error))  # whoever does not answer will not answer for the next image either
            except EvictdError as error:
                sweep = sweep.after(str(error))
            else:
                sweep = sweep.after()
                self.records = {key: record for key, record in self.records.items() if key != image.id}
        return sweep

    def _mounted_images(self, containers: tuple[values.Container, ...]) -> frozenset[str]:
        """Images that are mounted into containers as volumes, by name or id."""
        for gone in self._mounted.keys() - {row.id for row in containers}:
            del self._mounted[gone]
        for row in containers:
            if row.id not in self._mounted:
                self._mounted[row.id] = self._mounts_of(row.id)
        return frozenset().union(*self._mounted.values())

    def _mounts_of(self, container_id: str) -> frozenset[str]:
        try:
            return self._use.mounted_images(container_id)
        except RuntimeNotFoundError as error:
            if self.decision_policy is Policy.KUBELET:
                raise RuntimeRefusedError(f"get container status: {error}") from error
            return frozenset()  # it has vanished since it was listed, and its mounts with it

    def _images_of_sandboxes(self) -> frozenset[str]:
        """Ids and names of the images that sandboxes were, and will be, made from."""
        rows = self._client.list_sandboxes()
        for gone in self._sandbox_images.keys() - {row.id for row in rows}:
            del self._sandbox_images[gone]
        for row in rows:
            if row.id not in self._sandbox_images:
                self._sandbox_images[row.id] = self._sandbox_image(row.id)
        names = {self._use.sandbox_image(), *self._sandbox_images.values()} - {""}
        found = (self._image_client.image_status(name) for name in names)
        return frozenset(names | {image.id for image in found if image is not None})

    def _sandbox_image(self, sandbox_id: str) -> str:
        try:
            return self._use.image_of_sandbox(sandbox_id)
        except RuntimeRefusedError:
            return ""  # gone, or too broken to say; what new sandboxes need is protected all the same


def _image(row: values.Image) -> Image:
    return Image(id=row.id, size=row.size_bytes, pinned=row.pinned, names=(*row.repo_tags, *row.repo_digests))


def _outcome(*sweeps: Sweep, error: str = "") -> ReclaimOutcome:
    return ReclaimOutcome(
        action=Reclaim.IMAGES,
        freed_bytes=sum(sweep.freed for sweep in sweeps),
        removed=sum(len(sweep.removed) for sweep in sweeps),
        error=error,
    )
