"""Finds how much memory is used outside pods, and which process of the host probably held it: the kernel killed it later."""

from collections.abc import Sequence
from itertools import pairwise

from evictd.codec.records.journal_record import JournalRecord
from evictd.core.model.signal import Resource
from evictd.render.attribution import clock_text
from evictd.render.text import amount_text, clean, first_of

_MUCH = 10
"""The part of the memory that has to come back when the kernel kills what is no pod."""
_NAMED = 3


def outside_pods_of(record: JournalRecord) -> int | None:
    """Return the bytes of memory that were used outside pods, without what no process can allocate; `None` if unknown."""
    seen, used = record.observation, record.observation.memory
    node = None if seen.summary is None else seen.summary.node.memory
    if node is None or node.working_set_bytes is None or any(each.metadata.uid not in used for each in seen.pods):
        return None
    return max(node.working_set_bytes - seen.unallocatable - sum(used.values()), 0)


def host_suspect(records: Sequence[JournalRecord]) -> str:
    """Write what is no pod and gave most memory back when the kernel killed its processes; empty where nothing did."""
    most, text = 0, ""
    for earlier, record in pairwise(records):
        killed = dict.fromkeys(clean(each.where) for each in record.extra.kernel_killed if not each.uid)
        if not killed or record.now < earlier.now:
            continue
        before, after = outside_pods_of(earlier), outside_pods_of(record)
        back = 0 if before is None or after is None else before - after
        if back > most and back * _MUCH >= record.observation.whole_memory > 0:
            most, amount = back, amount_text(back, Resource.MEMORY)
            when = f"when the kernel killed its processes at {clock_text(clean(record.wall))}"
            text = f"suspect {first_of([*killed], _NAMED)}, because {amount} came back {when}"
    return text
