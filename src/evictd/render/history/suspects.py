"""Finds the pods that may be the cause although nothing was measured of them: a hostPath volume has no usage of its own."""

from evictd.codec.journal_record import JournalRecord, RecordedPod, uid_of
from evictd.core.model.signal import DISKS, SIGNALS, signal_named
from evictd.render.history.recorded_ranking import ranking_of
from evictd.render.text import clean, first_of

_NAMED = 3


def suspects_of(record: JournalRecord, signal: str) -> tuple[str, ...]:
    """Return the pods that have a hostPath volume and may be evicted, where a disk is short and its ranking is known."""
    return tuple(clean(pod.full_name) for pod in _suspected(record, signal))


def owners_of_suspects(record: JournalRecord, signal: str) -> tuple[str, ...]:
    """Return `Kind/name` of the owners that create such pods, each once."""
    return tuple(dict.fromkeys(clean(pod.owner) for pod in _suspected(record, signal) if pod.owner))


def _suspected(record: JournalRecord, signal: str) -> tuple[RecordedPod, ...]:
    known = signal_named(signal)
    if known is None or SIGNALS[known].resource not in DISKS:
        return ()
    may_go = {uid_of({"pod": row}) for row in ranking_of(record, known).get("rows", ()) if not row.get("protected")}
    return tuple(pod for pod in record.observation.pods if pod.metadata.uid in may_go and pod.has_host_path)


def suspects_text(suspects: tuple[str, ...]) -> str:
    """Write that these pods may be the cause; empty without one."""
    if not suspects:
        return ""
    have = "has a hostPath volume, which is" if len(suspects) == 1 else "have hostPath volumes, which are"
    return f"{first_of(suspects, _NAMED)} {have} not measured and may be the cause"
