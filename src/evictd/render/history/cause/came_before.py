"""Says which pods came shortly before an eviction, where nothing that was there grew: these filled what was short."""

from collections.abc import Mapping
from typing import Any

from evictd.codec.records.journal_record import JournalRecord
from evictd.core.model.signal import MEMORY_SIGNALS, SIGNALS, signal_named
from evictd.core.units.duration import format_seconds
from evictd.render.attribution import recorded_missing
from evictd.render.text import usage_text

_FEWEST = 2


def came_before(record: JournalRecord, because: Mapping[str, Any]) -> str:
    """Write how many pods came and what they hold together; empty where that is less than what was missing, or not known.

    A journal has this of an eviction with which a condition of the node is reported.
    """
    signal = signal_named(str(because.get("signal")))
    held = None if signal is None else record.holdings.get(signal.value)
    if signal is None or held is None:
        return ""
    came = {uid: held.used.get(uid, 0) for uid in held.arrived}
    if signal in MEMORY_SIGNALS:  # those of this cycle; the journal has the holders before it
        came |= {uid: used for uid, used in record.observation.memory.items() if uid not in held.used}
    missing, amount = recorded_missing(because), sum(came.values())
    if missing is None or len(came) < _FEWEST or not 0 < missing <= amount:
        return ""
    over = format_seconds(record.now - held.since)
    holds = usage_text(amount, SIGNALS[signal].resource)
    return f"{len(came)} pods came in the {over} before it and hold {holds} together; nothing else grew."
