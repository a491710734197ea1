"""Checks what the list of incidents has of each one, and of a journal without an eviction why no pod went and what to do."""

from dataclasses import replace

import msgspec

from evictd.codec.records.journal_record import RecordedState
from evictd.render.history.history import EventKind, HistoryEvent
from evictd.render.incident.incident_list import incident_list_document, kills_text, listed_lines, no_eviction_text
from tests.render.recorded_incident import incident
from tests.render.recorded_journal import journal

MI = 1 << 20


def test_page_cache_that_was_most_of_what_the_pod_held_is_told() -> None:
    """`the name decides` was all that the list said of an eviction for page cache (world 19)."""
    event = incident().event
    assert list(listed_lines(event)) == [event.why, event.filled]
    assert list(listed_lines(replace(event, filled=""))) == [event.why]
    because = {**event.evidence["because"], "usage": "962Mi", "filePages": 762 * MI}
    cached = replace(event, evidence={**event.evidence, "because": because})
    pages = "were clean file pages, which the kernel can drop."
    assert list(listed_lines(cached))[-1] == f"762Mi of what it held {pages}"
    of_node = replace(cached, evidence={"because": {**because, "nodeFilePages": 6 * 1024 * MI}})
    assert list(listed_lines(of_node))[-1] == f"762Mi of what it held, and 6Gi of what the node held {pages}"
    little = replace(cached, evidence={"because": {**because, "filePages": 100 * MI}})
    assert list(listed_lines(little)) == [event.why, event.filled]
    assert list(listed_lines(replace(cached, evidence={}))) == [event.why, event.filled]


AT = "2026-01-01T00:00:00Z"


ENDS = HistoryEvent(
    at=AT,
    kind=EventKind.CONDITIONS,
    text="MemoryPressure ends",
    ended=("MemoryPressure",),
    evidence={"conditions": []},
)


def test_it_says_what_was_short_why_no_pod_went_and_what_to_do() -> None:
    """A reader at 3 a.m. was sent to another command (worlds 11 and 15)."""
    event = HistoryEvent(
        at=AT,
        kind=EventKind.NO_ACTION,
        pod="default/static",
        text="No pod is evicted for memory.available: default/static holds more than all of them and is a static pod",
        signal="memory.available",
        evidence={"reason": "ProtectedCulprit"},
    )
    assert no_eviction_text(
        [event, HistoryEvent(at=AT, kind=EventKind.CONDITIONS, text="MemoryPressure ends", ended=("MemoryPressure",))]
    ) == (
        f"the journal has no eviction. {AT}: {event.text} (ProtectedCulprit)\n"
        "now: limit default/static or move it to another node (if it is static: change its manifest)"
    )


def test_it_begins_with_the_state_of_the_node() -> None:
    """Whether the node was well again was said by the history alone (world 15)."""
    evidence = {"reason": "ProtectedCulprit"}
    event = HistoryEvent(at=AT, kind=EventKind.NO_ACTION, text="None", signal="memory.available", evidence=evidence)
    finding = {"kind": "Threshold", "threshold": {"signal": "memory.available"}, "met": False}
    state = RecordedState(node_conditions_last_observed_at={"MemoryPressure": 0})
    end = msgspec.structs.replace(journal()[0], wall=AT, now=0, state=state, findings=(finding,))
    clear = "no threshold of memory.available was met at the last record, 00:00:00"
    assert f"\nnow: {clear}; limit " in no_eviction_text([event], end=end)


def test_a_host_that_is_the_cause_is_looked_at() -> None:
    text = "No pod is evicted for nodefs.available: 1Gi is missing"
    event = HistoryEvent(
        at=AT, kind=EventKind.NO_ACTION, text=text, signal="nodefs.available", evidence={"reason": "NothingHelps"}
    )
    assert "\nnow: free disk space outside pods (" in no_eviction_text([event])
    newer = HistoryEvent(at=AT, kind=EventKind.NO_ACTION, text="another reason", evidence={"reason": "OfANewerDaemon"})
    assert no_eviction_text([newer]) == f"the journal has no eviction. {AT}: another reason (OfANewerDaemon)"


def test_a_pod_that_was_leaving_already_is_no_eviction() -> None:
    event = HistoryEvent(at=AT, kind=EventKind.SHORTENED, text="shorten the grace period of default/old to 1s")
    assert no_eviction_text([event]) == (
        f"the journal has no eviction. {AT}: shorten the grace period of default/old to 1s; it was being deleted already, "
        "so that is no eviction and no incident"
    )
    filled = replace(
        event, filled="Of 1Gi that filled memory, pods took 1Gi (all of it default/new); nothing else grew."
    )
    assert no_eviction_text([filled]).endswith(
        "no incident. Of 1Gi that filled memory, pods took 1Gi (all of it default/new); nothing else grew"
    )
    assert no_eviction_text([]) == (
        "the journal has no eviction; `evictd history` says what was decided; "
        "kills by the kernel at a pod's own limit, and on cgroup v1 all, are only in `dmesg`"
    ), "of a container that was OOMKilled on cgroup v1 it said nothing"


def test_nothing_is_to_do_where_the_condition_ended_afterwards() -> None:
    event = HistoryEvent(at=AT, kind=EventKind.SHORTENED, text="shorten the grace period of default/old to 1s")
    ended = f"\nnow: nothing to do: MemoryPressure ended at {AT[11:19]}"
    assert no_eviction_text([event, ENDS]).endswith(f"no eviction and no incident{ended}")
    begins = replace(ENDS, begun=("MemoryPressure",), ended=(), evidence={"conditions": ["MemoryPressure"]})
    assert "now:" not in no_eviction_text([event, ENDS, begins])
    assert "now:" not in no_eviction_text([ENDS, event])


def test_kills_by_the_kernel_count_where_evictd_had_no_reason_of_its_own() -> None:
    """The journal of a node whose kernel killed pods was said to have nothing (world 43)."""
    kill = HistoryEvent(at=AT, kind=EventKind.KERNEL, text="the kernel killed 2 processes of default/api")
    grew = "default/hog grew most before"
    assert no_eviction_text([kill], [grew]) == f"the journal has no eviction. {AT}: {kill.text}\n{grew}"
    paused = HistoryEvent(at=AT, kind=EventKind.NO_ACTION, text="a reason", evidence={"reason": "OfANewerDaemon"})
    assert (
        no_eviction_text([paused, kill], [grew])
        == f"the journal has no eviction. {AT}: a reason (OfANewerDaemon); {AT}: {kill.text}"
    )
    twice = no_eviction_text([kill, paused, kill])
    assert twice.endswith(f"a reason (OfANewerDaemon); {AT}, the last of 2 kills: {kill.text}"), (
        "two kills were left out (world 15)"
    )


def test_a_deletion_that_was_enough_is_told_with_what_grew() -> None:
    """Of a node whose images alone filled the disk only another command was named (world 40)."""
    begun = HistoryEvent(
        at=AT,
        kind=EventKind.CONDITIONS,
        text="DiskPressure begins",
        begun=("DiskPressure",),
        filled="Of 2Gi, pods took 2Gi.",
    )
    later = "2026-01-01T00:00:30Z"
    nothing = HistoryEvent(at=later, kind=EventKind.RECLAIMED, text="deleted 0 containers", evidence={"removed": 0})
    images = replace(nothing, text="deleted 3 images", evidence={"removed": 3})
    ended = HistoryEvent(at=later, kind=EventKind.CONDITIONS, text="DiskPressure ends", ended=("DiskPressure",))
    told = f"the journal has no eviction. {AT}: DiskPressure begins. Of 2Gi, pods took 2Gi. {later}: deleted 3 images"
    now = "now: nothing to do: DiskPressure ended at 00:00:30"
    assert no_eviction_text([begun, nothing, images, ended]) == f"{told}, and that was enough: no pod had to go\n{now}"
    assert no_eviction_text([begun, nothing, images]) == told
    without = no_eviction_text([replace(begun, filled=""), images])
    assert without == f"the journal has no eviction. {AT}: DiskPressure begins. {later}: deleted 3 images"
    assert "evictd history" in no_eviction_text([begun, nothing, ended])


def test_a_condition_for_which_nothing_was_done_is_told_with_what_grew() -> None:
    """The reader was sent to the history, which had the begin of the condition alone (world 34)."""
    reported = {"conditions": ["MemoryPressure"]}
    begun = HistoryEvent(
        at=AT, kind=EventKind.CONDITIONS, text="MemoryPressure begins", begun=("MemoryPressure",), evidence=reported
    )
    told = replace(begun, filled="Of 2Gi, pods took 2Gi.")
    text = f"the journal has no eviction. {AT}: MemoryPressure begins. Of 2Gi, pods took 2Gi"
    assert no_eviction_text([told]).startswith(f"{text}\nnow: the journal has no end of it: `evictd status` says")
    assert no_eviction_text([told, ENDS]) == f"{text}\nnow: nothing to do: MemoryPressure ended at {AT[11:19]}"
    assert no_eviction_text([begun, ENDS]) == no_eviction_text([])


def test_the_document_has_no_incident_and_the_reason() -> None:
    document = incident_list_document((), no_eviction_text([]))
    assert (document["kind"], document["incidents"], document["text"]) == ("IncidentList", [], no_eviction_text([]))


def test_kills_by_the_kernel_are_named_beside_the_evictions() -> None:
    """The list of a journal with two evictions and 42 kills had the evictions alone."""
    kill = HistoryEvent(
        at=AT, kind=EventKind.KERNEL, pod="n/api", text="killed", evidence={"where": "n/api", "count": 2}
    )
    later = replace(kill, at="2026-01-01T00:05:00Z", pod="n/db")
    assert kills_text([kill, ENDS, later]) == (
        "the kernel killed 4 processes of n/api, n/db for want of memory of the node, from 00:00:00 to 00:05:00: "
        "`evictd why n/db` says what to do"
    )
    host = replace(kill, pod="", evidence={"where": "daemon", "count": 1})
    assert kills_text([host]) == (
        "the kernel killed 1 process of daemon for want of memory of the node, at 00:00:00: `evictd history` lists each"
    )
    assert kills_text([ENDS]) == ""
