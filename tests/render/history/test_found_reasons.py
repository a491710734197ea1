"""Checks the reasons for which no pod is evicted that only the findings of a cycle have."""

from pathlib import Path

import msgspec
import pytest

from evictd.codec.records.journal_record import JournalRecord, decode_record
from evictd.commands.played.world_journal import write_world_journal
from evictd.core.model.resources import Volume, VolumeKind
from evictd.core.units.duration import MINUTE
from evictd.render.history.blindness import without_ended_blindness
from evictd.render.history.cause.found_reasons import found_reasons
from evictd.render.history.folded_events import without_repeated_reasons
from evictd.render.history.history import EventKind, event_line, history
from evictd.render.history.pod.why_cause import cause_lines
from evictd.render.incident.incident_list import no_eviction_text
from evictd.world.behaviours import Usage
from evictd.world.loop import play
from evictd.world.model import Disk, NodeSpec
from tests.daemon.world import GI, NOW
from tests.playbook import config
from tests.render.recorded_journal import of_blindness
from tests.world.worlds import hog, holder, world

TEXT = (
    "No pod is evicted for nodefs.available: no evictable pod uses any of it, so no eviction would free any; "
    "default/logger has a hostPath volume, which is not measured and may be the cause"
)


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> list[JournalRecord]:
    """The journal of a node whose disk a hostPath volume fills, which is not measured."""
    host = (Volume(name="host", kind=VolumeKind.HOST_PATH),)
    grows = hog(rate=60 << 20, of=Usage.HOST_PATH, name="logger", owner="DaemonSet/logger", volumes=host)
    node = NodeSpec(memory=8 * GI, nodefs=Disk(capacity=100 * GI, used=40 * GI))
    played = play(
        world(grows, holder("web", GI), node=node, duration=40 * MINUTE), config(hard={"nodefs.available": "10%"})
    )
    path = write_world_journal(played, tmp_path_factory.mktemp("journal"), end=NOW)
    return [decode_record(line) for line in Path(path).read_bytes().splitlines()]


def test_a_reason_is_found_once_for_each_resource(records: list[JournalRecord]) -> None:
    """It is a finding for nodefs.available and for containerfs.available, which are one disk."""
    found = [each for record in records for each in found_reasons(record)]
    assert {text for text, _ in found} == {TEXT}
    assert {evidence["reason"] for _, evidence in found} == {"NothingHelps"}
    assert [evidence["suspects"] for _, evidence in found][:1] == [{"default/logger": "DaemonSet/logger"}]


def test_the_normal_course_of_an_eviction_and_damaged_findings_are_no_such_reason(records: list[JournalRecord]) -> None:
    (record, *_) = records
    for why, signal in (("WaitingForRelease", "nodefs.available"), ("NothingHelps", None), ("New", "nodefs.available")):
        finding = {"kind": "NoAction", "why": why, "signal": signal}
        assert not [*found_reasons(msgspec.structs.replace(record, findings=(finding,)))]


def test_the_history_has_the_reason_once_with_its_times(records: list[JournalRecord]) -> None:
    """The history had the condition and the reclaims alone, although the journal has the reason."""
    events = [*history(records)]
    reasons = [each for each in events if each.kind is EventKind.NO_ACTION]
    assert [(each.text, each.signal) for each in reasons] == [(TEXT, "nodefs.available")] * len(reasons)
    assert len(reasons) > 1
    (folded,) = (each for each in without_repeated_reasons(events) if each.kind is EventKind.NO_ACTION)
    assert folded.at == reasons[0].at
    assert folded.text == f"{TEXT}; the same again at {reasons[1].at[11:19]}"
    (begins,) = (each for each in events if each.kind is EventKind.CONDITIONS)
    assert begins.filled.startswith("Of 2.93Gi that filled the disk since "), "no eviction says it"


def test_the_pod_that_may_be_the_cause_is_named_with_what_to_do(records: list[JournalRecord]) -> None:
    """`why` said of it that no eviction of the journal concerned it."""
    why, do = cause_lines(records, "default/logger")
    assert why.startswith("it may be why nodefs.available is short, because its hostPath volume is not measured: of ")
    assert do.startswith("measure the hostPath volumes of default/logger with `du -xsh`: ")
    assert cause_lines(records, "default/web") == ()
    said = no_eviction_text(history(records), end=records[-1])
    assert f"{TEXT} (NothingHelps)\nnow: {do}" in said


def test_blindness_has_a_begin_and_an_end() -> None:
    """The history of an hour without a reading had no line."""
    calm, blind, after = of_blindness()
    later = msgspec.structs.replace(blind, now=blind.now + 1)
    found = [(each.kind, event_line(each)) for each in history((calm, blind, later, after, after))]
    assert found[-2:] == [
        (EventKind.NO_ACTION, "The stats could not be read, so nothing is decided (NoStats)"),
        (EventKind.RESUMED, "the stats are read again"),
    ]
    assert len(found) == 2, found


def test_a_signal_that_is_not_read_has_a_begin_and_an_end() -> None:
    """The history of six minutes in which memory was not read had no line."""
    calm, blind, after = of_blindness()
    finding = {"kind": "SignalUnobserved", "signal": "memory.available"}
    unread = msgspec.structs.replace(calm, findings=(finding, {**finding, "signal": "pid.available"}))
    blind, after = (msgspec.structs.replace(each, now=calm.now) for each in (blind, after))
    found = [(each.kind, event_line(each)) for each in history((calm, unread, blind, unread, after))]
    assert found == [
        (
            EventKind.NO_ACTION,
            "memory.available could not be read, so no threshold of it is compared (SignalUnobserved)",
        ),
        (EventKind.NO_ACTION, "The stats could not be read, so nothing is decided (NoStats)"),
        (EventKind.RESUMED, "the stats are read again"),
        (EventKind.RESUMED, "memory.available is read again"),
    ]
    assert not without_ended_blindness(history((calm, unread, blind, unread, after)))
