"""An eviction past a disruption budget."""

from dataclasses import replace

import msgspec

from evictd.core.model.config import EvictionMethod
from evictd.core.model.decision import begun_evictions
from evictd.core.units.duration import SECOND
from evictd.render.history.history import EventKind, history
from evictd.render.past_budget import with_past_budget
from evictd.render.status.headline import after_eviction
from tests.daemon.status import status_of
from tests.render.played_worlds import incident_run, incident_texts
from tests.render.recorded_journal import journal
from tests.render.snapshots import incident_snapshot


def asked_since(seconds: int, *, grace: int) -> str:
    """Return why a pod was evicted that a budget has refused for so long; the threshold has a grace period in seconds."""
    first, *_ = journal()
    evicted = next(each for each in first.decisions if each["kind"] == "EvictPod")
    threshold = {**evicted["because"]["threshold"], "gracePeriodNanoseconds": grace * SECOND}
    decision = {
        **evicted,
        "because": {**evicted["because"], "threshold": threshold},
        "refusedSince": first.now - seconds * SECOND,
    }
    (event,) = (
        each
        for each in history([msgspec.structs.replace(first, decisions=(decision,))])
        if each.kind is EventKind.EVICTED
    )
    return event.why


def test_an_eviction_past_a_budget_says_for_how_long_it_was_refused() -> None:
    """The history had six refusals and then an eviction, without a word on the budget."""
    assert asked_since(66, grace=30).endswith(
        " A disruption budget refused it for 1m6s; past evictionTimeout (1m0s) evictd asks once more, and "
        "deletes it if that is refused too (podTermination: Auto; with EvictionAPI the budget holds)."
    )
    assert "disruption budget" not in asked_since(59, grace=30)
    assert "disruption budget" not in asked_since(66, grace=0)


def test_the_page_says_that_a_pod_was_deleted_despite_its_budget() -> None:
    """Its list had `stays, refused by the API server, 6 times`, and then `evict`, without a word on the budget."""
    after = incident_snapshot("25-budget-of-zero", 500)
    why, _ = after_eviction(status_of(after, after.at))
    assert why.endswith(
        " A disruption budget refused it for 1m6s; past evictionTimeout (1m0s) evictd asks once more, and "
        "deletes it if that is refused too (podTermination: Auto; with EvictionAPI the budget holds)."
    )
    decided = [(each.step.decisions, each.at) for each in incident_run("25-budget-of-zero").cycles]
    for decisions, at in decided:
        why_of = dict.fromkeys((each.pod.uid for each in begun_evictions(decisions)), "Why.")
        honoured = replace(after.config, pod_termination=EvictionMethod.EVICTION_API)
        assert with_past_budget(why_of, decisions, honoured, at) == why_of


def test_a_world_says_why_an_eviction_was_not_refused_in_the_end() -> None:
    """The conclusion had six refusals by a budget of 0, and an eviction."""
    text = incident_texts("25-budget-of-zero")
    assert text[1] == "The API server refused evictions 6 times: default/leak."
    assert text[2] == (
        "A disruption budget refused default/leak for 1m6s; past evictionTimeout (1m0s) evictd asks once more, and "
        "deletes it if that is refused too (podTermination: Auto; with EvictionAPI the budget holds)."
    )
