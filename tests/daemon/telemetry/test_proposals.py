"""Which evictions the API server has not agreed to."""

from dataclasses import replace

from evictd.core.model.state import Backoff
from evictd.daemon.telemetry.statusz.proposals import asked_document, proposed
from tests.daemon.status import status_of
from tests.render.snapshots import incident_snapshot

REFUSED = "42-budget-of-one"


def test_an_eviction_that_budgets_may_refuse_is_none_until_the_api_server_agrees() -> None:
    """Each second another pod was among those that leave, and none of them left."""
    refused = incident_snapshot(REFUSED, 140)
    (row,) = asked_document(refused, proposed(refused), {}, now=refused.at)
    assert row == {
        "pod": "default/web-2",
        "signal": "memory.available",
        "refusals": 14,
        "refusedPods": 4,
        "refusedFirst": "",
        "budgetEndsInSeconds": None,
        "refusedSince": "2023-11-14T22:14:26Z",
    }
    status = status_of(refused, refused.at)
    assert (status["leaving"], status["asked"]) == (
        [],
        [{**row, "refusedFirst": "default/batch-1", "budgetEndsInSeconds": -14.0}],
    )
    last = status["decisions"][-1]
    assert last["text"].startswith("ask to evict default/web-2 ")
    assert (last["pod"], last["why"], last["incident"]) == ("", "", "")
    uids = proposed(refused)
    assert [each.pod for each in refused.recent if each.uid in uids] == ["default/web-2"]


def test_what_an_asked_pod_holds_is_not_that_of_a_leaving_pod() -> None:
    """`Leaving pods hold 830Mi` stood beside the refusals of every budget."""
    refused = incident_snapshot(REFUSED, 140)
    status = status_of(refused, refused.at)
    (memory,) = [each for each in status["signals"] if each["signal"] == "memory.available"]
    assert memory["attribution"]["leaving"]["pods"] == 0
    assert "leaving" not in memory["attribution"]["text"][-1]
    (victim,) = refused.state.in_flight
    agreed = replace(refused, state=replace(refused.state, in_flight=(replace(victim, counted=True),)))
    (memory, *_) = [each for each in status_of(agreed, agreed.at)["signals"] if each["signal"] == "memory.available"]
    assert memory["attribution"]["leaving"]["pods"] == 1


def test_a_pod_leaves_once_the_api_server_agreed_or_is_not_asked() -> None:
    agreed = incident_snapshot("44-limit-of-evictions", 377)
    assert [victim.full_name for victim in agreed.state.in_flight] == ["default/web-0"]
    assert proposed(agreed) == frozenset()
    assert asked_document(agreed, proposed(agreed), {}, now=agreed.at) == []
    refused = incident_snapshot(REFUSED, 140)
    without = replace(refused, state=replace(refused.state, backoff=Backoff()))
    assert proposed(without) == frozenset(), "nothing says that an API server is asked"
    (victim,) = refused.state.in_flight
    counted = replace(refused.state, in_flight=(replace(victim, counted=True),))
    assert proposed(replace(refused, state=counted)) == frozenset()


def test_an_eviction_without_an_answer_stays_a_proposal() -> None:
    refused = incident_snapshot(REFUSED, 140)
    (victim,) = refused.state.in_flight
    outcomes = replace(refused.observation.outcomes, unanswered=frozenset({victim.uid}))
    late = replace(refused, at=refused.at + 1, observation=replace(refused.observation, outcomes=outcomes))
    assert proposed(late) == {victim.uid}
    (row,) = asked_document(replace(late, recent=()), proposed(late), {}, now=late.at)
    assert (row["refusals"], row["refusedSince"]) == (0, None)
