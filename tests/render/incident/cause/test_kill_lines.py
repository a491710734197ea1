"""What is said of kills by the kernel, and what to do about them."""

import msgspec

from evictd.codec.records.journal_record import (
    JournalRecord,
    RecordedNode,
    RecordedObservation,
    RecordedSeen,
    RecordedState,
    RecordedSummary,
    RecordedThreshold,
)
from evictd.core.units.duration import SECOND
from evictd.render.incident.cause.kill_cause import KillCause, kill_cause
from evictd.render.incident.cause.kill_lines import kill_lines, last_kill_lines, threshold_remedies
from tests.render.incident.cause.test_kill_cause import record
from tests.stories import GI

MI = GI // 1024
MEMORY = "memory.available"


def with_threshold(found: JournalRecord, value: dict[str, str], lead: str = "Off") -> JournalRecord:
    """The cycle under this threshold of memory."""
    thresholds = (RecordedThreshold(signal=MEMORY, value=value),)
    config = msgspec.structs.replace(found.config, thresholds=thresholds, memory_lead=lead)
    return msgspec.structs.replace(found, config=config)


def caused(kill: JournalRecord, *before: JournalRecord, pod: str = "") -> KillCause:
    found = kill_cause([*before, kill], pod)
    assert found is not None
    return found


def test_a_low_threshold_is_to_be_raised() -> None:
    """The kernel killed in a node of 10 GiB before 20Mi were met at a reading, and no higher threshold was proposed.

    At 400Mi a second, looked at every 10 s, neither 500Mi nor a lead changed anything.
    """
    calm, kill = record(0, {"hog": GI}, signal=MEMORY), record(2, {"hog": 7 * GI}, "hog", signal=MEMORY)
    low = caused(with_threshold(kill, {"quantity": "20Mi"}), calm)
    assert [*kill_lines(low)][-1] == (
        "now: mend or limit n/hog; first turn on `memory.watch` if it is off, then raise the threshold "
        "`memory.available`: it was 20Mi, and docs/tuning.md begins with 500Mi on a node of this size, or set `memory.lead: Auto`"
    )
    leads = with_threshold(kill, {"fraction": (0.01).hex()}, "Auto")
    (remedy,) = threshold_remedies(caused(leads, calm))
    assert remedy.endswith("it was 102Mi, and docs/tuning.md begins with 500Mi on a node of this size")
    for value in ({"quantity": "500Mi"}, {"quantity": "x"}, {"fraction": "x"}, {}):
        assert not [*threshold_remedies(caused(with_threshold(kill, value), calm))]
    assert not [*threshold_remedies(low, "n/other")]


def test_no_threshold_is_proposed_in_a_dry_run() -> None:
    kill = record(2, {"hog": 7 * GI}, "hog", signal=MEMORY)
    dry = msgspec.structs.replace(kill, extra=msgspec.structs.replace(kill.extra, dry_run=True))
    found = caused(with_threshold(dry, {"quantity": "20Mi"}), record(0, {"hog": GI}, signal=MEMORY))
    assert [*kill_lines(found)][1:] == ["evictd was in a dry run, so it evicted no pod", "now: mend or limit n/hog"]


def test_what_grew_outside_pods_is_not_to_be_reserved_for() -> None:
    """`Let systemReserved and kubeReserved cover the 8Gi` was said of a node of 8 GiB, after a leak of the host."""
    calm = record(0, {"web": GI}, signal=MEMORY, outside=GI // 8)
    kill = with_threshold(record(2, {"web": GI}, "web", signal=MEMORY, outside=8 * GI), {"quantity": "20Mi"})
    grew, now = kill_lines(caused(kill, calm), "n/web")
    assert grew.startswith(
        "what is used outside pods grew most before the kernel killed its processes, first at 00:02:00:"
    )
    assert grew.endswith(": from 128Mi to 8Gi since 00:00:00")
    assert now == "now: free memory outside pods (`systemd-cgtop -m` shows host services, `slabtop` the kernel)"
    steady = record(0, {"web": GI}, signal=MEMORY, outside=8 * GI)
    assert [*kill_lines(caused(kill, steady), "n/web")][-1].startswith("now: free memory outside pods")


def test_a_pod_that_grew_beside_what_is_outside_pods_is_named_too() -> None:
    calm = record(0, {"hog": GI}, signal=MEMORY, outside=GI // 8)
    kill = record(2, {"hog": 3 * GI}, "hog", signal=MEMORY, outside=6 * GI)
    grew, outside, _ = kill_lines(caused(kill, calm))
    assert grew.startswith("n/hog grew before the kernel killed processes of n/hog, first at 00:02:00: from 1Gi to 3Gi")
    assert outside.startswith("what is used outside pods grew most")


def test_of_a_pod_its_own_first_kill_counts() -> None:
    """`first grew most before the kernel killed its processes, first at 18:48:52` was said of a pod killed minutes later."""
    calm = record(0, {"first": GI, "hog": GI})
    kills = [record(2, {"first": 7 * GI, "hog": GI}, "first"), record(4, {"first": 0, "hog": 8 * GI}, "hog")]
    found = kill_cause([calm, *kills], "n/hog")
    assert next(kill_lines(found, "n/hog")).startswith(
        "it grew most before the kernel killed its processes, first at 00:04:00: from 1Gi to 8Gi"
    )
    assert next(kill_lines(kill_cause([calm, *kills]))).startswith("n/first grew most before the kernel killed")


def test_a_slow_leak_is_seen_over_several_readings() -> None:
    """Between the last two readings nothing grew by a tenth of the node's memory, so no pod was named."""
    before = [record(minute, {"hog": minute * GI // 2 + GI, "web": GI}, signal=MEMORY) for minute in range(10)]
    found = caused(record(10, {"hog": 6 * GI, "web": 0}, "web", signal=MEMORY), *before)
    assert [*kill_lines(found, "n/web")] == [
        "n/hog grew most before the kernel killed its processes, first at 00:10:00: from 1Gi to 6Gi since 00:00:00",
        "now: mend or limit n/hog",
    ]


def test_a_killed_pod_that_exceeded_its_request_most_is_named_where_none_grew() -> None:
    last = record(1, {"hog": 7 * GI, "web": GI}, signal=MEMORY)
    found = caused(record(2, {"hog": 0, "web": GI}, "hog", signal=MEMORY), last)
    assert [*kill_lines(found, "n/hog")] == [
        "it exceeded its request most before the kernel killed its processes, first at 00:02:00: it used 7Gi and requests none",
        "now: mend or limit n/hog",
    ]


def test_a_killed_pod_that_grew_is_to_be_mended_whatever_it_exceeded_its_request_by() -> None:
    """Of a pod that grew from 1.6Gi to 6.6Gi and was killed nothing was proposed: it exceeded its own request by more."""
    before = [record(minute, {"hog": 3 * GI + minute * GI // 2}, signal=MEMORY) for minute in range(9)]
    found = caused(record(9, {"hog": 0}, "hog", signal=MEMORY), *before)
    assert [*kill_lines(found, "n/hog")][-1] == "now: mend or limit n/hog"


def test_nothing_is_said_to_have_grown_where_the_memory_was_not_read() -> None:
    """`What is used outside pods grew most: from 0 to 0` was said of a leak of a pod that no reading showed."""
    calm = record(0, {"hog": GI}, signal=MEMORY)
    kill = with_threshold(record(2, {}, "hog", signal=MEMORY), {"quantity": "20Mi"})
    blind = msgspec.structs.replace(kill, observation=RecordedObservation(summary=RecordedSummary()))
    after = record(3, {"hog": 7 * GI}, signal=MEMORY)
    unread, now = last_kill_lines([calm, blind, after])
    assert unread == (
        "evictd could not read the memory of the node before the kernel killed processes of n/hog, first at 00:02:00: what "
        "grew is not known"
    )
    assert now == "now: see in the log of evictd why the memory was not read, and restore that reading"
    state = RecordedState(last_cycle_at=110 * SECOND, last_seen={MEMORY: RecordedSeen(time=60 * SECOND)})
    resumed = msgspec.structs.replace(kill, state=state)
    assert last_kill_lines([calm, resumed])[0].endswith("what grew is not known"), "read again after the kill"
    read = msgspec.structs.replace(state, last_seen={MEMORY: RecordedSeen(time=109 * SECOND)})
    assert not last_kill_lines([calm, msgspec.structs.replace(kill, state=read)])


def test_a_pod_that_grew_is_named_although_the_memory_of_the_node_was_not_read() -> None:
    kill = record(2, {"hog": 7 * GI, "api": 0}, "api", signal=MEMORY)
    assert kill.observation.summary is not None
    summary = msgspec.structs.replace(kill.observation.summary, node=RecordedNode())
    blind = msgspec.structs.replace(kill, observation=msgspec.structs.replace(kill.observation, summary=summary))
    grew, unread, now = last_kill_lines([record(0, {"hog": GI, "api": GI}, signal=MEMORY), blind])
    assert grew.startswith("n/hog grew before the kernel killed processes of n/api")
    assert (
        unread
        == "evictd could not read the memory of the node before the kernel killed processes of n/api, first at 00:02:00"
    )
    assert now.endswith("restore that reading; mend or limit n/hog")
    blind = msgspec.structs.replace(blind, extra=record(2, {}, "hog").extra)
    assert "grew is not known" in last_kill_lines([record(0, {"hog": GI, "api": GI}), blind])[0], (
        "7Gi of after the kill"
    )
