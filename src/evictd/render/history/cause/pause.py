"""Says of a pause of evictions who holds what is short, and what the last two evicted pods held, where growth took that."""

from collections.abc import Collection, Mapping
from typing import Any

from evictd.codec.records.journal_record import JournalRecord
from evictd.core.model.amount_text import unit_text
from evictd.core.model.attribution import Attribution, growth_text, holders_text
from evictd.core.model.signal import SIGNALS, Unit, signal_named
from evictd.render.attribution import is_little, recorded_attribution
from evictd.render.history.cause.recorded import recorded_amount
from evictd.render.text import clean, usage_text

_LAST = 2


def pause_text(
    text: str, record: JournalRecord, finding: Mapping[str, Any], evicted: Collection[tuple[str, str]]
) -> str:
    """Return the recorded message of a pause with who holds what is short in the place of a little growth.

    `evicted` are namespace and owner (`Kind/name`) of the pods that were evicted before.
    """
    return f"{_with_holders(text, record, finding, evicted)}{taken_at_once(record, finding)}"


def _with_holders(
    text: str, record: JournalRecord, finding: Mapping[str, Any], evicted: Collection[tuple[str, str]]
) -> str:
    held, missing = recorded_attribution(record.findings), recorded_amount(finding.get("needed"))
    growth = "" if held is None else f"; {growth_text(held, named=False)}"
    if held is None or missing is None or not held.filled or not is_little(held, missing) or not text.endswith(growth):
        return text
    again = _took_again(held, record, evicted)
    return clean(f"{text.removesuffix(growth)}{again}; {holders_text(held)}")


def _took_again(held: Attribution, record: JournalRecord, evicted: Collection[tuple[str, str]]) -> str:
    """Write that a pod of the owner of evicted ones grew, which took what these gave back; empty where none did."""
    grower = next((each for each in record.observation.pods if each.full_name == held.main_grower), None)
    if grower is None or (grower.metadata.namespace, grower.owner) not in evicted:
        return ""
    amount = unit_text(held.grower_grown, SIGNALS[held.signal].unit)
    what = f"{amount} {held.signal.value}" if SIGNALS[held.signal].unit is Unit.COUNT else amount
    return f"; {grower.full_name}, which {grower.owner} created in their place, took {what} again"


def taken_at_once(record: JournalRecord, finding: Mapping[str, Any]) -> str:
    """Return a clause where more is missing than before the last two evictions; empty where it is not known, or not so."""
    name, missing = str(finding.get("signal")), recorded_amount(finding.get("needed"))
    signal, last = signal_named(name), record.state.effects.get(name, ())[-_LAST:]
    if signal is None or missing is None or len(last) < _LAST:
        return ""
    held, freed = sum(each.held for each in last), sum(each.freed for each in last)
    if held <= freed or missing < last[0].missing:
        return ""
    took = "the rest" if freed else "as much"
    return f"; the two pods held {usage_text(held, SIGNALS[signal].resource)}, and what grew took {took} at once"
