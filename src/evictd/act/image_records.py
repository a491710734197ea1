"""How what is remembered of images is written down, so that ages and last uses survive a restart.

Plain values for the daemon's state file. Times are of the boot-time clock: a file of another boot must not be read back,
which is the state file's rule for everything in it.
"""

from collections.abc import Mapping

from evictd.core.image_gc import ImageRecord
from evictd.errors import InputError


def records_to_plain(records: Mapping[str, ImageRecord]) -> dict[str, list[int | None]]:
    """Write the records as `{id: [first detected, last used or null]}`."""
    return {image: [record.first_detected, record.last_used] for image, record in records.items()}


def records_from_plain(data: object) -> dict[str, ImageRecord]:
    """Read what `records_to_plain` wrote; raises `InputError` for anything else."""
    if not isinstance(data, Mapping):
        raise InputError(f"image records: want a mapping, got {type(data).__name__}")
    return {image: _record(image, value) for image, value in data.items()}


def _record(image: object, value: object) -> ImageRecord:
    match value:
        case [int(first), int() | None as last] if isinstance(image, str):
            return ImageRecord(first, last)
        case _:
            raise InputError(f"image records: {image!r}: want [first detected, last used], got {value!r}")
