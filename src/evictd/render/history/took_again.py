"""Says of a pause of evictions who holds what is short, where what grew is little beside what is missing.

The message of the event names what grew only. Where that is what replacements of the evicted pods took again, it hides the cause.
"""

from collections.abc import Collection, Mapping
from typing import Any

from evictd.codec.journal_record import JournalRecord
from evictd.core.model.amount_text import unit_text
from evictd.core.model.attribution import Attribution, growth_text, holders_text
from evictd.core.model.signal import SIGNALS, Unit
from evictd.render.attribution import is_little, recorded_attribution
from evictd.render.history.recorded_amount import recorded_amount
from evictd.render.history.taken_at_once import taken_at_once
from evictd.render.text import clean


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
