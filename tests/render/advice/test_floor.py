"""The reason why no lower threshold is proposed."""

import io
from dataclasses import replace

import pytest

from evictd.advice.evidence import node_evidence
from evictd.advice.floor import NotLower
from evictd.advice.proposal import LEAST_EVICTIONS, SignalAdvice, advise
from evictd.render.advice.advice import print_advice
from evictd.render.advice.floor import floor_lines
from evictd.render.console import make_console
from tests.advice.test_floor import HARD, SOFT
from tests.advice.test_proposal import MI, copies
from tests.render.advice.test_advice import shown_on_a_line


def advised() -> SignalAdvice:
    [memory] = advise(copies(node_evidence("n", SOFT), LEAST_EVICTIONS), 99).signals
    return memory


@pytest.mark.parametrize(
    ("why", "by_hard", "line"),
    [
        (NotLower.NO_HARD, 0, "no eviction was by the hard threshold"),
        (NotLower.NO_HARD, 2, "no eviction was by the hard threshold on n0"),
        (NotLower.FAST, 2, "memory.available fell by 300Mi a second on n0"),
        (NotLower.SOFT, 2, "soft evictions do not show how long a hard one waits until pods are measured"),
        (NotLower.KILLED, 2, "the kernel killed for want of memory on n0"),
        (NotLower.NOT_MEASURED, 2, "with this the use of an eviction was not measured"),
    ],
)
def test_the_reason_is_said(why: NotLower, by_hard: int, line: str) -> None:
    memory = advised()
    assert memory.not_lower is not None
    floor = replace(memory.not_lower, why=why, rate=300 * MI)
    assert list(floor_lines(replace(memory, not_lower=floor, by_hard=by_hard))) == [
        f"no lower one is proposed, because {line}"
    ]
    assert list(floor_lines(replace(memory, not_lower=None))) == []


def test_soft_evictions_are_not_said_to_suffice_for_a_hard_threshold() -> None:
    """`with 104Mi, 24 of 24 evictions leave the reserve` was said of soft evictions."""
    assert "leave the reserve" not in shown_on_a_line(*copies(node_evidence("n", SOFT), LEAST_EVICTIONS))
    assert "leave the reserve" in shown_on_a_line(*copies(node_evidence("n", HARD), LEAST_EVICTIONS))


def test_a_kept_threshold_is_not_for_how_the_pods_of_one_owner_fill() -> None:
    loop = replace(advised(), most_of_owner=(("n0",), "default/ReplicaSet/batch", 5))
    advice = replace(advise(copies(node_evidence("n", SOFT), LEAST_EVICTIONS), 99), signals=(loop,))
    to = io.StringIO()
    print_advice(advice, make_console(to))
    assert "no threshold ends that" in " ".join(to.getvalue().split())
    assert "for how these fill" not in " ".join(to.getvalue().split())
