"""What is said of a pod that the API server is asked to evict."""

from dataclasses import replace

from evictd.core.model.config import EvictionMethod
from evictd.core.model.state import Backoff, BudgetRefusal
from evictd.core.units.duration import SECOND
from evictd.render.history.pod.why import PodWhy, why_lines
from evictd.render.status.headline import headline
from evictd.render.status.proposed import asked_text, unread_budgets
from evictd.render.status.remedy.remedies import remedies
from tests.daemon.status import status_of
from tests.render.shown_nodes import page
from tests.render.snapshots import incident_snapshot
from tests.render.status.test_view import shown


def test_a_pod_whose_eviction_is_asked_for_is_not_being_evicted() -> None:
    """The headline named another pod each second, said that it is being evicted, and advised to wait for its end."""
    asked = incident_snapshot("42-budget-of-one", 140)
    status = status_of(asked, asked.at)
    refused = "default/batch-1, which comes first, and 3 other pods (14 times since 22:14:26 UTC)"
    never = "With podTermination EvictionAPI evictd deletes no pod despite a budget"
    text = f"the API server refused to evict {refused}; it is asked for default/web-2 now"
    assert (
        headline(status).text
        == f"memory.available is below its soft threshold (888Mi left, limit 960Mi); {text}. {never}."
    )
    assert headline(status).level == "soft"
    allow = "let the disruption budget of default/batch-1 allow its eviction (`kubectl -n default get pdb`)"
    assert remedies(status) == [f"{allow}, or limit or move that pod"], "web-2 would free nothing that grew"
    body = page(asked, 0)
    assert "default/web-2 is being evicted" not in body
    assert "eviction of default/web-2 began" not in body
    assert "nothing, if default/web-2 ends in time" not in body
    assert "Leaving pods" not in body
    assert "default/web-3 (830Mi) is asked for next, if default/web-2 may not go" in body
    assert text in " ".join(shown(status, 200).split())
    agree = "the API server is asked to evict it, and has not agreed yet"
    assert agree in list(why_lines(PodWhy(pod="default/web-2", status=status, explained={"queues": []})))


def test_a_budget_that_has_not_refused_yet_is_said_to_be_unknown() -> None:
    """The page forecast the eviction of a pod whose budget refused it a minute later, and named no budget before."""
    near = incident_snapshot("42-budget-of-one", 60)
    status = status_of(near, near.at)
    text = unread_budgets(status)
    assert text == "evictd does not read disruption budgets: one may refuse the eviction of default/batch-0"
    assert page(near).count(text) == 1
    assert text in " ".join(shown(status, 200).split())
    assert unread_budgets({**status, "podTermination": "Auto"}) == f"{text} beside a kubelet"
    deletes = replace(near, config=replace(near.config, pod_termination=EvictionMethod.DELETE))
    assert not unread_budgets(status_of(deletes, near.at)), "budgets do not count"
    (memory,) = (each for each in status["signals"] if each["signal"] == "memory.available")
    (hard,) = (each for each in memory["thresholds"] if each["kind"] == "hard" and each["origin"] != "derived")
    hard["secondsToThreshold"] = 3.0
    assert unread_budgets(status) == text
    assert not unread_budgets({**status, "podTermination": "Auto"}), "at a hard threshold the pod is deleted"
    coming = incident_snapshot("42-budget-of-one", 30)
    assert unread_budgets({**status_of(coming, coming.at), "podTermination": "Auto"}) == f"{text} beside a kubelet"
    asked = incident_snapshot("42-budget-of-one", 140)
    assert not unread_budgets(status_of(asked, asked.at)), "one has refused"


def test_the_order_and_the_reasons_agree_with_what_is_asked_for() -> None:
    """`Asked for default/web-2 now` stood above `No pod would be evicted`, and the asked pod was in no table."""
    body = page(incident_snapshot("42-budget-of-one", 200), 0)
    assert "The API server is asked for <strong>default/web-2</strong> now." in body
    assert "No pod would be evicted" not in body
    assert "each pod whose eviction would help is skipped" not in body
    assert "default/batch-1, which comes first, and 9 other pods" in body
    assert "skipped now for" not in body, "of the ten refused pods it named the four that rank before the asked one"
    assert body.count('<th scope="row">default/web-2</th>') == 2, "of the two signals"
    body = page(incident_snapshot("25-budget-of-zero", 300), 0)
    assert "The API server is asked for <strong>default/leak</strong> now." in body
    assert "default/leak is skipped" not in body
    assert body.count('<th scope="row">default/leak</th>') == 1
    assert "passed over" not in body


def test_the_advice_names_a_refused_pod_once() -> None:
    """`Limit or move that pod; end, move or limit default/leak` was one pod twice."""
    asked = incident_snapshot("25-budget-of-zero", 300)
    text, keep = remedies(status_of(asked, asked.at))
    assert text.startswith("let the disruption budget of default/leak allow its eviction")
    assert keep == "to keep the pod, set `podTermination: EvictionAPI`, with which the budget holds"
    honoured = {**status_of(asked, asked.at), "podTermination": "EvictionAPI"}
    assert remedies(honoured) == [text], "the budget holds already"


def test_several_refusals_are_one_advice() -> None:
    held = incident_snapshot("42-budget-of-one", 300)
    (text,) = remedies(status_of(held, held.at))
    assert text.count(" get pdb") == 1


def test_an_answer_that_is_late_is_no_refusal() -> None:
    row = {"pod": "a/b", "signal": "memory.available", "refusals": 0, "refusedSince": None, "refusedFirst": ""}
    assert asked_text([row]) == "the API server is asked to evict a/b, and has not answered yet"
    once = {**row, "refusals": 1, "refusedSince": "2023-11-14T22:14:26Z"}
    assert asked_text([once, row]) == "the API server is asked to evict a/b, a/b; it refused once since 22:14:26 UTC"


def test_a_budget_that_refused_before_is_said_before_the_next_attempt() -> None:
    """Evictd reads no disruption budgets: what it knows of one is the last refusal."""
    falling = incident_snapshot("25-budget-of-zero", 200)
    (memory, *_) = status_of(falling, falling.at)["signals"]
    assert memory["next"]["refusedSecondsAgo"] is None, "no request was made yet"
    (leak,) = [each for each in falling.observation.pods if each.name == "leak"]
    asked_at = falling.at - 90 * SECOND
    refusal = BudgetRefusal(first_at=asked_at, last_at=asked_at, until=asked_at, held_until=asked_at)
    known = replace(falling, state=replace(falling.state, backoff=Backoff(budgets={leak.uid: refusal})))
    text = headline(status_of(known, known.at)).text
    assert text.endswith("(grace period 30s), but a disruption budget refused its eviction 1m30s ago.")
