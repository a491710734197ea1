"""Checks the hint at a memory threshold that leaves little time on a large node."""

import pytest

from evictd.config.lint_model import Lint
from evictd.config.little_left import little_left
from tests.config.memory_notes import memory_notes


def found(hard: str, soft: str = "", memory: str = "23.5Gi") -> list[str]:
    return memory_notes(little_left, Lint.LITTLE_MEMORY_LEFT, hard, soft, memory)


def test_the_kubelets_default_is_named_on_a_large_node() -> None:
    """`evictd check` said nothing of 100Mi on a node of 23.5Gi, for which the documentation advises 500Mi and 1Gi."""
    said = "this node has 23.5Gi, and 100Mi leave little time before the OOM killer acts; from 4 GiB on set 500Mi hard and "
    assert found("100Mi") == [f"{said}1Gi soft, unless `evictd advise` proposed less"]
    assert len(found("1%")) == 1


@pytest.mark.parametrize(
    ("hard", "soft", "memory"),
    [
        ("500Mi", "", "23.5Gi"),
        ("500m", "", "23.5Gi"),
        ("5%", "", "23.5Gi"),
        ("150Mi", "500Mi", "23.5Gi"),
        ("100Mi", "", "2Gi"),
        ("100Mi", "", ""),
    ],
)
def test_enough_a_soft_threshold_above_or_a_small_or_unknown_node_is_fine(hard: str, soft: str, memory: str) -> None:
    assert found(hard, soft, memory) == []
    assert found("", "1Gi") == []


def test_a_node_of_four_gibibytes_reports_a_little_less() -> None:
    assert len(found("100Mi", memory="3.8Gi")) == 1


def test_a_soft_threshold_that_is_as_low_gives_no_more_time() -> None:
    """A soft threshold of 101Mi above a hard one of 100Mi silenced it."""
    assert len(found("100Mi", "100Mi")) == 1
    assert "and 101Mi leave little time" in found("100Mi", "101Mi")[0]
    assert len(found("", "200Mi")) == 1
