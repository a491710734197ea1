"""Says of a world that was played where a grace period did not decide: it outlasted the crossing of the hard threshold.

Also where a grace period is shorter than the time between two cycles: it ends at the next cycle only.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from evictd.advice.enough import round_up
from evictd.core.model.decision import Decision, EvictPod, begun_evictions
from evictd.core.model.finding import ThresholdFinding
from evictd.core.model.signal import SIGNALS, STALLS, Signal
from evictd.core.model.threshold import Threshold, ThresholdValue
from evictd.core.units.duration import SECOND
from evictd.render.text import clean, duration_text, signal_amount
from evictd.world.account import Account, Verdict, account_of
from evictd.world.loop import Run, WorldCycle, play

_CYCLES = 2
"""Cycles that a grace period lasts at least where it is named: a shorter one does not outlast a high reading."""


def grace_texts(run: Run, account: Account) -> Iterator[str]:
    """Write of the first eviction for each threshold what its grace period, or that of the soft one above it, did."""
    said: set[str] = set()
    for cycle in run.cycles:
        for each in begun_evictions(cycle.step.decisions):
            if (key := str(each.because.threshold)) in said:
                continue
            if text := _outlasted(run, account, cycle, each) or _rounded_up(run, each):
                said.add(key)
                yield text


def _outlasted(run: Run, account: Account, cycle: WorldCycle, eviction: EvictPod) -> str:
    """Write that a hard threshold was crossed within the grace period of a soft one of the same signal."""
    hard = eviction.because.threshold
    if hard is None or hard.grace_period:
        return ""
    for each in cycle.step.findings:
        if not isinstance(each, ThresholdFinding) or each.threshold.signal is not hard.signal or not each.grace_left:
            continue
        grace = each.threshold.grace_period
        been = grace - each.grace_left
        met = f"{each.threshold} had been met for {duration_text(been)} of its grace period of {duration_text(grace)}"
        ways: dict[str, tuple[EvictPod | None, Account]] = {}
        if (shorter := been // 2 // SECOND * SECOND) >= _CYCLES * run.config.monitoring_period:
            sooner = _played_with(
                run, each.threshold, replace(each.threshold, grace_period=shorter), until=run.world.duration
            )
            found = account_of(sooner)
            if _mostly_soft(sooner, hard.signal) and _loses_no_more(found, account):
                ways[f"a grace period of {duration_text(shorter)}"] = _first_soft(sooner, hard.signal, cycle.at), found
        if (enough := _enough(run, cycle, each)) is not None:
            higher = replace(each.threshold, value=ThresholdValue(quantity=SIGNALS[hard.signal].amount(enough)))
            played = _played_with(run, each.threshold, higher, until=run.world.duration)
            found = account_of(played)
            if _loses_no_more(found, account):
                amount = signal_amount(enough, hard.signal)
                ways[f"a threshold of {amount}"] = _first_soft(played, hard.signal, cycle.at), found
        would = _would_texts(ways, account)
        return f"{met} when {hard} acted{': ' if would else ''}{'; '.join(would)}."
    return ""


def _would_texts(ways: Mapping[str, tuple[EvictPod | None, Account]], account: Account) -> list[str]:
    """Write for each pod in which ways it would have been evicted first, and whether it is an innocent one."""
    first = {each.pod.full_name: each for each, _ in ways.values() if each is not None}
    lost, texts = _slots(account), []
    for pod, eviction in first.items():
        by = {way: found for way, (each, found) in ways.items() if each is not None and each.pod.full_name == pod}
        cost = ", which would have cost an innocent pod" if _is_innocent(eviction, account) else ""
        if not cost and len(lost) > 1 and all(_slots(found) == lost for found in by.values()):
            cost = f", and the same {len(lost)} pods would have been lost"
        texts.append(f"with {' or '.join(by)} it would have evicted {clean(pod)} first{cost}")
    return texts


def _slots(account: Account) -> list[str]:
    return sorted(loss.slot for loss in account.losses)


def _is_innocent(eviction: EvictPod, account: Account) -> bool:
    """Whether a pod is within its request, and did not have to go."""
    usage, request = eviction.because.usage, eviction.because.request
    needed = {loss.slot for loss in account.losses if loss.verdict is not Verdict.INNOCENT}
    within = usage is not None and request is not None and usage <= request
    return within and eviction.pod.full_name not in account.culprits | account.ideal.slots | needed


def _played_with(run: Run, soft: Threshold, other: Threshold, *, until: int) -> Run:
    """Play the world until a time with another soft threshold in place of this one."""
    thresholds = tuple(other if each == soft else each for each in run.config.thresholds)
    return play(replace(run.world, duration=until), replace(run.config, thresholds=thresholds))


def _first_soft(run: Run, signal: Signal, before: int) -> EvictPod | None:
    """Return the first eviction for a soft threshold of this signal; `None` if that is not before this time."""
    for cycle in run.cycles:
        for each in begun_evictions(cycle.step.decisions):
            because = each.because.threshold
            if cycle.at < before and because is not None and because.signal is signal and because.grace_period:
                return each
    return None


def _mostly_soft(run: Run, signal: Signal) -> bool:
    """Whether most evictions for a signal were for a soft threshold."""
    of = [each.because.threshold for cycle in run.cycles for each in begun_evictions(cycle.step.decisions)]
    soft = [bool(each.grace_period) for each in of if each is not None and each.signal is signal]
    return sum(soft) * 2 > len(soft)


def _enough(run: Run, acted: WorldCycle, soft: ThresholdFinding) -> int | None:
    """Return a soft threshold that would have been met for its whole grace period one cycle before the hard one acted.

    `None` where none up to half of the capacity would have been, or the world is too short to tell.
    """
    if soft.threshold.signal in STALLS:
        return None
    before = [
        (cycle.at, each.available.value())
        for cycle in run.cycles
        if cycle.at < acted.at
        for each in cycle.step.findings
        if isinstance(each, ThresholdFinding) and each.threshold == soft.threshold
    ]
    since = max((at for at, _ in before if at <= before[-1][0] - soft.threshold.grace_period), default=None)
    if since is None:
        return None
    configured = soft.threshold.value.quantity
    unusable = 0 if configured is None else configured.value() - soft.limit.value()
    most = max(available for at, available in before if at >= since) + unusable
    enough = round_up(most + most // 100)  # the text may round off as much
    return enough if enough * 2 <= soft.capacity.value() else None


def _loses_no_more(other: Account, account: Account) -> bool:
    """Whether no pod more is lost, and no innocent more, than by an account."""
    return len(other.losses) <= len(account.losses) and other.innocents <= account.innocents


def _rounded_up(run: Run, eviction: EvictPod) -> str:
    """Write that a grace period which is shorter than the time between two cycles ends with the next cycle."""
    soft, period = eviction.because.threshold, run.config.monitoring_period
    if soft is None or not 0 < soft.grace_period < period:
        return ""
    return (
        f"A grace period of {duration_text(soft.grace_period)} is shorter than the {duration_text(period)} between two cycles: "
        f"{soft} acted at the cycle after it was met."
    )


def graces_differ(sides: Iterable[Iterable[Decision]]) -> bool:
    """Whether one of the sides that evict has other grace periods than another."""
    periods = [{each.grace_period_seconds for each in begun_evictions(decisions)} for decisions in sides]
    return len({frozenset(each) for each in periods if each}) > 1
