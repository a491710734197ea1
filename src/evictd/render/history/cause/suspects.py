"""Finds the pods that may be the cause although nothing was measured of them: a hostPath volume has no usage of its own."""

from collections.abc import Collection

from evictd.codec.records.journal_record import JournalRecord, uid_of
from evictd.core.model.signal import DISKS, SIGNALS, signal_named
from evictd.render.history.cause.recorded import ranking_of
from evictd.render.text import clean, first_of

_NAMED = 3


def suspects_of(record: JournalRecord, signal: str) -> dict[str, str]:
    """Return `Kind/name` of the owner, empty without one, by name of each pod with a hostPath volume that may be evicted.

    Empty where no disk is short, or its ranking is not known.
    """
    known = signal_named(signal)
    if known is None or SIGNALS[known].resource not in DISKS:
        return {}
    may_go = {uid_of({"pod": row}) for row in ranking_of(record, known)["rows"] if not row.get("protected")}
    suspected = (each for each in record.observation.pods if each.metadata.uid in may_go and each.has_host_path)
    return {clean(each.full_name): clean(each.owner) for each in suspected}


def suspects_text(suspects: Collection[str]) -> str:
    """Write that these pods may be the cause; empty without one."""
    if not suspects:
        return ""
    have = "has a hostPath volume, which is" if len(suspects) == 1 else "have hostPath volumes, which are"
    return f"{first_of([*suspects], _NAMED)} {have} not measured and may be the cause"
