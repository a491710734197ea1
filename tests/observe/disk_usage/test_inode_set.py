"""A set of inode numbers takes little memory, however many there are."""

import tracemalloc
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evictd.errors import NodeError
from evictd.observe.disk_usage.inode_set import InodeSet

MIB = 1 << 20

INODES = st.integers(min_value=1, max_value=2**64 - 1) | st.integers(min_value=1, max_value=600)


@given(st.lists(st.tuples(st.booleans(), INODES)))
def test_it_is_a_set(steps: list[tuple[bool, int]]) -> None:
    found, known = InodeSet(), set[int]()
    for adds, inode in steps:
        assert (inode in found) == (inode in known)
        if adds:
            assert found.add(inode) == (inode not in known)
            known.add(inode)
        else:
            found.discard(inode)
            known.discard(inode)
    for inode in known:
        found.discard(inode)
    assert not found._rows, "what is empty takes no memory"


@pytest.fixture
def traced() -> Iterator[None]:
    tracemalloc.start()
    yield
    tracemalloc.stop()


@pytest.mark.usefixtures("traced")
def test_adjacent_numbers_take_little_memory() -> None:
    found = InodeSet()
    assert all(found.add(inode) for inode in range(1, 300_001))
    assert tracemalloc.get_traced_memory()[0] < MIB


@pytest.mark.usefixtures("traced")
def test_too_many_scattered_numbers_are_an_error() -> None:
    found, noted = InodeSet(), 0
    with pytest.raises(NodeError, match="more than 65536 rows of inodes"):
        while noted < 70_000:
            found.add(noted << 20)
            noted += 1
    assert noted == 1 << 16
    assert tracemalloc.get_traced_memory()[0] < 16 * MIB
