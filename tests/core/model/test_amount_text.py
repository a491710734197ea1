"""Amounts in sentences."""

import pytest

from evictd.core.model.amount_text import amount_with, noun_amount
from evictd.core.model.signal import Resource
from evictd.core.units.quantity import Quantity, of_bytes, of_count


@pytest.mark.parametrize(
    ("quantity", "resource", "text"),
    [
        (of_bytes(30 << 20), Resource.MEMORY, "30Mi is"),
        (of_bytes(1), Resource.EPHEMERAL_STORAGE, "less than 1Ki is"),
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
