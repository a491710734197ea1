"""Inodes are noted once, for little memory, and up to a bound."""

import tracemalloc
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evictd.errors import NodeError
from evictd.observe.inode_set import InodeSet

MIB = 1 << 20


@given(st.lists(st.integers(min_value=1, max_value=2**64 - 1) | st.integers(min_value=1, max_value=600)))
def test_it_is_a_set(inodes: list[int]) -> None:
    found, known = InodeSet(), set[int]()
    for inode in inodes:
        assert found.add(inode) == (inode not in known)
        known.add(inode)


@pytest.fixture
def traced() -> Iterator[None]:
    tracemalloc.start()
    yield
    tracemalloc.stop()


@pytest.mark.usefixtures("traced")
def test_neighbours_take_next_to_nothing() -> None:
    found = InodeSet()
    assert all(found.add(inode) for inode in range(1, 300_001))
    assert tracemalloc.get_traced_memory()[0] < MIB


@pytest.mark.usefixtures("traced")
def test_a_tree_that_is_there_to_exhaust_us_has_an_end() -> None:
    found, noted = InodeSet(), 0
    with pytest.raises(NodeError, match="too many files with several links"):
        while noted < 70_000:
            found.add(noted << 20)
            noted += 1
    assert noted == 1 << 16
    assert tracemalloc.get_traced_memory()[0] < 16 * MIB
