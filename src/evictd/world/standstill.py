"""Keeps when usages could not grow, because the node had nothing left of what they take.

A full disk refuses writes, and a node without a free PID refuses forks. A `grow` of such a usage stands still until something is
freed, and goes on from where it was. The other behaviours follow their times: a burst ends when it ends.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from evictd.world.behaviours import Usage


@dataclass(slots=True)
class Standstills:
    """The spans in which usages stood still, in nanoseconds of the world; the last span of a usage may still last."""

    _spans: dict[Usage, list[tuple[int, int | None]]] = field(default_factory=dict)

    def begin(self, usages: Iterable[Usage], at: int) -> None:
        """Let usages stand still from a time on."""
        for usage in usages:
            self._spans.setdefault(usage, []).append((at, None))

    def end(self, usages: Iterable[Usage], at: int) -> None:
        """Let usages go on from a time on."""
        for usage in usages:
            began, _ = self._spans[usage].pop()
            self._spans[usage].append((began, at))

    def lasts(self, usage: Usage) -> bool:
        """Whether a usage stands still at present."""
        spans = self._spans.get(usage)
        return spans is not None and spans[-1][1] is None

    def duration(self, usage: Usage, since: int, until: int) -> int:
        """Return for how long a usage stood still between two times."""
        spans = self._spans.get(usage, ())
        return sum(max(min(until if end is None else end, until) - max(began, since), 0) for began, end in spans)
