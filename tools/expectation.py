"""Compares the account of a run with what a world file expects of it."""

from collections.abc import Iterator

from evictd.codec.world_fields import ExpectFields
from evictd.core.model.finding import NoAction, PodSkipped, ThresholdFinding
from evictd.core.units.duration import format_duration
from evictd.world.account import OOM_KILLED, Account
from evictd.world.kernel import OomKill
from evictd.world.loop import Run


def unmet(expect: ExpectFields, run: Run, account: Account) -> tuple[str, ...]:
    """Return the assertions that do not hold, one sentence each."""
    return tuple(_unmet(expect, run, account))


def first_met_at(run: Run) -> int | None:
    """Return the time of the first cycle in which a threshold was met; `None` if none ever was."""
    return next(
        (
            cycle.at
            for cycle in run.cycles
            if any(isinstance(each, ThresholdFinding) and each.met for each in cycle.step.findings)
        ),
        None,
    )


def named_findings(run: Run) -> frozenset[str]:
    """Return the reasons that findings of the run named."""
    found = (each for cycle in run.cycles for each in cycle.step.findings)
    return frozenset(
        each.why.value if isinstance(each, NoAction) else each.reason.value
        for each in found
        if isinstance(each, NoAction | PodSkipped)
    )


def _unmet(expect: ExpectFields, run: Run, account: Account) -> Iterator[str]:
    crossed = first_met_at(run) or 0
    if expect.innocents is not None and account.innocents > expect.innocents:
        yield f"{account.innocents} innocent pods were evicted, at most {expect.innocents} are expected"
    kills = sum(isinstance(each.event, OomKill) and not each.event.own_limit for each in run.happened)
    if expect.oom_kills is not None and kills > expect.oom_kills:
        yield f"the kernel killed {kills} times for want of memory, at most {expect.oom_kills} are expected"
    if expect.culprit_gone_within is not None:
        yield from _late(account, crossed + expect.culprit_gone_within)
    if expect.relieved_within is not None:
        limit = crossed + expect.relieved_within
        if account.relieved_at is None:
            yield "a threshold is met at the end"
        elif account.relieved_at > limit:
            yield (
                f"a threshold was met until {format_duration(account.relieved_at)}, "
                f"it should be relieved at {format_duration(limit)}"
            )
    if expect.evicted is not None:
        gone = {loss.slot for loss in account.losses if loss.cause != OOM_KILLED}
        yield from (f"{slot} was evicted, which is not expected" for slot in sorted(gone - set(expect.evicted)))
        yield from (f"{slot} was not evicted" for slot in sorted(set(expect.evicted) - gone))
    for name in sorted(set(expect.findings) - named_findings(run)):
        yield f"no finding named {name}"


def _late(account: Account, limit: int) -> Iterator[str]:
    for slot in sorted(account.culprits):
        at = account.culprit_gone_at.get(slot)
        if at is None:
            yield f"the culprit {slot} was not ended"
        elif at > limit:
            yield f"the culprit {slot} was gone at {format_duration(at)}, it should be at {format_duration(limit)}"
