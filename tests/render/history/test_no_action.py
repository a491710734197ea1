"""What to do where no pod was evicted."""

from dataclasses import replace

import pytest

from evictd.render.history.history import EventKind, HistoryEvent
from evictd.render.history.pod.no_action import no_action_remedy


@pytest.mark.parametrize(
    ("reason", "signal", "said"),
    [
        ("NotShortOfMemory", "memory.available", "memory.formula: MemAvailable"),
        ("ProtectedCulprit", "nodefs.available", "shop/db"),
        ("ReclaimSufficed", "nodefs.available", ""),
        ("Unknown", "no.signal", ""),
    ],
)
def test_the_remedy_is_that_of_the_reason(reason: str, signal: str, said: str) -> None:
    event = HistoryEvent(
        at="", kind=EventKind.NO_ACTION, text="", pod="shop/db", signal=signal, evidence={"reason": reason}
    )
    remedy = no_action_remedy(event)
    assert said in remedy
    assert bool(remedy) == bool(said)


def test_a_pod_that_a_budget_guards_is_not_said_to_be_static() -> None:
    """Its manifest was to be changed, and its budget, which refused the eviction, was not named."""
    said = {
        why: no_action_remedy(
            HistoryEvent(
                at="", kind=EventKind.NO_ACTION, text="", pod="shop/db", signal="memory.available",
                evidence={"reason": "ProtectedCulprit", "message": f"shop/db holds the most and {why}; 1Gi is needed"},
            )
        )
        for why in ("is guarded by a disruption budget", "is a static pod", "has a critical priority")
    }  # fmt: skip
    assert [*said.values()] == [
        "let the disruption budget of shop/db allow its eviction (`kubectl -n shop get pdb`), or limit or move that pod",
        "limit shop/db or move it to another node (change its manifest)",
        "limit shop/db or move it to another node",
    ]


def test_a_reason_without_a_remedy_has_none() -> None:
    event = HistoryEvent(at="", kind=EventKind.NO_ACTION, text="", evidence={"reason": "HeldBack"})
    assert no_action_remedy(event)
    assert not no_action_remedy(replace(event, evidence={"reason": "ReclaimSufficed"}))


def test_pods_that_may_be_the_cause_are_to_be_measured() -> None:
    suspects = {"ops/a": "DaemonSet/a", "ops/b": ""}
    evidence = {"reason": "NothingHelps", "suspects": suspects}
    event = HistoryEvent(at="", kind=EventKind.NO_ACTION, text="", signal="nodefs.available", evidence=evidence)
    said = no_action_remedy(event)
    assert said.startswith(
        "measure the hostPath volumes of ops/a, ops/b with `du -xsh`: if they fill the disk, first mend "
    )
