"""Rounds in a list of lines."""

import pytest

from evictd.render.folding import rounds


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        ("", []),
        ("ab", [(0, 1, 1), (1, 1, 1)]),
        ("aab", [(0, 1, 1), (1, 1, 1), (2, 1, 1)]),
        ("aaab", [(0, 1, 1), (1, 1, 1), (2, 1, 1), (3, 1, 1)]),
        ("aaaab", [(0, 1, 4), (4, 1, 1)]),
        ("ababab", [(0, 2, 3)]),
        ("xabcabcabcab", [(0, 1, 1), (1, 3, 3), (10, 1, 1), (11, 1, 1)]),
        ("aabaabaab", [(0, 3, 3)]),
    ],
)
def test_what_repeats_is_a_round_if_it_hides_two_lines(lines: str, found: list[tuple[int, int, int]]) -> None:
    assert [(each.start, each.length, each.count) for each in rounds(lines)] == found
