"""Says which cycles the journal has a record of, and what a record has beside the arguments of the core.

The daemon records its own cycles by these rules, and `evictd simulate --journal` those of a world.
"""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Annotated, Any

from msgspec import Meta, ValidationError, convert

from evictd.core.eviction.accounts.collecting import ended_reclaims
from evictd.core.eviction.refusals.backoff import Refusal
from evictd.core.frozen import frozen
from evictd.core.model.decision import RecordEvent, Wait
from evictd.core.model.finding import Finding, NoAction, NoActionReason, SignalUnobserved
from evictd.core.model.observation import Observation
from evictd.core.model.signal import SIGNALS, Signal
from evictd.core.model.state import State, Step
from evictd.core.model.stats import PodStats
from evictd.core.units.duration import HOUR, MINUTE
from evictd.core.units.quantity import MAX_INT64

RECORDED = 10 * MINUTE
"""Time before a cycle whose readings its record keeps."""
RecordedPoint = tuple[Annotated[float, Meta(ge=0, le=1e9)], Annotated[int, Meta(ge=-MAX_INT64, le=MAX_INT64)]]
"""Such a reading: how many seconds before, and what was available. An older one than of some 30 years is damage."""
_Reason = tuple[NoActionReason | type[SignalUnobserved], Signal | None]
_REASONS = frozenset({NoActionReason.NO_STATS, NoActionReason.LAYOUT_UNKNOWN, NoActionReason.HELD_BACK})
"""Reasons for no action that come without a decision: a cycle in which one begins or ends is recorded for it."""
_MOST_FOR_REASONS = 6
"""Records within an hour for the begin or end of a reason alone: one that comes and goes must not displace the others."""


@frozen
class LastRecord:
    """What the last record says that the next cycles may say again."""

    gone: frozenset[str] = frozenset()
    """Uids of the victims that it shows as gone."""
    events: tuple[RecordEvent, ...] = ()
    short: frozenset[Signal] = frozenset()
    """Where a victim is gone, the signals of which a threshold was still met: what it held on a disk comes back later."""
    reasons: frozenset[_Reason] = frozenset()
    reasons_changed_at: tuple[int, ...] = ()
    """The `now` of the records of the last hour in which they were others than in the one before."""

    def followed_by(self, observation: Observation, step: Step, now: int) -> "LastRecord":
        """Return what a record of this cycle says, after this one."""
        events = tuple(each for each in step.decisions if isinstance(each, RecordEvent))
        gone, reasons, changed_at = observation.outcomes.cleaned_up, _reasons(step), self._changed_lately(now)
        return LastRecord(
            gone=gone,
            events=events,
            short=_met(step) if gone else frozenset(),
            reasons=reasons,
            reasons_changed_at=changed_at if reasons == self.reasons else (*changed_at, now),
        )

    def reason_is_new(self, step: Step, now: int) -> bool:
        """Whether a reason for no action began or ended that comes without a decision; false where too many did in the hour."""
        return _reasons(step) != self.reasons and len(self._changed_lately(now)) < _MOST_FOR_REASONS

    def _changed_lately(self, now: int) -> tuple[int, ...]:
        return tuple(each for each in self.reasons_changed_at if now - each < HOUR)

    def outcome_is_new(self, before: State, observation: Observation, step: Step) -> bool:
        """Whether a cycle is the first to see a victim gone, a collection ended, or what a victim held back on the node.

        It is recorded also if nothing is decided in it: without it a replay under another policy, or a scenario made of the
        journal, waits for that victim, or evicts it again.
        """
        outcomes = observation.outcomes
        ended = ended_reclaims(before, step.state, outcomes)  # their results stay in the outcomes
        is_clear = not self.short <= _met(step)
        return bool(ended) or is_clear or not outcomes.cleaned_up <= self.gone

    def repeats(self, step: Step) -> bool:
        """Whether a cycle only records the events that the last record has.

        Under policy Kubelet a threshold that nothing relieves records its event in each cycle; a record of it says nothing new.
        """
        decisions = tuple(decision for decision in step.decisions if not isinstance(decision, Wait))
        return bool(decisions) and all(
            isinstance(decision, RecordEvent) and decision in self.events for decision in decisions
        )


def _met(step: Step) -> frozenset[Signal]:
    return frozenset(each.signal for each in step.state.thresholds_first_observed_at)


def _reasons(step: Step) -> frozenset[_Reason]:
    return frozenset(_reasons_of(step.findings))


def _reasons_of(findings: Iterable[Finding]) -> Iterator[_Reason]:
    for each in findings:
        if isinstance(each, NoAction) and each.why in _REASONS:
            yield each.why, None if each.threshold is None else each.threshold.signal
        elif isinstance(each, SignalUnobserved) and each.signal is Signal.MEMORY_AVAILABLE and not each.absent:
            yield SignalUnobserved, each.signal


def recorded_signals(before: State, step: Step) -> frozenset[Signal]:
    """Return the signals whose readings a record has: those that victims, or the conditions before the cycle, are of."""
    causes = {victim.cause for victim in (*before.in_flight, *step.state.in_flight)}
    short = {each for each in Signal if SIGNALS[each].condition in before.node_conditions and each in before.last_seen}
    return frozenset(short | {each for each in causes if each is not None})


def undamaged_points(plain: object) -> Iterator[RecordedPoint]:
    """Yield those readings before a record that are not damaged."""
    for each in plain if isinstance(plain, list) else ():
        with suppress(ValidationError):
            yield convert(each, RecordedPoint)


def encode_refusal(refusal: Refusal) -> dict[str, str]:
    """Return an eviction that the API server refused, as a record has it."""
    return {"pod": refusal.victim.full_name, "uid": refusal.victim.uid, "detail": refusal.answer.detail}


def encode_kill(where: str, uid: str, count: int) -> dict[str, Any]:
    """Return the processes of a pod (`namespace/name`), or of a cgroup without a uid, that the kernel killed."""
    return {"where": where, "uid": uid, "count": count}


def usage_of(stats: PodStats) -> dict[str, Any]:
    """Return a pod's usage in plain numbers; what was not measured is `None`."""
    memory, disk = stats.memory, stats.ephemeral_storage
    return {
        "memoryWorkingSetBytes": None if memory is None else memory.working_set_bytes,
        "ephemeralStorageUsedBytes": None if disk is None else disk.used_bytes,
        "inodesUsed": None if disk is None else disk.inodes_used,
        "processCount": stats.process_count,
    }
