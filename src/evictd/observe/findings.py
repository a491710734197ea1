"""What could not be read, said once: a reading collects `Problem`s by source, one each.

`daemon.findings_log` compares a reading with the one before, so that a fault is told when it starts and when it ends.
"""

from collections.abc import Iterable

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
