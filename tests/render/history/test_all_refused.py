"""Refusals at the end of a journal."""

from dataclasses import replace

from evictd.render.history.history import EventKind, HistoryEvent
from evictd.render.history.pod.all_refused import all_refused, budgets_of


def event(second: int, kind: EventKind, pod: str = "") -> HistoryEvent:
    return HistoryEvent(at=f"2026-01-01T00:01:{second:02}Z", kind=kind, pod=pod, uid=pod, text="text")


STOP = event(0, EventKind.NO_ACTION)
REFUSALS = tuple(event(each, EventKind.REFUSED, f"a/{each % 5}") for each in range(1, 20))


def test_refusals_after_the_last_reason_are_the_last_state() -> None:
    found = all_refused((event(0, EventKind.REFUSED, "a/old"), STOP, *REFUSALS))
    assert found is not None
    assert (found.at, found.pods) == ("2026-01-01T00:01:19Z", ("a/1", "a/2", "a/3", "a/4", "a/0"))
    assert found.text == "disruption budgets have refused each eviction since 00:01:01: of a/1, a/2, a/3 and 2 more"
    assert found.remedy == (
        "look at the disruption budgets (`kubectl get pdb --all-namespaces`): a/1, a/2, a/3 and 2 more may not go"
    )


def test_what_came_after_them_ends_that_state() -> None:
    for kind in (EventKind.EVICTED, EventKind.NO_ACTION, EventKind.WITHDRAWN, EventKind.BOOT):
        assert all_refused((*REFUSALS, event(30, kind))) is None
    ended = replace(event(30, EventKind.CONDITIONS), ended=("MemoryPressure",))
    begun = replace(event(30, EventKind.CONDITIONS), begun=("DiskPressure",))
    assert all_refused((*REFUSALS, ended)) is None
    assert all_refused((*REFUSALS, begun)) is not None
    assert all_refused(()) is None


def test_the_budgets_that_the_api_server_names_are_named() -> None:
    """`a/1 may not go` left the reader to look for the budget among all of the cluster."""
    text = "a disruption budget refused to evict a/1: Cannot evict pod. The disruption budget web needs 3 healthy pods and has 3"
    named = replace(event(40, EventKind.REFUSED, "a/1"), text=text)
    found = all_refused((named, replace(named, at="2026-01-01T00:01:41Z")))
    assert found is not None
    assert found.remedy.endswith("(`kubectl get pdb --all-namespaces`): a/1 may not go because of a/web")
    assert budgets_of(REFUSALS) == ()
