"""Says what a soft threshold that is proposed rests on, or why none is, and where a threshold evicts another pod."""

from collections.abc import Iterator, Sequence

from evictd.advice.episode import Episode, longest_wait, still_met
from evictd.advice.evidence import AtRest
from evictd.advice.signal_advice import SignalAdvice
from evictd.advice.soft import SOFT_GRACE
from evictd.core.model.signal import Signal
from evictd.render.text import clean, duration_text, first_of, signal_amount

_SHOWN = 5
"""Nodes that are named."""


def soft_lines(each: SignalAdvice) -> Iterator[str]:
    """Say what the soft threshold rests on, or why none is proposed."""
    if each.soft is not None:
        wait = longest_wait(each.signal)
        until_measured = f", up to {duration_text(wait)} until pods are measured," if wait else ""
        yield (
            f"soft {signal_amount(each.soft, each.signal)}: at {signal_amount(each.rate, each.signal)} a second, "
            f"{duration_text(SOFT_GRACE)}{until_measured} and evictionMaxPodGracePeriod pass "
            f"before the hard threshold is met{_unallocatable(each)}"
        )
    elif each.kept_soft is None and each.soft_other_first is not None:
        soft, found = each.soft_other_first
        why = _at_rest(each.signal, soft, found) if isinstance(found, AtRest) else _other_first(soft, found)
        yield f"no soft threshold: {why}"
    elif each.kept_soft is None and each.hard_first is not None:
        acts = signal_amount(each.hard_first.at, each.signal)
        first = f"the hard one acts first on {clean(each.hard_first.node)}"
        yield f"no soft threshold: {first}, where up to {acts} are left by the count of a soft one"
    elif each.kept_soft is None:
        fast = f"it falls too fast, by {signal_amount(each.rate, each.signal)} a second{_only_on(each.fast)}"
        yield f"no soft threshold: {fast if each.rate else 'how fast it falls was not measured'}"


def _only_on(fast: Sequence[str]) -> str:
    """Say which nodes the others are to be advised without; empty where it falls too fast on all."""
    if not fast:
        return ""
    apart = "it" if len(fast) == 1 else "them"
    return f", only on {first_of([clean(node) for node in fast], _SHOWN)}: advise {apart} apart from the other nodes"


def hard_lines(each: SignalAdvice) -> Iterator[str]:
    """Say where the hard threshold would have evicted another pod, and what else it raises."""
    if each.other_first is not None:
        yield _other_first(each.hard, each.other_first)
    if each.copied and each.now is not None and each.hard > each.now[0]:
        yield (
            f"{Signal.ALLOCATABLE_MEMORY_AVAILABLE.value} follows it to {signal_amount(each.hard, each.signal)}, for the memory "
            "of all pods, unless enforceNodeAllocatable is [none]"
        )


def _other_first(threshold: int, episode: Episode) -> str:
    """Say which pod a threshold evicts that acts when the evicted one used less."""
    pod, other = clean(episode.pod), clean(episode.overtaken.by)
    amount = signal_amount(threshold, episode.signal)
    at = f"on {clean(episode.node)} at {clean(episode.wall)}"
    if still_met([episode], threshold) is not None:
        left = signal_amount(episode.recovered or 0, episode.signal)
        return f"{amount} are met still after {pod} is gone, so that one more pod goes: {left} were available then {at}"
    return (
        f"{amount} would have evicted {other} in place of {pod} {at}, if {pod} is the pod that grew: it acts earlier, when "
        "that used less"
    )


def _at_rest(signal: Signal, threshold: int, found: AtRest) -> str:
    """Say that a soft threshold is met without a shortage."""
    ago = f"{duration_text(found.ago)} before " if found.ago else ""
    return (
        f"{signal_amount(threshold, signal)} are met without a shortage, so that pods go while nothing is used up: "
        f"{signal_amount(found.amount, signal)} were available on {clean(found.node)} {ago or 'at '}{clean(found.wall)}"
    )


def _unallocatable(each: SignalAdvice) -> str:
    """Say how much of it no process can allocate; empty where all of it is of use."""
    if each.unallocatable <= 0:
        return ""
    return f"; it counts up to {signal_amount(each.unallocatable, each.signal)} that processes cannot allocate"
