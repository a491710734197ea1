"""A history as a table."""

import io
from dataclasses import replace

from evictd.render.console import make_console
from evictd.render.history.condition_spans import ConditionSpan
from evictd.render.history.document import history_document
from evictd.render.history.history import EventKind, HistoryEvent
from evictd.render.history.table import print_history, totals_text


def shown(events: list[HistoryEvent], *, everything: bool = False) -> str:
    out = io.StringIO()
    print_history(events, [], make_console(out, width=200), everything=everything)
    return out.getvalue()


def test_evictions_of_one_owner_that_repeat_are_the_first_and_the_last_and_a_count() -> None:
    """117 evictions of one DaemonSet took 468 lines."""
    told = [HistoryEvent(at="2026-07-27T09:59:00Z", kind=EventKind.CONDITIONS, text="MemoryPressure begins")]
    for number in range(6):
        at, name = f"2026-07-27T10:00:{10 * number:02}Z", f"default/leak-{number}"
        because = {"because": {"signal": "memory.available", "usage": number}}
        evicted = HistoryEvent(at=at, kind=EventKind.EVICTED, pod=name, uid=name, owner="DaemonSet/leak", text=name)
        told.append(replace(evicted, evidence=because))
        told.append(HistoryEvent(at=at, kind=EventKind.GONE, pod=name, uid=name, text=f"{name} is gone"))
    text = shown(told)
    assert "... the same of DaemonSet/leak 4 more times, every 10s; the last time (--all lists each):" in text
    assert [name in text for name in ("leak-0", "leak-1", "leak-4", "leak-5")] == [True, False, False, True]
    assert "6 evictions" in text
    assert "leak-3" in shown(told, everything=True)
    assert len(history_document(told, [])["events"]) == 13


def test_evictions_of_pods_without_an_owner_and_for_other_signals_are_not_folded() -> None:
    signals = ("memory.available", "nodefs.available", "pid.available")
    told = [
        HistoryEvent(
            at="damaged", kind=EventKind.EVICTED, uid=signal, owner="DaemonSet/leak", text=f"for {signal}",
            evidence={"because": {"signal": signal}},
        )
        for signal in signals
    ]  # fmt: skip
    alone = [HistoryEvent(at="", kind=EventKind.EVICTED, uid=name, text=f"evict {name}") for name in ("a", "b", "c")]
    assert "the same" not in shown([*told, *alone])
    assert "... the same of DaemonSet/leak 2 more times; the last time" in shown([told[0]] * 4)
    assert "the same" not in shown([told[0]] * 3), "one line would stand in place of another"


def test_kills_of_one_pod_that_repeat_are_folded() -> None:
    kill = HistoryEvent(at="2026-07-27T10:00:00Z", kind=EventKind.KERNEL, pod="default/web", uid="w", text="killed")
    told = [replace(kill, at=f"2026-07-27T10:00:{10 * number:02}Z") for number in range(6)]
    assert "... the same 4 more times, every 10s; the last time" in shown(told)


def test_kills_of_several_pods_are_folded_in_whatever_order_they_come() -> None:
    """42 lines of kills of six pods were shown: each waits for its own restart, so no round repeats (world 07)."""
    kill = HistoryEvent(at="2026-07-27T10:00:00Z", kind=EventKind.KERNEL, text="killed")
    pods = ("a/1", "a/2", "a/1", "a/3", "a/2", "a/4")
    told = [replace(kill, at=f"2026-07-27T10:00:{10 * n:02}Z", pod=pod, uid=pod) for n, pod in enumerate(pods)]
    text = " ".join(shown(told).split())
    assert "... the same 4 more times, of a/1, a/2, a/3 and 1 more, every 10s; the last time" in text


def test_the_totals_name_all_that_a_dry_run_did_not_do() -> None:
    """`1 reclaim` stood there for a collection that was not begun."""
    kinds = (EventKind.EVICTED, EventKind.RECLAIM, EventKind.RECLAIM, EventKind.CONDITIONS)
    events = [HistoryEvent(at="t", kind=kind, text="", dry_run=number != 1) for number, kind in enumerate(kinds)]
    assert totals_text(events) == (
        "1 eviction (1 in a dry run), 0 refusals, 2 reclaims (1 in a dry run), 1 condition change (1 in a dry run)"
    )


def test_a_condition_that_stands_is_named_with_its_end_where_that_is_known() -> None:
    """It was not said that nothing was short any more."""
    out = io.StringIO()
    spans = [ConditionSpan(type=name, since="2026-07-27T10:00:00Z") for name in ("MemoryPressure", "DiskPressure")]
    print_history([], spans, make_console(out, width=200), ends={"MemoryPressure": "it stands until then"})
    assert "MemoryPressure since 2026-07-27T10:00:00Z; it stands until then\n" in out.getvalue()
    assert "DiskPressure since 2026-07-27T10:00:00Z\n" in out.getvalue()
