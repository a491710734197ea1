"""What could not be read, said once.

A reading collects `Problem`s by source, one each; the log compares a reading with the one before, so that a fault is told when
it starts and when it ends and not every cycle in between.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from evictd.core.observation import Problem


class Problems:
    """The problems of one reading; the first of a source is kept."""

    def __init__(self) -> None:
        self._details: dict[str, str] = {}

    def add(self, source: str, detail: object) -> None:
        """Note what happened to a source."""
        self._details.setdefault(source, str(detail))

    def extend(self, problems: Iterable[Problem]) -> None:
        """Take over problems that were found elsewhere, such as by a thread in the background."""
        for problem in problems:
            self.add(problem.source, problem.detail)

    def found(self) -> tuple[Problem, ...]:
        """Give them in the order in which they were met."""
        return tuple(Problem(source=source, detail=detail) for source, detail in self._details.items())


@dataclass(frozen=True, slots=True, kw_only=True)
class ProblemChange:
    """What is new since the last reading."""

    started: tuple[Problem, ...] = ()
    ended: tuple[Problem, ...] = ()
    """As they were last told."""


class ProblemLog:
    """Remembers which sources are in trouble."""

    def __init__(self) -> None:
        self._known: dict[str, Problem] = {}

    def changes(self, problems: Iterable[Problem]) -> ProblemChange:
        """Compare with the last call. A source that stays in trouble is no news, even when its words differ."""
        current = {problem.source: problem for problem in problems}
        started = tuple(problem for source, problem in current.items() if source not in self._known)
        ended = tuple(problem for source, problem in self._known.items() if source not in current)
        self._known = {source: self._known.get(source, problem) for source, problem in current.items()}
        return ProblemChange(started=started, ended=ended)
