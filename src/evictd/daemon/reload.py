"""What would a new configuration change, and what of it can change now?

SIGHUP reads the files again with the command line of the start. What decisions obey changes at once; what the loop is
built on (sockets, directories, the runtime) does at the next start, and is said so. A configuration with any fault
changes nothing.
"""

from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass, replace
from enum import Enum

from evictd.config.settings import Settings
from evictd.core.duration import format_duration
from evictd.core.threshold import Threshold, ThresholdValue

LIVE = ("eviction", "dry_run", "housekeeping_interval")
"""Fields of the settings that take effect at once, with all that is in them ..."""
NOT_LIVE = ("eviction.image_gc", "eviction.container_gc")
"""... but these, which the collectors were built with."""
_NOT_COMPARED = {"source", "warnings"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One field that is not the same; `live` if it takes effect at once."""

    field: str
    old: str
    new: str
    live: bool


def differences(old: Settings, new: Settings) -> tuple[Difference, ...]:
    """List what is not the same, field by field."""
    return tuple(_differences("", old, new))


def live_settings(old: Settings, new: Settings) -> Settings:
    """Give the settings to go on with: the new ones where they can take effect at once, else the old ones."""
    eviction = replace(new.eviction, image_gc=old.eviction.image_gc, container_gc=old.eviction.container_gc)
    return replace(old, eviction=eviction, dry_run=new.dry_run, housekeeping_interval=new.housekeeping_interval)


def _differences(prefix: str, old: object, new: object) -> Iterator[Difference]:
    if not is_dataclass(old) or not is_dataclass(new):
        return
    for each in fields(old):
        name = f"{prefix}{each.name}"
        before, after = getattr(old, each.name), getattr(new, each.name)
        if name in _NOT_COMPARED or (before == after and _worded(before) == _worded(after)):
            continue
        if is_dataclass(before) and not isinstance(before, Threshold):
            yield from _differences(f"{name}.", before, after)
        else:
            yield Difference(field=name, old=_worded(before), new=_worded(after), live=_is_live(name))


def _is_live(name: str) -> bool:
    return name.partition(".")[0] in LIVE and not any(f"{name}.".startswith(f"{each}.") for each in NOT_LIVE)


def _worded(value: object) -> str:
    if isinstance(value, Threshold):
        return _threshold(value)
    if isinstance(value, tuple):
        return ", ".join(map(_worded, value)) or "none"
    if isinstance(value, Enum):
        return str(value.value)
    return str(value)


def _threshold(threshold: Threshold) -> str:
    text = f"{threshold.signal.value}<{_amount(threshold.value)}"
    if not threshold.hard:
        text += f" for {format_duration(threshold.grace_period)}"
    if threshold.min_reclaim is not None:
        text += f" reclaiming {_amount(threshold.min_reclaim)}"
    return text


def _amount(value: ThresholdValue) -> str:
    return f"{value.fraction * 100:g}%" if value.quantity is None else str(value.quantity)
