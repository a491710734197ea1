"""Finds what repeats in a list of lines, so that a round that came a hundred times is shown twice and counted."""

from collections.abc import Hashable, Iterator, Sequence

from evictd.core.frozen import frozen

_LONGEST = 12
"""Most lines of a round."""
_LEAST = 3
"""Fewest rounds that are folded."""
_LEAST_HIDDEN = 2
"""Fewest lines that are left out: in place of one alone there would be a line that says so."""


@frozen
class Round:
    """Lines from `start` on: `count` rounds of `length` lines each; a line that does not repeat is one round of one line."""

    start: int
    length: int
    count: int

    @property
    def end(self) -> int:
        """The line after the last round."""
        return self.start + self.length * self.count


def rounds(keys: Sequence[Hashable]) -> Iterator[Round]:
    """Divide lines, given by what makes them equal, into rounds."""
    start = 0
    while start < len(keys):
        found = Round(start=start, length=1, count=1)
        for length in range(1, _LONGEST + 1):
            count = _count(keys, start, length)
            if count >= _LEAST and (count - 2) * length >= _LEAST_HIDDEN:
                found = Round(start=start, length=length, count=count)
                break
        yield found
        start = found.end


def without_rounds(keys: Sequence[Hashable]) -> Iterator[int | Round]:
    """Yield which lines to show: of rounds that repeat the first and the last, and between them the `Round` that is left out."""
    for each in rounds(keys):
        yield from range(each.start, each.start + each.length)
        if each.count > 1:
            yield each
            yield from range(each.end - each.length, each.end)


def _count(keys: Sequence[Hashable], start: int, length: int) -> int:
    first, count = keys[start : start + length], 1
    while len(first) == length and keys[start + count * length : start + (count + 1) * length] == first:
        count += 1
    return count
