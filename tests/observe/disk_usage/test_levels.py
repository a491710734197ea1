"""The path of a walk and the directories still to be visited, in bounded memory."""

import pytest

from evictd.observe.disk_usage import levels
from evictd.observe.disk_usage.levels import Batch, Levels


def test_the_subdirectories_of_one_folder_are_remembered_within_a_bound() -> None:
    batch, most = Batch(), 0
    for number in range(200_000, 0, -1):
        batch.rows.append((number, ""))
        batch.cut()
        most = max(most, len(batch.rows))
    assert most <= levels._BATCH + levels._SURPLUS
    assert batch.more
    assert [number for number, _ in batch.in_order()] == [*range(levels._BATCH, 0, -1)]


def filled(first: int, last: int) -> Batch:
    batch = Batch()
    batch.rows += [(number, f"n{number}") for number in range(first, last + 1)]
    return batch


def popped(found: Levels) -> list[bytes]:
    return list(iter(found.pop, None))


def test_subdirectories_are_visited_by_their_inode_number_and_below_first() -> None:
    found = Levels()
    found.enter(b".", 1)
    found.push(filled(3, 5))
    assert found.pop() == b"n3"
    found.enter(b"n3", 3)
    found.push(filled(7, 8))
    assert popped(found) == [b"n7", b"n8"]
    assert found.unread_after() is None
    assert found.leave() == 3
    assert popped(found) == [b"n4", b"n5"]


def test_a_list_that_was_dropped_is_to_be_read_again_after_the_last_visited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(levels, "_MAX_PENDING_BYTES", 20)
    found = Levels()
    found.enter(b".", 1)
    found.push(filled(3, 5))
    assert found.pop() == b"n3"
    found.enter(b"n3", 3)
    found.push(filled(7, 9))
    assert popped(found) == [b"n7", b"n8", b"n9"]
    found.leave()
    assert (found.pop(), found.unread_after()) == (None, 3)
    found.push(filled(4, 4))
    assert popped(found) == [b"n4"]
    assert found.unread_after() is None


def test_levels_that_were_moved_away_go_with_their_lists() -> None:
    found = Levels()
    for number in range(1, 5):
        found.enter(f"n{number}".encode(), number)
        found.push(filled(number * 10, number * 10))
    assert [*found.names_below_top()] == [b"n2", b"n3", b"n4"]
    found.cut(1)
    assert ([*found.names_below_top()], [*found.inodes]) == ([b"n2"], [1, 2])
    assert popped(found) == [b"n20"]
