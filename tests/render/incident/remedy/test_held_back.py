"""What held further evictions back while the node was still short."""

from dataclasses import replace

from evictd.core.model.signal import Signal
from evictd.render.history.history import EventKind, HistoryEvent
from evictd.render.incident.record.incident import Incident
from evictd.render.incident.remedy.held_back import held_back_remedy, held_back_text, passed_budget_text
from tests.render.recorded_incident import incident
from tests.stories import GI

LIMIT = HistoryEvent(
    at="2026-01-01T00:00:40Z", kind=EventKind.NO_ACTION, text="", evidence={"reason": "EvictionLimitReached"}
)


def then(*events: HistoryEvent) -> Incident:
    """The recorded incident with these events after the eviction."""
    return replace(incident(), after=events)


def refused(pod: str, kind: EventKind = EventKind.REFUSED) -> HistoryEvent:
    return HistoryEvent(at="2026-01-01T00:00:41Z", kind=kind, pod=pod, uid=f"uid-{pod}", text="")


def test_the_limit_of_evictions_held_further_ones_back() -> None:
    """The replicas stayed for 18 minutes, and the report did not name `evictionLimit` (world 44)."""
    assert held_back_text(then(LIMIT)) == "evictionLimit held further evictions back"
    assert held_back_remedy(then(LIMIT)) == (
        "see which pods went (`evictd history`), then relieve the node or raise `evictionLimit`"
    )
    assert held_back_text(then(replace(LIMIT, signal=Signal.MEMORY_AVAILABLE.value)))
    assert not held_back_text(then(replace(LIMIT, signal=Signal.PID_AVAILABLE.value)))
    assert not held_back_text(then(replace(LIMIT, evidence={"reason": "ProtectedCulprit"})))


def test_the_requests_of_an_owner_whose_pods_exceed_them_are_named_as_a_remedy() -> None:
    """`relieve the node` named no action, while each replica used 350Mi and requested 200Mi (world 44)."""
    found = then(LIMIT)
    row = next(each for each in found.ranking if each.chosen)
    rows = tuple(replace(row, pod=f"a/{n}", chosen=not n, usage=350 << 20, request=200 << 20) for n in range(3))
    found = replace(found, ranking=rows, siblings=frozenset({"a/1", "a/2"}))
    assert held_back_remedy(found) == (
        "see which pods went (`evictd history`), then raise the requests of ReplicaSet/hog (its pods use 350Mi and request "
        "200Mi), move pods away or raise `evictionLimit`"
    )
    more = replace(found, ranking=(*rows[:2], replace(rows[2], usage=400 << 20)))
    assert "its pods use up to 400Mi" in held_back_remedy(more)
    none = replace(found, ranking=tuple(replace(each, request=0) for each in rows))
    assert "use 350Mi and request none)" in held_back_remedy(none)
    within = replace(found, ranking=(*rows[:2], replace(rows[2], request=GI)))
    assert "relieve the node" in held_back_remedy(within)
    assert "relieve the node" in held_back_remedy(replace(found, siblings=frozenset()))


def test_a_disruption_budget_guarded_the_other_pods() -> None:
    """`limit or end them` was said of two pods, and nothing of the budget that refused their eviction (world 42)."""
    found = then(refused("a/x"), refused("a/y"), refused("a/x"), refused("a/z"), refused("a/w"))
    assert held_back_text(found) == "a disruption budget refused a/x, a/y, a/z and 1 more"
    assert held_back_remedy(found) == (
        "look at the disruption budgets (`kubectl get pdb --all-namespaces`): a/x, a/y, a/z and 1 more may not go"
    )
    assert not held_back_text(then(refused("a/x"), refused("a/x", EventKind.EVICTED)))
    own = replace(refused("default/hog-old"), uid=incident().event.uid)
    assert not held_back_text(then(own))
    assert not held_back_text(then())
    assert not held_back_remedy(then())


def test_the_budgets_of_pods_within_their_request_are_left_out_where_others_exceed_theirs() -> None:
    """`look at the disruption budgets` named eight innocent pods beside the two that had grown (world 42)."""
    found = then(refused("default/hog-old-2"), refused("default/web"))
    row = replace(found.ranking[0], pod="default/web", request=0)
    beyond = replace(found, ranking=(*(each for each in found.ranking if each.pod != "default/web"), row))
    assert held_back_text(beyond) == "a disruption budget refused default/web"
    within = replace(beyond, ranking=(replace(row, request=1 << 40),))
    assert held_back_text(within) == "a disruption budget refused default/hog-old-2, default/web"


def test_the_budget_that_the_api_server_names_is_named() -> None:
    text = "a disruption budget refused to evict a/x: The disruption budget db needs 1 healthy pods and has 1 currently"
    found = then(replace(refused("a/x"), text=text))
    assert held_back_remedy(found).endswith(": a/x may not go because of a/db")
    own = replace(refused("default/hog-old"), uid=incident().event.uid, text=text)
    assert passed_budget_text(replace(incident(), before=(own,))) == (
        "tell whose disruption budget default/db guarded default/hog-old that evictd waits no longer than evictionTimeout"
    )
