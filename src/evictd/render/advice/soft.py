"""Says what a soft threshold that is proposed rests on, or why none is."""

from collections.abc import Iterator

from evictd.advice.episode import longest_wait
from evictd.advice.proposal import SignalAdvice
from evictd.advice.soft import SOFT_GRACE
from evictd.render.text import duration_text, signal_amount


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
    elif each.kept_soft is None:
        fast = f"it falls too fast, by {signal_amount(each.rate, each.signal)} a second"
        yield f"no soft threshold: {fast if each.rate else 'how fast it falls was not measured'}"


def _unallocatable(each: SignalAdvice) -> str:
    """Say how much of it no process can allocate; empty where all of it is of use."""
    if each.unallocatable <= 0:
        return ""
    return f"; it counts up to {signal_amount(each.unallocatable, each.signal)} that processes cannot allocate"
