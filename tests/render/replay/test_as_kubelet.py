"""Where a kubelet would act otherwise than policy Kubelet does on the readings of a journal."""

from dataclasses import replace

import pytest

from evictd.core.model.config import Policy
from evictd.core.model.state import State
from evictd.core.units.duration import SECOND
from evictd.render.replay.as_kubelet import kubelet_texts, unrefused_text
from evictd.render.replay.refusals import recorded_refusals
from evictd.render.replay.replayed import Replayed, victims_text
from tests.render.replay.test_refusals import AGAIN, ASKED, JOURNAL, QUIET, replayed

KNOWN = recorded_refusals(JOURNAL)


def by_kubelet(*evicts: object) -> list[Replayed]:
    """The journal with a refused eviction, decided by policy Kubelet, which evicts the pod in these entries."""
    return [replace(replayed(each, evicts=each in evicts), policy=Policy.KUBELET) for each in JOURNAL]


@pytest.mark.parametrize(
    ("policy", "last", "said"),
    [
        (Policy.KUBELET, 8 * SECOND, True),
        (Policy.KUBELET, 5 * SECOND // 100, False),
        (Policy.KUBELET, None, False),
        (Policy.STANDARD, 8 * SECOND, False),
        (None, 8 * SECOND, False),
    ],
)
def test_that_a_kubelet_looks_less_often_is_said(policy: Policy | None, last: int | None, said: bool) -> None:
    """`0 would have been decided differently`, where a kubelet is late and the kernel kills a database."""
    entry = replace(ASKED, state=State(last_cycle_at=last))
    found = kubelet_texts([replace(replayed(entry, evicts=True), policy=policy)])
    assert [text.startswith("Policy Kubelet decides as a kubelet does, but as soon as") for text in found] == [
        True
    ] * said


def test_a_pod_that_a_budget_kept_would_have_been_evicted() -> None:
    """`No victim differs` was said of a pod that a budget kept, which a kubelet evicts."""
    both = by_kubelet(ASKED, AGAIN)
    assert unrefused_text(both, KNOWN) == (
        "A kubelet, which ignores disruption budgets (docs/parity.md), would have evicted default/hog, by the readings of "
        "2026-01-31T12:00:10Z."
    )
    assert KNOWN.text(None, unrefused_text(both, KNOWN)).endswith("by the readings of 2026-01-31T12:00:10Z.")
    assert victims_text(both).startswith("At other times: default/hog, and possibly more")
    assert unrefused_text([replayed(each, evicts=each in (ASKED, AGAIN)) for each in JOURNAL], KNOWN) == ""
    assert unrefused_text(by_kubelet(ASKED), recorded_refusals([QUIET])) == ""


@pytest.mark.parametrize("evicts", [(AGAIN,), ()])
def test_no_victim_differs_is_not_said_where_a_budget_kept_one(evicts: tuple[object, ...]) -> None:
    both = by_kubelet(*evicts)
    assert "No victim differs" not in victims_text(both)
    assert unrefused_text(both, KNOWN) == (
        "A kubelet, which ignores disruption budgets (docs/parity.md), would have evicted default/hog, by the readings of "
        "2026-01-31T12:00:20Z."
        if evicts
        else "A kubelet ignores disruption budgets (docs/parity.md), so none keeps these pods."
    )


def test_nothing_evicted_then_and_now_is_not_the_same_where_a_budget_kept_a_pod() -> None:
    kept = [replace(replayed(each, evicts=False), policy=Policy.KUBELET) for each in JOURNAL[:3]]
    assert "No victim differs" not in victims_text(kept)
