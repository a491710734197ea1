"""Checks the hint at a percentage of memory that keeps much free on a large node."""

import pytest

from evictd.config.lint_model import Lint
from evictd.config.much_kept import much_kept
from tests.config.memory_notes import memory_notes


def found(hard: str, soft: str = "", memory: str = "256Gi") -> list[str]:
    return memory_notes(much_kept, Lint.MUCH_MEMORY_KEPT, hard, soft, memory)


def test_a_percentage_on_a_much_larger_node_is_named_with_the_advised_amount() -> None:
    """`evictd check` showed 38.4Gi for 15% of 256Gi, for which the documentation advises 1Gi, and said nothing of it."""
    where = "in the kubelet's configuration too if one runs here"
    assert found("10%", "15%") == [
        f"10% is 25.6Gi here: pods are evicted while so much is left; set an amount, such as 500Mi hard, {where}",
        f"15% is 38.4Gi here: pods are evicted while so much is left; set an amount, such as 1Gi soft, {where}",
    ]


def test_amounts_of_a_larger_node_are_named_on_a_small_one() -> None:
    """`evictd check` said nothing of 1Gi on a node of 2 GiB, half of which pods then never use."""
    where = "in the kubelet's configuration too if one runs here"
    assert found("500Mi", "1Gi", "2Gi") == [
        f"500Mi is much of 2Gi: pods are evicted while so much is left; set an amount, such as 150Mi hard, {where}",
        f"1Gi is much of 2Gi: pods are evicted while so much is left; set an amount, such as 400Mi soft, {where}",
    ]
    assert found("150Mi", "400Mi", "2Gi") == found("500Mi", "1Gi", "4Gi") == found("200Mi", "", "900Mi") == []


@pytest.mark.parametrize(
    ("hard", "soft", "memory"),
    [
        ("26Gi", "39Gi", "256Gi"),
        ("10%", "15%", "32Gi"),
        ("60%", "", "256Gi"),
        ("10%", "", ""),
    ],
    ids=["amounts", "a smaller node", "an error of its own", "no capacity"],
)
def test_what_is_meant_or_is_not_far_above_is_not(hard: str, soft: str, memory: str) -> None:
    assert found(hard, soft, memory) == []
