"""Amounts in sentences."""

import pytest

from evictd.core.model.amount_text import amount_with, growth_needed, noun_amount
from evictd.core.model.finding import NoAction, NoActionReason
from evictd.core.model.signal import Resource
from evictd.core.units.quantity import Quantity, of_bytes, of_count


@pytest.mark.parametrize(
    ("quantity", "resource", "text"),
    [
        (of_bytes(30 << 20), Resource.MEMORY, "30Mi is"),
        (of_bytes(1), Resource.EPHEMERAL_STORAGE, "1 is"),
        (of_count(1), Resource.PIDS, "1 process is"),
        (of_count(500), Resource.INODES, "500 inodes are"),
        (of_count(200_000), Resource.PIDS, "200k processes are"),
        (None, Resource.INODES, "an unknown amount is"),
    ],
)
def test_an_amount_says_what_it_counts(quantity: Quantity | None, resource: Resource, text: str) -> None:
    """`1 is missing` was said of processes."""
    assert amount_with(quantity, resource) == text
    assert noun_amount(quantity, resource) == text.rsplit(" ", 1)[0]
    assert amount_with(of_count(2), Resource.PIDS, "was", "were") == "2 processes were"


def test_what_is_needed_with_growth_says_what_is_missing_now() -> None:
    """More than a gibibyte was needed, and 72Mi were missing (world 42)."""
    finding = NoAction(why=NoActionReason.PROTECTED_CULPRIT, needed=of_bytes(2 << 30), missing=of_bytes(72 << 20))
    text = "with what grows until they have ended (72Mi is missing now)"
    assert growth_needed(finding, Resource.MEMORY) == f" {text}"
    assert growth_needed(finding, Resource.MEMORY, ", ") == f", {text}"
    least = NoAction(why=finding.why, needed=finding.needed, missing=of_bytes(1))
    assert growth_needed(least, Resource.MEMORY) == " with what grows until they have ended"
    assert (
        growth_needed(NoAction(why=finding.why, needed=finding.needed, missing=finding.needed), Resource.MEMORY) == ""
    )
