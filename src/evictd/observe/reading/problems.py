"""Collects the problems of a reading, one for each source.

`daemon.telemetry.findings_log` compares them with those of the last reading, so that a problem is logged when it begins and ends.
"""

from collections.abc import Iterable

from evictd.core.model.observation import Problem


class Problems:
    """The problems of one reading; the first of a source is kept."""

    def __init__(self) -> None:
        self._details: dict[str, str] = {}

    def add(self, source: str, detail: object) -> None:
        """Add the problem of a source, unless it has one."""
        self._details.setdefault(source, str(detail))

    def extend(self, problems: Iterable[Problem]) -> None:
        """Add problems that were found elsewhere, such as by a background thread."""
        for problem in problems:
            self.add(problem.source, problem.detail)

    def found(self) -> tuple[Problem, ...]:
        """Return them in the order in which they were added."""
        return tuple(Problem(source=source, detail=detail) for source, detail in self._details.items())
