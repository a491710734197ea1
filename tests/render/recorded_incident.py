"""A recorded eviction, as the tests of an incident read it."""

from dataclasses import replace
from typing import Any

from evictd.codec.records.journal import encode_entry
from evictd.codec.records.journal_record import (
    JournalRecord,
    decode_record,
)
from evictd.core.eviction.synchronize import synchronize
from evictd.core.model.observation import Outcomes
from evictd.core.model.pod import Pod
from evictd.core.model.state import State
from evictd.core.units.duration import MINUTE, SECOND
from evictd.render.history.evictions import evictions_of
from evictd.render.incident.record.aftermath import MetAfter
from evictd.render.incident.record.collect import incident_of
from evictd.render.incident.record.incident import Incident
from evictd.render.incident.record.verdict import EvictionVerdict, Grower, Need
from tests.daemon.world import CONFIG, GI, NOW, STATIC, WEB, observe, pod

OLD, NEW = (replace(pod(f"hog-{name}"), owner="ReplicaSet/hog") for name in ("old", "new"))
AT = 30
"""The second at which the pod is evicted."""


def journal_lines(*, dry_run: bool = False) -> list[bytes]:
    """Memory falls by 64 MiB a second, a pod is evicted at 00:00:30 and gone 2 s later, its owner creates another one."""
    lines, state = [], State()
    story: tuple[tuple[int, int, tuple[Pod, ...], tuple[str, ...]], ...] = (
        (0, 3 * GI, (OLD, WEB, STATIC), ()),
        (AT, GI // 2, (OLD, WEB, STATIC), ()),
        (AT + 2, 6 * GI, (WEB, STATIC), (OLD.uid,)),
        (AT + 12, 6 * GI, (NEW, WEB, STATIC), (OLD.uid,)),
        (AT + 400, 5 * GI, (NEW, WEB, STATIC), (OLD.uid,)),
    )
    for seconds, available, pods, gone in story:
        at = NOW + seconds * SECOND
        seen = replace(
            observe(available, at, pods=pods), outcomes=Outcomes(cleaned_up=frozenset(gone), dry_run=dry_run)
        )
        step = synchronize(state, seen, CONFIG, at)
        extra: dict[str, Any] = {"dryRun": dry_run}
        if seconds == AT:
            extra["trend"] = {"memory.available": [[20.0, 5 * GI // 2], [10.0, 3 * GI // 2], [0.0, GI // 2]]}
        wall = f"2026-01-01T00:{seconds // 60:02}:{seconds % 60:02}Z"
        lines.append(
            encode_entry(now=at, wall=wall, state=state, observation=seen, config=CONFIG, step=step, extra=extra)
        )
        state = step.state
    return lines


def recorded(*, dry_run: bool = False) -> list[JournalRecord]:
    return [decode_record(line) for line in journal_lines(dry_run=dry_run)]


def incident(*, dry_run: bool = False) -> Incident:
    """The recorded incident, of which the readings alone say what came back: tests change them."""
    records = recorded(dry_run=dry_run)
    found = incident_of(records, evictions_of(records), "last")
    assert dry_run or found.freed == 11 * GI // 2
    return replace(found, freed=0)


def judged(need: Need, *growers: Grower) -> Incident:
    """The incident with a verdict, whose threshold was met again."""
    verdict = EvictionVerdict(need=need, pod="default/hog-old", growers=growers, played=5 * MINUTE)
    met = MetAfter(again=9.0)
    return replace(incident(), host_filled=False, with_request="default/web", verdict=verdict, met=met)
