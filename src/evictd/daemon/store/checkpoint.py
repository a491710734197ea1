"""Converts what the daemon remembers over a restart to plain JSON values and back.

A checkpoint holds the core's state with its timers and victims in flight, when each image was used last, and the uids of evicted
pods of which the runtime still lists something. All times in it are of the boot-time clock, so it is only valid in the boot in
which it was written (`store.state_file`). A file that cannot be used is set aside with one warning, and the daemon starts fresh.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import field, replace
from typing import Any

from evictd.codec.plain import Form, View
from evictd.codec.state import decode_state, encode_state
from evictd.core.eviction.accounts.absence import LONG_ABSENCE
from evictd.core.eviction.accounts.ledger import victim_until
from evictd.core.frozen import frozen
from evictd.core.gc.image_gc import ImageRecord
from evictd.core.model.state import State
from evictd.core.units.duration import HOUR, MINUTE
from evictd.daemon.store.state_file import StateFile
from evictd.errors import InputError
from evictd.worker import ErrorReporter

RESTARTS_TOGETHER = 10 * MINUTE
"""Starts within this time count as one, in nanoseconds."""
_LONGEST = 720 * HOUR
"""Longest deadline except a victim's. Most are seconds; `evictionTimeout` and Retry-After may be set to more."""


@frozen
class Checkpoint:
    """The checkpoint of the previous run of the daemon in this boot."""

    state: State = field(default_factory=State)
    images: Mapping[str, ImageRecord]
    evicted: tuple[str, ...] = ()
    running_since: int
    """Time at which the first run in this boot began; images are not collected by age before a whole age has passed since."""


@frozen
class CheckpointSource:
    """The parts of a checkpoint beside the core's state; `evicted` is kept current by its owner."""

    images: Callable[[], Mapping[str, ImageRecord]]
    """Returns when each image was detected and used, by its id."""
    evicted: Collection[str]
    running_since: int

    def checkpoint(self, state: State) -> Checkpoint:
        """Return a checkpoint of the present."""
        return Checkpoint(
            state=state,
            images=dict(self.images()),
            evicted=tuple(sorted(self.evicted)),
            running_since=self.running_since,
        )


def encode_checkpoint(checkpoint: Checkpoint) -> dict[str, Any]:
    """Convert a checkpoint to plain values."""
    plain: dict[str, Any] = _FORM.encode(Checkpoint, checkpoint)
    return plain


def decode_checkpoint(plain: object) -> Checkpoint:
    """Convert plain values to a checkpoint; raises `InputError` for anything that no `encode_checkpoint` would have written."""
    checkpoint: Checkpoint = _FORM.decode(Checkpoint, plain, "remembered")
    return checkpoint


def load_checkpoint(file: StateFile, errors: ErrorReporter, now: int) -> Checkpoint:
    """Read the state file; a file that cannot be used is set aside with a warning, and a fresh checkpoint is returned."""
    fresh = Checkpoint(images={}, running_since=now)
    return file.load(lambda plain: _resumed(plain, now), fresh=fresh, errors=errors, then="starting fresh")


def _resumed(plain: Mapping[str, Any], now: int) -> Checkpoint:
    found = decode_checkpoint(plain)
    found = replace(found, state=_of_this_run(found.state, now))
    _check_times(found.state, now)
    return replace(found, state=_without_timers_of(found.state, now))


def _of_this_run(state: State, now: int) -> State:
    """Return the state as it is at the start of a run.

    The reporters of conditions start without any, so each run reports at its start which conditions hold. A decision about
    a disk waits until the run has measured the pods; after restarts in quick succession only the first run waits.
    """
    before = state.started_at
    started = now if before is None or not 0 <= now - before < RESTARTS_TOGETHER else before
    last = state.last_cycle_at
    if last is None:  # written by an earlier evictd
        last = max((seen.time for seen in state.last_seen.values() if seen.time is not None), default=None)
    return replace(state, reported=False, started_at=started, last_cycle_at=last)


def _without_timers_of(state: State, now: int) -> State:
    """Begin the soft thresholds' grace periods anew after a long absence, under both policies.

    A restart in between must not stretch a grace period. But a threshold that was met before it need not have been met since.
    """
    last = now if state.last_cycle_at is None else state.last_cycle_at
    return state if now - last <= LONG_ABSENCE else replace(state, thresholds_first_observed_at={})


def _check_times(state: State, now: int) -> None:
    """Refuse times that evictd cannot have written: a deadline far in the future would hold evictions until then."""
    victims, collections = state.in_flight, state.collections.values()
    owners, budgets = state.backoff.owners.values(), state.backoff.budgets.values()
    past = [
        *(victim.since for victim in victims),
        *(collection.begun for collection in collections),
        *state.thresholds_first_observed_at.values(),
        *state.node_conditions_last_observed_at.values(),
    ]
    deadlines = [
        *(collection.until for collection in collections),
        *(owner.until for owner in owners),
        *(max(budget.until, budget.held_until) for budget in budgets),
    ]
    if (
        max(past, default=0) > now
        or max(deadlines, default=0) > now + _LONGEST
        or any(each.until > victim_until(each.grace_period_seconds, now) for each in victims)
    ):
        raise InputError("remembered: a time is in the future; it is damaged or not ours")


def _decode_record(plain: object) -> ImageRecord:
    times: list[int | None] = Form({}).decode(list[int | None], plain, "image record")
    match times:
        case [int(first), last]:
            return ImageRecord(first, last)
        case _:
            raise InputError("image record: want [first detected, last used]")


_FORM = Form(
    {
        State: View(encode=encode_state, decode=decode_state),
        ImageRecord: View(encode=list, decode=_decode_record),
    }
)
"""Image records are written as `[first detected, last used or null]`, times of the boot-time clock."""
