"""Holds the settings in effect, reads the configuration again, and finds what differs.

The files are read again with the command line of the start. `about` says beside each setting whether it changes at once, as those
that decisions obey do; settings that the loop is built from (sockets, directories, the runtime) change at the next start, and the
log says so. A configuration with an error changes nothing.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from enum import Enum

from evictd.codec.config.fields import THRESHOLDS, after_reload, changed_settings, with_kept
from evictd.codec.strict import Duration
from evictd.config.settings import EvictdConfiguration, KubeletConfiguration, Settings
from evictd.config.written import faults
from evictd.core.frozen import frozen
from evictd.core.model.signal import STALLS
from evictd.core.model.threshold import Threshold
from evictd.core.units.duration import format_duration
from evictd.errors import InputError


@frozen
class Difference:
    """One setting that differs, by its name in the file; `live` if it takes effect at once."""

    field: str
    old: str
    new: str
    live: bool
    explicit: bool = False
    """It switches off a setting, such as `dryRun`, that must be switched off in words and not by leaving it out."""


class Configuration:
    """The settings in effect, and the arguments of the command line that name the files and override them.

    `read` reads the files again; it raises `InputError` for files with errors.
    """

    def __init__(self, settings: Settings, read: Callable[[], Settings], arguments: Sequence[str] = ()) -> None:
        self.settings = settings
        self.arguments = arguments
        self._read = read

    def reload(self) -> tuple[Difference, ...]:
        """Read the files again and put into effect what can change now.

        Raises what `read` raises, and `InputError` for files that change something and look truncated; then nothing changes.
        """
        old, fresh = self.settings, self._read()
        found = differences(old, fresh)
        off = [each.field for each in found if each.explicit]
        if found and (refused := tuple(faults(old.written, fresh.written, switched_off=off))):
            raise InputError(refused)
        self.settings = live_settings(old, fresh)
        return found


def differences(old: Settings, new: Settings) -> tuple[Difference, ...]:
    """List the settings that differ; those that thresholds are made of are listed as the thresholds."""
    return tuple(_differences(old, new))


def live_settings(old: Settings, new: Settings) -> Settings:
    """Return the settings to continue with: new values of live fields, old values of the others."""
    eviction = with_kept(old.eviction, new.eviction, EvictdConfiguration, KubeletConfiguration)
    return replace(
        old,
        eviction=replace(eviction, container_gc=old.eviction.container_gc),
        evictd=after_reload(old.evictd, new.evictd),
        kubelet=after_reload(old.kubelet, new.kubelet),
        written=new.written,
        unknown_fields=new.unknown_fields,
        surprises=new.surprises,
    )


def _differences(old: Settings, new: Settings) -> Iterator[Difference]:
    before, after = _text(old.eviction.thresholds), _text(new.eviction.thresholds)
    if old.eviction.thresholds != new.eviction.thresholds or before != after:
        yield Difference(field=THRESHOLDS, old=before, new=after, live=True)
    for documents in ((old.evictd, new.evictd), (old.kubelet, new.kubelet)):
        for each, was, now in changed_settings(*documents):
            if each.rule.sets != THRESHOLDS:
                explicit = each.rule.explicit and was is True
                live = each.rule.live
                yield Difference(field=each.name, old=_text(was), new=_text(now), live=live, explicit=explicit)


def _text(value: object) -> str:
    if isinstance(value, Threshold):
        return _threshold(value)
    if isinstance(value, tuple):
        return ", ".join(map(_text, value)) or "none"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Duration):
        return format_duration(value)
    if isinstance(value, Enum):
        return str(value.value)
    return str(value)


def _threshold(threshold: Threshold) -> str:
    stall = threshold.signal in STALLS
    text = str(threshold) if stall else f"{threshold.signal.value}<{threshold.value}"
    if threshold.grace_period:
        text += f" for {format_duration(threshold.grace_period)}"
    if threshold.hard_after_grace or (stall and threshold.hard):
        text += " (hard)"
    if threshold.min_reclaim is not None:
        text += f" reclaiming {threshold.min_reclaim}"
    return text
