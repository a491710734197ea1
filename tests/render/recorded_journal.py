"""Journals of a few cycles, as the tests of history and of `why` read them."""

from dataclasses import replace

from evictd.codec.records.journal import encode_entry
from evictd.codec.records.journal_record import (
    JournalRecord,
    decode_record,
)
from evictd.core.eviction.synchronize import synchronize
from evictd.core.model.observation import Outcomes
from evictd.core.model.state import State
from evictd.core.units.duration import MINUTE, SECOND
from tests.daemon.world import CONFIG, GI, NOW, WEB, observe


def journal(*, dry_run: bool = False) -> list[JournalRecord]:
    """A shortage in which the hog is evicted, is gone, and the condition ends ten minutes later; then a boot."""
    records, state, line, at = [], State(), b"", NOW
    for at, available, gone in (
        (NOW, GI // 2, ()),
        (NOW + 10 * SECOND, 6 * GI, ("uid-hog",)),
        (NOW + 10 * MINUTE, 6 * GI, ()),
    ):
        pods = (WEB,) if gone or at > NOW else None
        seen = observe(available, at) if pods is None else observe(available, at, pods=pods)
        seen = replace(seen, outcomes=Outcomes(cleaned_up=frozenset(gone)))
        step = synchronize(state, seen, CONFIG, at)
        extra = {
            "dryRun": dry_run,
            "refused": [{"pod": "default/web", "uid": "uid-web", "detail": "needs 2 healthy pods"}] if gone else [],
        }
        wall = f"2026-01-01T{at // (3600 * SECOND):02}:{at // MINUTE % 60:02}:00Z"
        line = encode_entry(now=at, wall=wall, state=state, observation=seen, config=CONFIG, step=step, extra=extra)
        records.append(decode_record(line))
        state = step.state
    return [*records, decode_record(line.replace(f'"now":{at}'.encode(), b'"now":7'))]


def of_blindness() -> list[JournalRecord]:
    """No reading succeeds for ten seconds."""
    records, state = [], State()
    for second in (0, 10, 20):
        seen = observe(6 * GI, NOW + second * SECOND)
        seen = replace(seen, node=None) if second == 10 else seen
        step = synchronize(state, seen, CONFIG, NOW + second * SECOND)
        wall = f"2026-01-01T00:00:{second:02}Z"
        line = encode_entry(
            now=NOW + second * SECOND, wall=wall, state=state, observation=seen, config=CONFIG, step=step
        )
        records.append(decode_record(line))
        state = step.state
    return records
