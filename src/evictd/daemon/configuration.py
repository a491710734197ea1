"""Holds the settings in effect, reads the configuration again, and finds what differs.

The files are read again with the command line of the start. What decisions obey changes at once; what the loop is built on
(sockets, directories, the runtime) changes at the next start, and the log says so. A configuration with an error changes nothing.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, is_dataclass, replace
from enum import Enum

from evictd.config.settings import Settings
from evictd.core.model.signal import STALLS
from evictd.core.model.threshold import Threshold, ThresholdValue
from evictd.core.units.duration import format_duration

LIVE = ("eviction", "dry_run", "housekeeping_interval")
"""Fields of the settings that take effect at once, with all fields in them ..."""
NOT_LIVE = ("eviction.image_gc", "eviction.container_gc", "eviction.memory_lead")
"""... except these, with which the collectors and the threshold watch were built."""
_NOT_COMPARED = {"source", "warnings"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One field that differs; `live` if it takes effect at once."""

    field: str
    old: str
    new: str
    live: bool


class Configuration:
    """The settings in effect. `read` reads the files again; it raises for files with errors."""

    def __init__(self, settings: Settings, read: Callable[[], Settings]) -> None:
        self.settings = settings
        self._read = read

    def reload(self) -> tuple[Difference, ...]:
        """Read the files again and put into effect what can change now; raises what `read` raises, and then nothing changes."""
        fresh = self._read()
        found = differences(self.settings, fresh)
        self.settings = live_settings(self.settings, fresh)
        return found


def differences(old: Settings, new: Settings) -> tuple[Difference, ...]:
    """List the fields that differ."""
    return tuple(_differences("", old, new))


def live_settings(old: Settings, new: Settings) -> Settings:
    """Return the settings to continue with: new values of live fields, old values of the others."""
    kept = old.eviction
    eviction = replace(
        new.eviction, image_gc=kept.image_gc, container_gc=kept.container_gc, memory_lead=kept.memory_lead
    )
    return replace(old, eviction=eviction, dry_run=new.dry_run, housekeeping_interval=new.housekeeping_interval)


def _differences(prefix: str, old: object, new: object) -> Iterator[Difference]:
    if not is_dataclass(old) or not is_dataclass(new):
        return
    for each in fields(old):
        name = f"{prefix}{each.name}"
        before, after = getattr(old, each.name), getattr(new, each.name)
        if name in _NOT_COMPARED or (before == after and _text(before) == _text(after)):
            continue
        if is_dataclass(before) and not isinstance(before, Threshold):
            yield from _differences(f"{name}.", before, after)
        else:
            yield Difference(field=name, old=_text(before), new=_text(after), live=_is_live(name))


def _is_live(name: str) -> bool:
    return name.partition(".")[0] in LIVE and not any(f"{name}.".startswith(f"{each}.") for each in NOT_LIVE)


def _text(value: object) -> str:
    if isinstance(value, Threshold):
        return _threshold(value)
    if isinstance(value, tuple):
        return ", ".join(map(_text, value)) or "none"
    if isinstance(value, Enum):
        return str(value.value)
    return str(value)


def _threshold(threshold: Threshold) -> str:
    stall = threshold.signal in STALLS
    text = str(threshold) if stall else f"{threshold.signal.value}<{_amount(threshold.value)}"
    if threshold.grace_period:
        text += f" for {format_duration(threshold.grace_period)}"
    if threshold.hard_after_grace or (stall and threshold.hard):
        text += " (hard)"
    if threshold.min_reclaim is not None:
        text += f" reclaiming {_amount(threshold.min_reclaim)}"
    return text


def _amount(value: ThresholdValue) -> str:
    return f"{value.fraction * 100:g}%" if value.quantity is None else str(value.quantity)
