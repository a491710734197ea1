"""Selects the images to remove, in order, and decides when enough space is freed.

The kubelet's image manager (`pkg/kubelet/images/image_gc_manager.go`) as pure functions: `detect`
updates the records, `images_in_eviction_order` lists the candidates, and a `Sweep` names one image after the other and takes the
result of each removal. `act.gc.images` removes the images.

An image that is in use, pinned, kept by the configuration or needed by sandboxes is never a candidate, because a runtime removes
even those when it is asked to. Sizes are bytes, times and ages nanoseconds of the boot-time clock.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from enum import Enum
from fnmatch import fnmatchcase
from typing import NamedTuple

from evictd.core.frozen import frozen
from evictd.core.model.config import ImageGCPolicy
from evictd.core.model.decision import RecordEvent
from evictd.core.model.stats import FsStats
from evictd.core.units.duration import MINUTE, format_duration

GC_PERIOD = 5 * MINUTE
"""Interval of the periodic image collection, independent of pressure."""

EVERYTHING = 2**63 - 1
"""The bytes to free that stand for all unused images (kubelet `DeleteUnusedImages`)."""

_DEFAULT_REGISTRIES = ("docker.io/library/", "docker.io/")
_UNITS = ("KiB", "MiB", "GiB", "TiB")


@frozen
class Image:
    """An image on the node; `names` are its tags and digests, none for a dangling one."""

    id: str
    size: int
    pinned: bool = False
    names: tuple[str, ...] = ()


@frozen
class ImageListing:
    """The runtime's images at one time; `in_use` and `sandbox` hold ids or names, as the runtime reports them."""

    images: tuple[Image, ...]
    in_use: frozenset[str] = frozenset()
    """Images of containers in any state, and of image volumes."""
    sandbox: frozenset[str] = frozenset()
    """Images that sandboxes are made from, whether one runs or not."""


class ImageRecord(NamedTuple):
    """When an image was first detected, and when it was last in use (`None`: never)."""

    first_detected: int
    last_used: int | None = None


Records = Mapping[str, ImageRecord]
"""By image id."""


class RemovalReason(Enum):
    """The label of `image_garbage_collected_total`."""

    SPACE = "space"
    AGE = "age"


class Candidate(NamedTuple):
    """An image that may be removed, with its sort keys."""

    id: str
    size: int
    first_detected: int
    last_used: int
    """-1: never."""


@frozen
class Sweep:
    """A sequence of removals: `next_image` names the image to remove, `after` takes the result.

    Ends when `wanted` bytes are freed or every image was tried. A failed removal is recorded, and the next image follows.
    """

    todo: tuple[Candidate, ...]
    wanted: int
    reason: RemovalReason
    older_than: int = 0
    """For reason age: the maximum age."""
    tried: int = 0
    removed: tuple[Candidate, ...] = ()
    errors: tuple[str, ...] = ()

    @property
    def freed(self) -> int:
        """Bytes of the images removed, by their size in the listing."""
        return sum(image.size for image in self.removed)

    @property
    def next_image(self) -> Candidate | None:
        """The image to remove next; `None` when done. One image is removed even if `wanted` is 0, as in the kubelet."""
        enough = bool(self.removed) and self.freed >= self.wanted
        return None if enough or self.tried >= len(self.todo) else self.todo[self.tried]

    def after(self, error: str = "") -> "Sweep":
        """Return the sweep after `next_image` was removed, or was not removed because of `error`."""
        if error:
            return replace(self, tried=self.tried + 1, errors=(*self.errors, error))
        return replace(self, tried=self.tried + 1, removed=(*self.removed, self.todo[self.tried]))

    @property
    def error(self) -> str:
        """The kubelet's text about all failed removals; empty if there was none."""
        if not self.errors:
            return ""
        refusals = self.errors[0] if len(self.errors) == 1 else f"[{', '.join(self.errors)}]"
        if self.reason is RemovalReason.AGE:
            age = format_duration(self.older_than)
            return f"wanted to free images older than {age}, encountered errors in image deletion: {refusals}"
        return (
            f"wanted to free {self.wanted} bytes, but freed {self.freed} bytes space "
            f"with errors in image deletion: {refusals}"
        )


def detect(records: Records, listing: ImageListing, now: int) -> dict[str, ImageRecord]:
    """Update the records (`detectImages`): add new images, drop vanished ones, stamp those in use."""
    used = {image.id for image in listing.images if _mentioned(image, listing.in_use)}
    found = {}
    for image in listing.images:
        record = records.get(image.id, ImageRecord(now))
        found[image.id] = record._replace(last_used=now) if image.id in used else record
    return found


def images_in_eviction_order(
    records: Records, listing: ImageListing, keep: Iterable[str] = ()
) -> tuple[Candidate, ...]:
    """List the images that may be removed, in order (`imagesInEvictionOrder`). `records` must hold every listed image.

    Never used first, then least recently used; among equals the one detected first, then the one listed first.
    """
    patterns = tuple(keep)
    candidates = (
        _candidate(image, records[image.id]) for image in listing.images if not _protected(image, listing, patterns)
    )
    return tuple(sorted(candidates, key=lambda image: (image.last_used, image.first_detected)))


def free_space(candidates: Iterable[Candidate], wanted: int, policy: ImageGCPolicy, now: int) -> Sweep:
    """Free `wanted` bytes (`freeSpace`), except by images in use at `now` or detected less than the minimum age ago."""
    old_enough = (
        image for image in candidates if image.last_used < now and now - image.first_detected >= policy.min_age
    )
    return Sweep(todo=tuple(old_enough), wanted=wanted, reason=RemovalReason.SPACE)


def free_old_images(candidates: Iterable[Candidate], policy: ImageGCPolicy, now: int, running_since: int) -> Sweep:
    """Remove images unused for longer than the maximum age (`freeOldImages`).

    Applies only after the collector has run for longer than that, because earlier uses are unknown. An image never in use
    counts as infinitely old, and the minimum age does not apply.
    """
    age = policy.max_age
    due = age > 0 and now - running_since > age
    old = tuple(image for image in candidates if due and (image.last_used < 0 or now - image.last_used > age))
    return Sweep(todo=old, wanted=EVERYTHING, reason=RemovalReason.AGE, older_than=age)


@frozen
class SpaceNeeded:
    """Usage of the image filesystem; `wanted` bytes must be freed, `None` below the high threshold."""

    usage_percent: int
    capacity: int
    wanted: int | None


def space_needed(fs: FsStats | None, policy: ImageGCPolicy) -> SpaceNeeded | None:
    """Compare the image filesystem with the two percentages; `None` if its size or free space is unknown."""
    if fs is None or not fs.capacity_bytes or fs.available_bytes is None:
        return None
    capacity = fs.capacity_bytes
    available = max(0, min(fs.available_bytes, capacity))
    usage_percent = 100 - available * 100 // capacity
    wanted = None
    if usage_percent >= policy.high_threshold_percent:
        wanted = capacity * (100 - policy.low_threshold_percent) // 100 - available
    return SpaceNeeded(usage_percent=usage_percent, capacity=capacity, wanted=wanted)


def periodic_gc_enabled(policy: ImageGCPolicy) -> bool:
    """Whether images are collected periodically: 100 % without a maximum age switches it off."""
    return policy.high_threshold_percent != 100 or policy.max_age != 0


def invalid_capacity(fs: FsStats | None) -> RecordEvent | None:
    """Return the event about an image filesystem with capacity 0."""
    if fs is None or fs.capacity_bytes != 0:
        return None
    return RecordEvent(type="Warning", reason="InvalidDiskCapacity", message="invalid capacity 0 on image filesystem")


def too_little_freed(needed: SpaceNeeded, sweep: Sweep) -> RecordEvent | None:
    """Return the event if too little was freed; its message is also the error of the collection."""
    if needed.wanted is None or sweep.freed >= needed.wanted:
        return None
    message = (
        f"Insufficient free disk space on the node's image filesystem ({needed.usage_percent}% of "
        f"{_format_size(needed.capacity)} used). Failed to free sufficient space by deleting unused images "
        f"(freed {sweep.freed} bytes). Investigate disk usage, as it could be used by active images, logs, volumes, "
        f"or other data."
    )
    return RecordEvent(type="Warning", reason="FreeDiskSpaceFailed", message=message)


def _format_size(size: int) -> str:
    if size < 1024:
        return f"{size} B"
    amount, unit = size / 1024, 0
    while amount >= 1024 and unit < len(_UNITS) - 1:
        amount, unit = amount / 1024, unit + 1
    return f"{amount:.1f} {_UNITS[unit]}"


def _candidate(image: Image, record: ImageRecord) -> Candidate:
    last_used = -1 if record.last_used is None else record.last_used
    return Candidate(image.id, image.size, record.first_detected, last_used)


def _protected(image: Image, listing: ImageListing, patterns: tuple[str, ...]) -> bool:
    return (
        image.pinned
        or _mentioned(image, listing.in_use)
        or _mentioned(image, listing.sandbox)
        or any(fnmatchcase(name, pattern) for pattern in patterns for name in _spellings(image))
    )


def _mentioned(image: Image, references: frozenset[str]) -> bool:
    return image.id in references or not references.isdisjoint(image.names)


def _spellings(image: Image) -> Iterable[str]:
    """Yield every spelling of an image that `keepImages` matches: id, names, each without tag, digest and default registry."""
    yield image.id
    for name in image.names:
        repository = name.partition("@")[0]
        if ":" in repository.rpartition("/")[2]:
            repository = repository.rpartition(":")[0]
        for written in (name, repository):
            yield written
            yield from (written.removeprefix(prefix) for prefix in _DEFAULT_REGISTRIES if written.startswith(prefix))
