"""Sentences about one pod."""

from evictd.daemon.telemetry.status_page import explain_snapshot, status_document
from evictd.render.explanation import explanation_document
from evictd.render.history import history
from evictd.render.why import PodWhy, why_document, why_lines
from tests.daemon.world import GI, NOW, snapshot
from tests.render.test_history import journal


def ask(pod: str, available: int = 4 * GI) -> PodWhy:
    seen = snapshot(available)
    explained = explanation_document(explain_snapshot(seen), rows=None)
    events = tuple(event for event in history(journal()) if event.pod == pod)
    return PodWhy(pod=pod, events=events, explained=explained, status=status_document(seen, NOW))


def text(why: PodWhy) -> str:
    return "\n".join(why_lines(why))


def test_a_pod_that_stays_says_how_far_it_is_from_an_eviction_and_what_would_move_it() -> None:
    said = text(ask("default/web"))
    assert "memory.available: place 3 of 3" in said
    assert "memory.available would have to fall by 2Gi to its soft threshold 2Gi" in said
    assert "default/hog would have to go first" in said
    assert "to move back in the order: request at least 5Gi (it requests 1Gi), or a priority above 0" in said
    assert "the next" not in said


def test_the_next_pod_needs_no_other_to_go_first() -> None:
    assert "would have to go first" not in text(ask("default/hog"))
    assert ask("default/hog").places[0].is_next


def test_a_protected_pod_stays_for_good() -> None:
    assert "it is never evicted (static pod)" in text(ask("default/etcd"))


def test_a_victim_is_being_evicted_and_its_events_are_shown() -> None:
    said = text(ask("default/hog", GI // 2))
    assert "it is being evicted for memory.available" in said
    assert "evict default/hog (grace period 1s) for memory.available" in said
    assert "\n  Evicted default/hog (6Gi): both it and default/web (" in said


def test_an_unknown_pod_is_unknown() -> None:
    why = ask("default/nothing")
    assert not why.known
    assert "is not an active pod" in text(why)


def test_without_a_daemon_the_journal_is_all() -> None:
    why = PodWhy(pod="default/hog", events=tuple(history(journal())))
    assert "no daemon answers" in text(why)
    assert why_document(why, [])["daemonAnswered"] is False
