"""Compares the account of a run with what a world file expects of it."""

from collections.abc import Collection, Iterable, Iterator

from evictd.codec.world_fields import ExpectFields
from evictd.core.frozen import frozen
from evictd.core.model.finding import NoAction, PodSkipped, ThresholdFinding
from evictd.core.units.duration import MILLISECOND, format_duration
from evictd.world.account import OOM_KILLED, Account
from evictd.world.loop import Run


@frozen
class Expectation:
    """One assertion of a world, by its field, and why it does not hold; met where there is no reason."""

    field: str
    text: str
    """What it states, in words."""
    unmet: tuple[str, ...] = ()


def unmet(expect: ExpectFields, run: Run, account: Account) -> tuple[str, ...]:
    """Return the assertions that do not hold, one sentence each."""
    return tuple(why for each in expectations(expect, run, account) for why in each.unmet)


def expectations(expect: ExpectFields, run: Run, account: Account) -> tuple[Expectation, ...]:
    """Return the assertions that a world makes, each with the reasons why it does not hold."""
    crossed = first_met_at(run) or 0
    found: list[tuple[str, str, Iterable[str]]] = []
    if (most := expect.innocents) is not None:
        pods = f"at most {most} {'pod was' if most == 1 else 'pods were'}" if most else "no pod was"
        found.append(("innocents", f"{pods} evicted without need", _innocents(most, account)))
    if (most := expect.oom_kills) is not None:
        killed = f"at most {most} {'process' if most == 1 else 'processes'}" if most else "nothing"
        found.append(("oomKills", f"the kernel killed {killed} for want of memory", _oom_kills(most, run)))
    if (span := expect.culprit_gone_within) is not None:
        text = f"the cause was gone within {format_duration(span)}"
        found.append(("culpritGoneWithin", text, _late(account, crossed + span)))
    if (span := expect.relieved_within) is not None:
        text = f"no threshold was met any more after {format_duration(span)}"
        found.append(("relievedWithin", text, _relieved(crossed + span, account)))
    if expect.evicted is not None:
        pods = f"only {', '.join(expect.evicted)} {'was' if len(expect.evicted) == 1 else 'were'}"
        found.append(
            ("evicted", f"{pods if expect.evicted else 'no pod was'} evicted", _evicted(expect.evicted, account))
        )
    if expect.findings:
        missing = sorted(set(expect.findings) - named_findings(run))
        text = f"evictd reported {', '.join(expect.findings)}"
        found.append(("findings", text, [f"no finding named {name}" for name in missing]))
    return tuple(Expectation(field=name, text=text, unmet=tuple(why)) for name, text, why in found)


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


def _innocents(most: int, account: Account) -> Iterator[str]:
    if account.innocents > most:
        yield f"innocent pods evicted: {account.innocents}, at most {most} are expected"


def _oom_kills(most: int, run: Run) -> Iterator[str]:
    kills = len(run.kills)
    if kills > most:
        yield f"the kernel killed for want of memory: {kills}, at most {most} kills are expected"


def _relieved(limit: int, account: Account) -> Iterator[str]:
    if account.relieved_at is None:
        yield "a threshold is met at the end"
    elif account.relieved_at > limit:
        yield (f"a threshold was met until {_time(account.relieved_at)}, it should be relieved at {_time(limit)}")


def _evicted(expected: Collection[str], account: Account) -> Iterator[str]:
    gone = {loss.slot for loss in account.losses if loss.cause != OOM_KILLED}
    yield from (f"{slot} was evicted, which is not expected" for slot in sorted(gone - set(expected)))
    yield from (f"{slot} was not evicted" for slot in sorted(set(expected) - gone))


def _late(account: Account, limit: int) -> Iterator[str]:
    for slot in sorted(account.culprits):
        at = account.culprit_gone_at.get(slot)
        if at is None:
            yield f"the culprit {slot} was not ended"
        elif at > limit:
            yield f"the culprit {slot} was gone at {_time(at)}, it should be at {_time(limit)}"


def _time(at: int) -> str:
    """Write a time to the millisecond."""
    return format_duration(round(at / MILLISECOND) * MILLISECOND)
