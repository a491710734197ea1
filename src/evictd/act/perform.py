"""Performs decisions, in the order decided; each is logged after it was started, so that no log delays a stop.

A decision that fails, for whatever reason, is returned as a failure, and the ones after it are performed all the same: a report
that cannot be written must not prevent an eviction.
"""

from collections.abc import Iterable
from typing import assert_never

from evictd.act.actuator import Actuator
from evictd.core.frozen import frozen
from evictd.core.model.decision import (
    Decision,
    EvictPod,
    ReclaimNode,
    RecordEvent,
    ReportConditions,
    Wait,
    WithdrawEviction,
)
from evictd.observe.reading.reading import Reading


@frozen
class Failure:
    """A decision that could not be announced or performed, and the reason."""

    decision: Decision
    error: Exception


@frozen
class Performed:
    """The result of performing a step."""

    failures: tuple[Failure, ...]
    news: bool
    """Whether a decision was announced for the first time, or could not be announced."""


def perform(decisions: Iterable[Decision], actuator: Actuator, reading: Reading) -> Performed:
    """Perform and announce every decision."""
    failures, news = [], False
    for decision in decisions:
        try:
            _perform_one(actuator, reading, decision)
        except Exception as error:  # whatever it is: the decisions after it are still performed
            failures.append(Failure(decision=decision, error=error))
        try:
            news |= actuator.announce(decision)
        except Exception as error:
            failures.append(Failure(decision=decision, error=error))
            news = True
    return Performed(failures=tuple(failures), news=news)


def _perform_one(actuator: Actuator, reading: Reading, decision: Decision) -> None:
    match decision:
        case ReportConditions():
            actuator.report_conditions(decision.conditions, reading)
        case RecordEvent():
            actuator.record_event(decision, reading)
        case ReclaimNode():
            actuator.begin_reclaim(decision, reading)
        case EvictPod():
            actuator.begin_eviction(decision, reading)
        case WithdrawEviction():
            actuator.withdraw_eviction(decision, reading)
        case Wait():
            pass
        case _:
            assert_never(decision)
