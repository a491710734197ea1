"""Nodes that a hard threshold of others does not fit."""

import pytest

from evictd.advice.evidence import NodeEvidence
from evictd.advice.unfit import Unfit, unfit
from tests.advice.test_proposal import MEMORY, MI

NODE = NodeEvidence(node="small", hard={MEMORY: 150 * MI}, soft={MEMORY: 240 * MI}, most={MEMORY: 361 * MI})


@pytest.mark.parametrize(
    ("hard", "keeps_soft", "amount"),
    [(500, True, 240), (500, False, 361), (300, False, None), (300, True, 240), (240, True, None)],
)
def test_a_threshold_that_is_met_always_or_before_a_kept_soft_one_does_not_fit(
    hard: int, *, keeps_soft: bool, amount: int | None
) -> None:
    found = unfit(MEMORY, hard * MI, [NodeEvidence(node="large"), NODE], keeps_soft=keeps_soft)
    assert found == (None if amount is None else Unfit(node="small", amount=amount * MI, soft=amount == 240))


def test_a_threshold_that_the_node_has_already_is_not_raised_beyond_anything() -> None:
    node = NodeEvidence(node="n", hard={MEMORY: 500 * MI}, most={MEMORY: 480 * MI})
    assert unfit(MEMORY, 640 * MI, [node], keeps_soft=True) is None
