"""One problem for each source."""

from evictd.core.model.observation import Problem
from evictd.observe.reading.problems import Problems


def problem(source: str, detail: str = "EIO") -> Problem:
    return Problem(source=source, detail=detail)


def test_the_first_problem_of_a_source_is_kept() -> None:
    problems = Problems()
    problems.add("nodefs", "first")
    problems.add("nodefs", "second")
    problems.extend([problem("imagefs"), problem("nodefs")])
    assert problems.found() == (problem("nodefs", "first"), problem("imagefs"))
