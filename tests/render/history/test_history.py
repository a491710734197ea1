"""Journal records as events."""

import io
from dataclasses import replace

import msgspec
import pytest

from evictd.codec.records.journal import encode_entry
from evictd.codec.records.journal_record import (
    JournalRecord,
    RecordedExtra,
    RecordedHoldings,
    RecordedKill,
    RecordedKubeletEviction,
    RecordedOutcome,
    RecordedPhase,
    RecordedRefusal,
    RecordedVictim,
    decode_record,
)
from evictd.commands.inputs.source import own_config
from evictd.commands.played.world_journal import journal_lines
from evictd.core.model.state import State
from evictd.core.units.duration import SECOND
from evictd.render.console import make_console
from evictd.render.history.condition_spans import condition_spans
from evictd.render.history.document import history_document
from evictd.render.history.history import EventKind, HistoryEvent, event_line, history, killed_of
from evictd.render.history.table import print_history, totals_text
from evictd.render.replay.replayed import recorded_text
from tests.daemon.world import GI, NOW
from tests.render.played_worlds import incident_run
from tests.render.recorded_journal import journal, of_blindness
from tests.stories import check_golden, played


def test_every_eviction_refusal_end_and_change_of_conditions_is_an_event() -> None:
    events = list(history(journal()))
    kinds = [event.kind for event in events]
    for kind in (EventKind.EVICTED, EventKind.GONE, EventKind.REFUSED, EventKind.BOOT):
        assert kinds.count(kind) == 1, kind
    conditions = [event.text for event in events if event.kind is EventKind.CONDITIONS]
    assert conditions == ["MemoryPressure begins", "MemoryPressure ends"]


def test_an_eviction_has_its_numbers_and_its_pod() -> None:
    event = next(each for each in history(journal()) if each.kind is EventKind.EVICTED)
    assert (event.pod, event.uid) == ("default/hog", "uid-hog")
    assert "for memory.available: 512Mi left, threshold 1Gi; it uses 6Gi" in event.text
    assert event.evidence["because"]["signal"] == "memory.available"


def test_a_withdrawn_eviction_is_an_event() -> None:
    import msgspec

    pod = {"namespace": "default", "name": "hog", "uid": "u"}
    decided = {"kind": "WithdrawEviction", "pod": pod, "reason": "pressure has ended"}
    record = msgspec.structs.replace(journal()[0], decisions=(decided,))
    (event,) = history([record])
    assert (event.kind, event.pod, event.uid) == (EventKind.WITHDRAWN, "default/hog", "u")
    assert event.text == "withdraw the eviction of default/hog: pressure has ended"


def test_a_dry_run_says_would() -> None:
    event = next(each for each in history(journal(dry_run=True)) if each.kind is EventKind.EVICTED)
    assert event_line(event).startswith("would evict")


def test_a_condition_of_a_dry_run_is_not_reported() -> None:
    """`MemoryPressure begins` stood there without a word, as if the node had it."""
    begun = next(each for each in history(journal(dry_run=True)) if each.kind is EventKind.CONDITIONS)
    assert event_line(begun) == "MemoryPressure begins; a dry run reports no condition"


@pytest.mark.parametrize("decision", [{}, {"kind": "EvictPod"}, {"kind": "EvictPod", "pod": 3}, {"kind": 7}])
def test_a_damaged_decision_is_no_event_and_no_error(decision: dict[str, object]) -> None:
    import msgspec

    record = journal()[0]
    damaged = msgspec.structs.replace(record, decisions=(decision,))
    assert [event.kind for event in history([damaged])] == []
    recorded_text(decision)


def test_the_document_is_plain() -> None:
    import json

    events = list(history(journal()))
    document = history_document(events, condition_spans(events))
    assert json.loads(json.dumps(document)) == document


def test_an_eviction_by_the_kubelet_is_an_event_once_and_no_would_in_a_dry_run() -> None:
    """Each start of the daemon records those of the hour before again."""
    evicted = RecordedKubeletEviction(
        pod="default/hog", uid="uid-hog", at="2026-01-01T00:00:00Z", message="low on memory"
    )
    extra = RecordedExtra(dry_run=True, kubelet_evicted=(evicted,))
    records = [msgspec.structs.replace(each, extra=extra) for each in journal(dry_run=True)]
    (event,) = [event for event in history(records) if event.kind is EventKind.KUBELET]
    assert (event.pod, event_line(event)) == ("default/hog", "the kubelet evicted default/hog: low on memory")
    assert totals_text([event]).endswith("1 eviction by the kubelet")


def test_a_kill_by_the_kernel_is_an_event_and_no_would_in_a_dry_run() -> None:
    kills = (RecordedKill(where="default/web", uid="w", count=2), RecordedKill(where="system.slice"))
    first, *_ = journal(dry_run=True)
    record = msgspec.structs.replace(first, decisions=(), extra=RecordedExtra(dry_run=True, kernel_killed=kills))
    events = list(history([record]))
    assert [(event.kind, event.pod) for event in events] == [(EventKind.KERNEL, "default/web"), (EventKind.KERNEL, "")]
    assert event_line(events[0]).startswith("the kernel killed 2 processes of default/web ")
    assert totals_text(events).endswith(", 3 kills by the kernel")


def of_scenario(name: str) -> list[JournalRecord]:
    """The journal of a scenario."""
    records, state = [], State()
    scenario, cycles = played(name)
    for cycle in cycles:
        for turn in cycle.turns:
            now, seconds = NOW + cycle.at, cycle.at // SECOND
            wall = f"2026-01-01T00:{seconds // 60:02}:{seconds % 60:02}Z"
            seen, config = turn.observation, own_config(scenario, None)
            line = encode_entry(now=now, wall=wall, state=state, observation=seen, config=config, step=turn.step)
            records.append(decode_record(line))
            state = turn.step.state
    return records


def of_changed_minds() -> list[JournalRecord]:
    """A grace period is shortened, an eviction is withdrawn, the kubelet evicts a pod, and the kernel kills."""
    records = journal()
    evicted = next(each for each in records[0].decisions if each["kind"] == "EvictPod")
    withdrawn = {"kind": "WithdrawEviction", "pod": evicted["pod"], "reason": "pressure has ended"}
    kubelets = RecordedKubeletEviction(pod="default/web", uid="w", at="2026-01-01T00:00:00Z", message="low on memory")
    return [
        msgspec.structs.replace(records[0], decisions=({**evicted, "shortens": True},)),
        msgspec.structs.replace(records[0], decisions=(withdrawn,)),
        msgspec.structs.replace(
            records[1],
            decisions=(),
            extra=RecordedExtra(
                kubelet_evicted=(kubelets,), kernel_killed=(RecordedKill(where="default/db", uid="d", count=2),)
            ),
        ),
    ]


def of_refusals() -> list[JournalRecord]:
    """A disruption budget refuses an eviction; it is asked again, and the pod goes."""
    first, gone, *_ = journal()
    refusal = RecordedRefusal(pod="default/hog", uid="uid-hog", detail="needs 2 healthy pods")
    again = msgspec.structs.replace(
        first, wall="2026-01-01T00:16:30Z", now=first.now + 30 * SECOND, extra=RecordedExtra(refused=(refusal,))
    )
    later = msgspec.structs.replace(
        gone, wall="2026-01-01T00:16:40Z", now=first.now + 40 * SECOND, extra=RecordedExtra()
    )
    return [first, again, later]


def test_an_eviction_that_was_refused_is_a_request() -> None:
    """Seven evictions of one pod were told, and the pod was said to have been evicted at three times."""
    events = list(history(of_refusals()))
    told = [(event.kind, event.at[14:19]) for event in events if event.uid == "uid-hog"]
    assert told == [
        (EventKind.REQUESTED, "16:00"), (EventKind.REFUSED, "16:30"), (EventKind.EVICTED, "16:30"), (EventKind.GONE, "16:40"),
    ]  # fmt: skip
    request = next(event for event in events if event.kind is EventKind.REQUESTED)
    assert request.text.startswith("ask to evict default/hog (grace period 1s) for memory.available: ")
    assert request.why.startswith("Chosen default/hog (6Gi): it requests none and uses 6Gi; default/web, the next,")
    assert request.filled == ""
    assert totals_text(events).startswith("1 eviction, 1 refusal, ")


def test_a_refusal_without_a_detail_ends_without_a_colon() -> None:
    first, again, _ = of_refusals()
    refusal = RecordedRefusal(pod="default/hog", uid="uid-hog")
    bare = msgspec.structs.replace(again, extra=RecordedExtra(refused=(refusal,)))
    (refused,) = (event for event in history([first, bare]) if event.kind is EventKind.REFUSED)
    assert refused.text == "a disruption budget refused to evict default/hog"


STORIES = {
    "a shortage of memory": journal,
    "the same as a dry run": lambda: journal(dry_run=True),
    "a disk fills: collections, then an eviction": lambda: of_scenario("disk-reclaim-then-evict"),
    "a static pod is the cause": lambda: of_scenario("protected-culprit"),
    "a disruption budget refuses an eviction at first": of_refusals,
    "a grace period is shortened, an eviction withdrawn, the kubelet evicts": of_changed_minds,
    "no reading succeeds for a while": of_blindness,
}


def test_each_kind_of_event_is_as_in_the_golden_file() -> None:
    out = io.StringIO()
    told = []
    for name, records in STORIES.items():
        events = list(history(records()))
        told += events
        out.write(f"== {name} ==\n")
        print_history(events, condition_spans(events), make_console(out, width=100))
    assert {event.kind for event in told} == set(EventKind)
    check_golden("history.txt", out.getvalue())


def test_the_last_request_of_one_that_is_refused_past_the_timeout_is_no_eviction() -> None:
    """`evictd incident` reported an eviction that the API server refused 60 times before and once more (world 42)."""
    first, *_ = journal()
    evicted = next(each for each in first.decisions if each["kind"] == "EvictPod")
    threshold = {**evicted["because"]["threshold"], "gracePeriodNanoseconds": SECOND}
    decision = {**evicted, "because": {**evicted["because"], "threshold": threshold}}
    uid, name = evicted["pod"]["uid"], evicted["pod"]["name"]
    refusal = RecordedExtra(refused=(RecordedRefusal(pod=f"default/{name}", uid=uid),))

    def asked(*, waited: int) -> list[EventKind]:
        asking = msgspec.structs.replace(first, decisions=({**decision, "refusedSince": first.now - waited * SECOND},))
        events = history([asking, msgspec.structs.replace(asking, extra=refusal)])
        return [each.kind for each in events if each.uid == uid]

    assert asked(waited=66) == [EventKind.REQUESTED, EventKind.REFUSED, EventKind.REQUESTED]
    assert asked(waited=1) == [EventKind.REQUESTED, EventKind.REFUSED, EventKind.EVICTED], "it may be agreed to"


def test_the_reason_for_no_eviction_names_its_signal() -> None:
    """A reader took the signal from the sentence, which a change of its words would have broken."""
    found = [each for each in history(of_scenario("protected-culprit")) if each.kind is EventKind.NO_ACTION]
    assert {each.signal for each in found} == {"memory.available"}


def test_a_condition_for_which_no_pod_goes_has_its_cause_and_one_for_which_a_pod_goes_has_not() -> None:
    """The eviction says it."""
    first, *_ = journal()
    held = RecordedHoldings(used={"uid-hog": GI}, lowest={"uid-hog": 0}, since=first.now - SECOND)
    known = msgspec.structs.replace(first, holdings={"memory.available": held})
    assert all(not each.filled for each in history([known]) if each.kind is EventKind.CONDITIONS)
    decisions = tuple(each for each in first.decisions if each["kind"] != "EvictPod")
    unread = msgspec.structs.replace(known.observation, summary=None)
    (event,) = history([msgspec.structs.replace(known, decisions=decisions, observation=unread)])
    assert event.filled.startswith("Of 1Gi that filled memory since ")


def test_a_pod_that_another_component_had_deleted_is_said_to_be_so() -> None:
    """A shortened grace period read like an eviction; an earlier one by evictd can be in a journal that was rotated away."""
    records = [decode_record(line) for line in journal_lines(incident_run("11-leaving-pod"), end=10**18)]
    (shortened,) = [each for each in history(records) if each.kind is EventKind.SHORTENED]
    assert shortened.why == "It was being deleted already, so that is no eviction."
    chosen = (RecordedVictim(uid=shortened.uid),)
    own = [
        msgspec.structs.replace(each, state=msgspec.structs.replace(each.state, in_flight=chosen)) for each in records
    ]
    assert [each.why for each in history(own) if each.kind is EventKind.SHORTENED] == [""]


@pytest.mark.parametrize(("removed", "text"), [(1, "deleted 1 unused image,"), (2, "deleted 2 unused images,")])
def test_one_deleted_image_is_in_the_singular(removed: int, text: str) -> None:
    first = journal()[0]
    image = RecordedOutcome(action="images", freed_bytes=GI, removed=removed)
    observation = msgspec.structs.replace(first.observation, reclaimed=(image,))
    reclaiming = msgspec.structs.replace(first.state, phase=RecordedPhase(name="Reclaiming"))
    record = msgspec.structs.replace(first, observation=observation, state=reclaiming)
    (found,) = (each.text for each in history([record]) if each.kind is EventKind.RECLAIMED)
    assert found.startswith(text)


def test_of_what_the_kernel_killed_a_part_of_the_host_is_named_first() -> None:
    """`default/web-2, default/web-3, default/web-4 and 4 more`: the host's daemon, the cause, was one of the four (world 08)."""
    pod = HistoryEvent(
        at="", kind=EventKind.KERNEL, pod="default/web", uid="w", text="", evidence={"where": "default/web"}
    )
    host = HistoryEvent(at="", kind=EventKind.KERNEL, text="", evidence={"where": "daemon"})
    assert killed_of([pod, host, pod]) == ("daemon", "default/web")


def test_a_reason_for_which_no_pod_is_evicted_has_its_code_behind_it() -> None:
    """The documentation lists the codes, and only the JSON had them."""
    event = HistoryEvent(
        at="2026-01-01T00:00:00Z",
        kind=EventKind.NO_ACTION,
        text="No pod is evicted for memory.available: 1Gi is missing",
        evidence={"reason": "EvictionsDoNotHelp"},
    )
    assert event_line(event) == "No pod is evicted for memory.available: 1Gi is missing (EvictionsDoNotHelp)"
    assert event_line(replace(event, evidence={})) == event.text
