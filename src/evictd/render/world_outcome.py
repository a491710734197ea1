"""Says what came of a world that was played: the pods that were lost, the relief, and the same world without evictd."""

from collections.abc import Iterator, Sequence

from evictd.core.frozen import frozen
from evictd.core.model.finding import NoAction, NoActionReason, ThresholdFinding
from evictd.core.model.observation import signal_observations
from evictd.core.model.signal import MEMORY_SIGNALS, STALLS, Signal
from evictd.core.model.threshold import Origin
from evictd.render.sentences import no_action_text
from evictd.render.text import clean, counted, duration_text, first_of, signal_amount
from evictd.world.account import OOM_KILLED, Account, Loss, Verdict
from evictd.world.kernel import OomKill
from evictd.world.lifecycle import EvictionRefused
from evictd.world.loop import Run

MOST_NAMES = 4
"""Pods that one sentence names."""
_WORDS = {Verdict.CULPRIT: "the cause", Verdict.NEEDED: "needed to clear the threshold", Verdict.INNOCENT: "not needed"}


@frozen
class PlayedWorld:
    """A world that was played with one configuration, and its result."""

    name: str
    """Name of the configuration or policy."""
    run: Run
    account: Account
    unattended: Run | None = None
    """The same world without evictd, to say what would have happened on the node."""


def outcome_text(run: Run, account: Account, unattended: Run | None = None) -> list[str]:
    """Write what came of a run, one sentence each."""
    evicted = [loss for loss in account.losses if loss.cause != OOM_KILLED]
    sentences = [*_loss_texts(evicted)] or ["No pod was evicted."]
    sentences += [*_refusal_texts(run), *_kill_texts(run, account), *_relief_texts(run, account)]
    stayed = sorted(account.culprits - account.culprit_gone_at.keys())
    if stayed and account.ideal.crossed_at is not None:
        sentences.append(f"{_names(stayed)}, the cause, {'was' if len(stayed) == 1 else 'were'} not ended.")
    if unattended is not None:
        sentences += _unattended_texts(run, unattended, evicted)
    return sentences


def kills(run: Run) -> list[tuple[int, OomKill]]:
    """Return the kills for want of memory with their times; a pod's own limit is not the node's."""
    happened = ((each.at, each.event) for each in run.happened)
    return [(at, event) for at, event in happened if isinstance(event, OomKill) and not event.own_limit]


# --- what was lost ----------------------------------------------------------------------------------------------------


def _loss_texts(evicted: Sequence[Loss]) -> Iterator[str]:
    """Write a sentence for the causes, the needed and the innocent; a pod that stands for another one has its own."""
    verdicts = list(Verdict)
    groups = {(verdicts.index(loss.verdict), loss.instead_of) for loss in evicted}
    for number, instead_of in sorted(groups):
        verdict = verdicts[number]
        losses = [loss for loss in evicted if loss.verdict is verdict and loss.instead_of == instead_of]
        instead = f", in place of {clean(instead_of)}" if instead_of else ""
        yield f"{_evicted_text(losses)}: {_WORDS[verdict]}{instead}."


def _evicted_text(losses: Sequence[Loss]) -> str:
    """Write which pods were evicted, how often if successors were too, when and for which signals."""
    slots = list(dict.fromkeys(loss.slot for loss in losses))
    verb, again = "was" if len(slots) == 1 else "were", ""
    if len(losses) > len(slots):
        again = f" {len(losses)} times, with {'its' if len(slots) == 1 else 'their'} successors,"
    when = f"at {duration_text(losses[0].at)}"
    if len(losses) > 1:
        when = f"from {duration_text(losses[0].at)} to {duration_text(losses[-1].at)}"
    return f"{_names(slots)} {verb} evicted{again} {when} for {', '.join(dict.fromkeys(loss.cause for loss in losses))}"


def _refusal_texts(run: Run) -> Iterator[str]:
    names = [clean(each.event.name) for each in run.happened if isinstance(each.event, EvictionRefused)]
    if names:
        yield f"The API server refused evictions {counted(len(names), 'time')}: {_names(list(dict.fromkeys(names)))}."


def _kill_texts(run: Run, account: Account) -> Iterator[str]:
    if not (killed := kills(run)):
        return
    names = list(dict.fromkeys(clean(kill.name) for _, kill in killed))
    innocent = f", {counted(account.innocents_killed, 'innocent')} among them" if account.innocents_killed else ""
    yield (
        f"The kernel killed for want of memory {counted(len(killed), 'time')}, first at {duration_text(killed[0][0])}: "
        f"{_names(names)}{innocent}."
    )
    if not any(each.signal in MEMORY_SIGNALS for each in run.config.thresholds):
        yield "The configuration has no threshold for memory, so evictd does not act on it."


# --- the relief -------------------------------------------------------------------------------------------------------


def _relief_texts(run: Run, account: Account) -> Iterator[str]:
    """Write whether a threshold is met at the end and why, and the smallest set of pods that would have sufficed."""
    if account.relieved_at == 0:
        yield "No threshold was met."
        return
    if account.relieved_at is not None:
        yield _relieved_text(run, account, account.relieved_at)
    else:
        findings = run.cycles[-1].step.findings
        met = dict.fromkeys(str(each.threshold) for each in _met(findings))
        reason = next((each for each in findings if isinstance(each, NoAction)), None)
        why = "" if reason is None else f"; {no_action_text(reason)}"
        yield f"At the end {' and '.join(map(clean, met))} {'is' if len(met) == 1 else 'are'} still met{why}."
        if reason is not None and reason.why is NoActionReason.NOT_SHORT_OF_MEMORY:
            return
    lost, slots = {loss.slot for loss in account.losses}, sorted(account.ideal.slots)
    if not account.ideal.relieves:
        yield "No set of pods would have relieved the node for good."
    elif lost == set(slots):
        yield from ["No smaller set of pods would have sufficed."] if len(slots) > 1 else []
    elif slots:
        yield f"The least that would have sufficed is the end of {counted(len(slots), 'pod')}: {_names(slots)}."
    else:
        yield "No pod had to go."


def _relieved_text(run: Run, account: Account, at: int) -> str:
    if account.shortages <= 1:
        return f"No threshold is met from {duration_text(at)} to the end."
    short = max(account.short_for.values(), default=0)
    end = duration_text(run.cycles[-1].at)
    return (
        f"A threshold was met {account.shortages} times, for {duration_text(short)} in all; none is at the end, {end}."
    )


def _met(findings: Sequence[object]) -> list[ThresholdFinding]:
    """Return the thresholds that are met: those of the configuration, or where none of them is the derived ones."""
    met = [each for each in findings if isinstance(each, ThresholdFinding) and each.met]
    return [each for each in met if each.threshold.origin is not Origin.DERIVED] or met


# --- without evictd ---------------------------------------------------------------------------------------------------


def _unattended_texts(run: Run, unattended: Run, evicted: Sequence[Loss]) -> Iterator[str]:
    """Write what would have happened without evictd: the OOM killer, and how little of what was short would have been left."""
    signals = {each.threshold.signal for cycle in run.cycles for each in _met(cycle.step.findings)} - STALLS.keys()
    if killed := kills(unattended):
        at, kill = killed[0]
        came = f"Without evictd the OOM killer would have come at {_beside(at, evicted)}"
        yield f"{came}, and killed {clean(kill.name)} first."
    elif signals & MEMORY_SIGNALS:
        yield "Without evictd the OOM killer would not have come."
    for signal in sorted(signals - MEMORY_SIGNALS, key=lambda each: each.value):
        yield from _least_texts(signal, _least(run, signal), _least(unattended, signal), evicted)


def _least_texts(
    signal: Signal, seen: tuple[int, int] | None, without: tuple[int, int] | None, evicted: Sequence[Loss]
) -> Iterator[str]:
    """Write when nothing would have been left of a signal without evictd, or the least that would have been."""
    if without is None:
        return
    least, at = without
    if least > 0:
        yield f"Without evictd {signal.value} would not have come below {signal_amount(least, signal)}."
    elif seen is not None and seen[0] <= 0:
        yield f"Nothing was left of {signal.value} at {duration_text(seen[1])}, without evictd at {duration_text(at)}."
    else:
        yield f"Without evictd nothing would have been left of {signal.value} at {_beside(at, evicted)}."


def _least(run: Run, signal: Signal) -> tuple[int, int] | None:
    """Return the least amount of a signal that was read, and when it first was."""
    readings = [(cycle.at, cycle.observation.node) for cycle in run.cycles]
    seen = [(at, signal_observations(node).get(signal)) for at, node in readings if node is not None]
    return min(((each.available.value(), at) for at, each in seen if each is not None), default=None)


def _beside(at: int, evicted: Sequence[Loss]) -> str:
    """Write a time, and how far it is from the first eviction."""
    if not evicted:
        return duration_text(at)
    side = "before" if at < evicted[0].at else "after"
    return f"{duration_text(at)}, {duration_text(abs(at - evicted[0].at))} {side} the first eviction"


def _names(slots: Sequence[str]) -> str:
    return first_of([clean(slot) for slot in slots], MOST_NAMES)
