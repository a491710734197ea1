"""How much the pods had grown before an eviction since an earlier record."""

from dataclasses import replace

from evictd.codec.records.journal import decode_entry
from evictd.codec.records.journal_record import decode_record
from evictd.commands.decided.incident_past import UNKNOWN, Past, RecentLines, past_of, retaking, taken_by, without
from evictd.commands.played.world_journal import journal_lines
from evictd.core.eviction.synchronize import synchronize
from evictd.core.model.signal import Signal
from evictd.core.units.duration import MINUTE, SECOND
from evictd.render.history.history import EventKind, HistoryEvent
from evictd.render.incident.record.incident import Incident
from tests.render.played_worlds import incident_run
from tests.render.recorded_incident import incident
from tests.shortages import holders

MI = 1 << 20
KILL = HistoryEvent(at="2026-01-01T00:00:20Z", kind=EventKind.KERNEL, pod="default/web", text="")


def at_time(at: str) -> Incident:
    """An incident at a time."""
    found = incident()
    return replace(found, signal=Signal.MEMORY_AVAILABLE, event=replace(found.event, at=at))


def test_what_each_pod_held_is_read_from_the_oldest_line_of_the_hour() -> None:
    lines = tuple(journal_lines(incident_run("44-limit-of-evictions"), end=1_800_000_000 * SECOND))
    recent = RecentLines()
    assert {recent.add(decode_record(line).wall, line) for line in lines} == {lines[0]}
    entry = decode_entry(lines[0])
    state = synchronize(entry.state, entry.observation, entry.config, entry.now).state
    past = past_of(entry, state, at_time(f"{entry.wall[:11]}23:59:59Z"))
    assert past.over > 2 * MINUTE
    uid = next(iter(past.used))
    assert past.grown(uid, (past.used[uid] or 0) + MI) == MI
    assert past.grown("came later", MI) == MI
    assert past_of(entry, state, at_time(entry.wall)) == UNKNOWN, "at the same time"
    assert past_of(entry, None, at_time(f"{entry.wall[:11]}23:59:59Z")) == UNKNOWN, "a damaged record"
    assert UNKNOWN.grown(uid, MI) is None
    assert Past(over=MINUTE, used={"a": None}).grown("a", MI) is None, "it was not measured then"


def test_a_line_older_than_an_hour_is_forgotten() -> None:
    recent = RecentLines()
    assert recent.add("2026-01-01T00:00:00Z", b"old") == b"old"
    assert recent.add("2026-01-01T02:00:00Z", b"new") == b"new"


def test_a_pod_that_the_kernel_killed_takes_again_what_it_had_held() -> None:
    """Its 300Mi after a restart were called a growth of 10Mi a second, while the host leaked."""
    held = holders({"web": 300 * MI, "leak": 300 * MI}, {"web": 300 * MI, "leak": 200 * MI}, at=10 * MINUTE)
    names, killed = {"web": "default/web", "leak": "default/leak"}, replace(incident(), before=(KILL,))
    past = Past(over=5 * MINUTE, used={"web": 295 * MI, "leak": 100 * MI})
    assert retaking(held, past, names, killed) == {"web"}
    young = replace(past, over=MINUTE)
    assert retaking(held, young, names, killed) == {"web"}, "a journal that is a minute old has the same amount"
    assert young.grown("leak", 300 * MI) is None, "a minute says no more than the growth of the last minute"
    assert retaking(held, past, names, replace(killed, before=())) == frozenset(), "a burst"
    assert retaking(held, replace(past, used={"web": 100 * MI}), names, killed) == frozenset(), "it grew beyond that"
    assert retaking(held, UNKNOWN, names, killed) == frozenset()
    assert without(held, {"web"}).growing.keys() == {"leak"}


def test_a_pod_that_came_since_then_holds_what_one_of_its_owner_had_held() -> None:
    """The 115th pod of an agent of 700Mi was said to have grown by 23.3Mi a second, while the host leaked."""
    held = holders({"new": 300 * MI}, {"new": 300 * MI}, at=10 * MINUTE)
    recorded = incident()
    event = replace(recorded.event, pod="default/web", uid="new", owner="DaemonSet/web")
    found = replace(recorded, event=event, before=(KILL,))
    past = Past(over=5 * MINUTE, used={"old": 295 * MI}, owners={"old": ("default", "DaemonSet/web")})
    assert retaking(held, past, {"new": "default/web"}, found) == {"new"}
    assert retaking(held, past, {"new": "default/web"}, replace(found, before=())) == frozenset(), "it was not killed"
    for other in (("default", "DaemonSet/other"), ("other", "DaemonSet/web")):
        assert retaking(held, replace(past, owners={"old": other}), {"new": "default/web"}, found) == frozenset()
    assert retaking(held, replace(past, used={"old": 100 * MI}), {"new": "default/web"}, found) == frozenset(), (
        "it grew"
    )
    assert retaking(held, past, {"new": "default/web"}, replace(found, event=replace(event, uid="b"))) == frozenset()


def test_what_pods_took_since_the_supply_became_short_is_summed() -> None:
    lines = journal_lines(incident_run("44-limit-of-evictions"), end=1_800_000_000 * SECOND)
    entry = next(each for each in map(decode_entry, lines) if any(row["kind"] == "EvictPod" for row in each.decisions))
    state = synchronize(entry.state, entry.observation, entry.config, entry.now).state
    uids = [each.uid for each in entry.observation.pods]
    assert taken_by(uids, state, Signal.MEMORY_AVAILABLE) > 2000 * MI
    assert taken_by(uids, state, Signal.PID_AVAILABLE) == 0
    assert taken_by((), state, Signal.MEMORY_AVAILABLE) == 0
