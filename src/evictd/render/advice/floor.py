"""Says why no lower hard threshold is proposed than the nodes have."""

from collections.abc import Iterator

from evictd.advice.floor import NotLower
from evictd.advice.proposal import SignalAdvice
from evictd.render.text import clean, signal_amount


def floor_lines(each: SignalAdvice) -> Iterator[str]:
    """Yield the reason, if there is one."""
    floor = each.not_lower
    if floor is None:
        return
    on = f" on {clean(floor.node)}"
    why = {
        NotLower.NOT_MEASURED: "with this the use of an eviction was not measured",
        NotLower.KILLED: f"the kernel killed for want of memory{on}",
        NotLower.NO_HARD: f"no eviction was by the hard threshold{on if each.by_hard else ''}",
        NotLower.SOFT: "soft evictions do not show how long a hard one waits until pods are measured",
        NotLower.FAST: f"{each.signal.value} fell by {signal_amount(floor.rate, each.signal)} a second{on}",
    }[floor.why]
    yield f"no lower one is proposed, because {why}"
