"""Finds the least amount that is enough for the asked share of the nodes.

What an eviction needs depends on the threshold: one with which more is left at the decision leaves time for a grace period, in
which a pod takes more (`Episode.used_with`). So the least threshold is looked for upwards, until it is enough for what is used up
with it.
"""

from collections.abc import Iterable, Sequence

from evictd.advice.episode import Episode


def least_hard(nodes: Sequence[Sequence[Episode]], cover: int, least: int = 0) -> int:
    """Return the least hard threshold, at least `least`, that leaves the reserve on the asked share of the nodes."""
    hard = least
    while (needed := round_up(quantile(needs_with(nodes, hard), cover))) > hard:
        hard = needed
    return hard


def needs_with(nodes: Iterable[Sequence[Episode]], hard: int) -> list[int]:
    """Return the most that each node with evictions needs where this hard threshold is set, ascending."""
    return sorted(neediest(each, hard).needed_with(hard) for each in nodes if each)


def neediest(episodes: Iterable[Episode], hard: int) -> Episode:
    """Return the eviction that needs the most where this hard threshold is set.

    How much one needed is not known where nothing was left at its decision; another one tells more.
    """
    return max(episodes, key=lambda each: (each.left > 0, each.needed_with(hard)))


def quantile(values: Iterable[int], percent: int) -> int:
    """Return the least value that at least this percentage of the values does not exceed; 0 without values."""
    ordered = sorted(values)
    return ordered[max(0, -(-len(ordered) * percent // 100) - 1)] if ordered else 0


def round_up(amount: int) -> int:
    """Round up to a number that is easy to read, by an eighth at the most."""
    step = 1 << max(0, amount.bit_length() - 4)
    return -(-amount // step) * step


def not_above(amount: int, most: int | None) -> int:
    """Return the amount, or the limit where that is less."""
    return amount if most is None else min(amount, most)


def covers(episodes: Sequence[Episode], hard: int) -> bool:
    """Return whether this hard threshold is enough for the evictions of one node at whose decision something was left.

    How much the others needed is not known: they have to be fewer, with a lower threshold.
    """
    left = [each for each in episodes if each.left]
    higher = all(each.left or each.limit < hard for each in episodes)
    return higher and len(left) * 2 > len(episodes) and all(each.leaves_reserve(hard) for each in left)


def suffices(episodes: Sequence[Episode]) -> bool:
    """Return whether none of the evictions of one node needs more than one step above the hard threshold that the node had."""
    own = max((each.threshold for each in episodes), default=0)
    return all(each.needed_with(own) <= round_up(own + 1) for each in episodes)
