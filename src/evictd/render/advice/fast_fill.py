"""Says which settings of docs/tuning.md a fast fill demands, and where the documentation begins with a higher threshold.

The time that an eviction takes at a recorded rate is arithmetic: it needs no number of evictions, as a proposal does.
"""

from collections.abc import Iterator

from evictd.advice.evidence import documented_line
from evictd.advice.signal_advice import SignalAdvice
from evictd.config.lint_model import Surroundings
from evictd.config.little_left import little_left
from evictd.core.eviction.time_left import FREEZE_WITHIN
from evictd.core.model.signal import MEMORY_SIGNALS, SIGNALS, Signal
from evictd.core.model.threshold import Threshold, ThresholdValue
from evictd.core.units.duration import SECOND
from evictd.core.units.quantity import of_bytes, parse_quantity
from evictd.render.text import clean, duration_text, signal_amount


def fast_lines(each: SignalAdvice) -> Iterator[str]:
    """Say that what was behind the threshold lasted less than an eviction takes, and what begins earlier.

    Not of memory with enough evidence: what is proposed makes up for it.
    """
    worst, on_disk = each.worst, SIGNALS[each.signal].filesystem is not None
    if not worst.led_by or not (on_disk or (each.signal in MEMORY_SIGNALS and not each.enough_evidence)):
        return
    begins = worst.limit + worst.led_by
    lasts, takes = (amount * SECOND // worst.rate for amount in (worst.limit, begins))
    limit, earlier, rate = (signal_amount(amount, each.signal) for amount in (worst.limit, begins, worst.rate))
    freeze = "; `disk.freeze: Auto` ends the writing meanwhile" if on_disk and lasts < FREEZE_WITHIN else ""
    yield (
        f"at {rate} a second the {limit} behind the threshold last {duration_text(lasts)}, less than the "
        f"{duration_text(takes)} that an eviction takes: `{'disk' if on_disk else 'memory'}.lead: Auto` begins at {earlier}, and "
        f"so does a threshold of that{freeze}"
    )


def little_left_lines(each: SignalAdvice) -> Iterator[str]:
    """Say that thresholds are right for the recorded load although `evictd check` notes them."""
    if not each.worst.capacity:
        return
    around = Surroundings(capacities={each.signal: of_bytes(each.worst.capacity)})
    amounts = [amount for amount in (each.hard, each.soft or each.kept_soft) if amount is not None]
    set_to = [Threshold(signal=each.signal, value=ThresholdValue(quantity=of_bytes(amount))) for amount in amounts]
    for found in little_left(set_to, around):
        yield (
            f"set {signal_amount(each.hard, each.signal)}, which is by what was recorded. `evictd check` then notes "
            f"{found.lint.value} on {clean(each.worst.node)}, for load that was not recorded: "
            "follow it only if other pods come to these nodes"
        )
        return
    if each.signal is not Signal.MEMORY_AVAILABLE:
        return
    documented = documented_line(each.signal, each.worst.capacity)
    if max(amounts) < parse_quantity(documented).value():
        yield (
            f"set {signal_amount(each.hard, each.signal)}, which is by what was recorded. docs/tuning.md begins with "
            f"{documented} on a node of this size, for load that was not recorded: take that if other pods come to these nodes"
        )
