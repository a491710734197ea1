"""What does an earlier life of this daemon, on this boot, hand on?

The core's state with its timers and victims in flight, when which image was used, which pods were evicted. A file
that cannot be used is set aside with a warning, and the daemon starts fresh.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from evictd.act.image_records import records_from_plain
from evictd.codec.state import decode_state
from evictd.core.image_gc import ImageRecord
from evictd.core.state import Reclaiming, State, Watching
from evictd.daemon.state_file import StateFile
from evictd.errors import InputError


@dataclass(frozen=True, slots=True, kw_only=True)
class Remembered:
    """What an earlier life on this boot has left."""

    state: State = field(default_factory=State)
    images: Mapping[str, ImageRecord]
    evicted: tuple[str, ...] = ()
    running_since: int


def remember(file: StateFile, complain: Callable[[str, str], None], now: int) -> Remembered:
    """Read the state file; one that cannot be used is set aside with a warning, and nothing is remembered."""
    fresh = Remembered(images={}, running_since=now)
    try:
        plain = file.read()
        return fresh if plain is None else _remembered(plain)
    except (InputError, KeyError, TypeError, ValueError) as error:
        aside = file.set_aside()
        complain("state", f"{error}; set aside as {aside}, starting fresh")
        return fresh


def _remembered(plain: Mapping[str, Any]) -> Remembered:
    # Whoever is told of conditions forgets them with the process, so each life says at its start which ones hold.
    state = replace(decode_state(plain["state"]), reported=False)
    if isinstance(state.phase, Reclaiming):
        state = replace(state, phase=Watching())  # the collectors ended with the process that had sent them
    return Remembered(
        state=state,
        images=records_from_plain(plain["images"]),
        evicted=tuple(str(uid) for uid in plain["evicted"]),
        running_since=int(plain["runningSince"]),
    )
