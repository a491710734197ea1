"""Problems are told when they start and when they end."""

from hypothesis import given
from hypothesis import strategies as st

from evictd.core.observation import Problem
from evictd.observe.findings import ProblemLog, Problems


def problem(source: str, detail: str = "EIO") -> Problem:
    return Problem(source=source, detail=detail)


def test_the_first_problem_of_a_source_is_kept() -> None:
    problems = Problems()
    problems.add("nodefs", "first")
    problems.add("nodefs", "second")
    problems.extend([problem("imagefs"), problem("nodefs")])
    assert problems.found() == (problem("nodefs", "first"), problem("imagefs"))


def test_a_problem_is_told_once_however_long_it_stays() -> None:
    log = ProblemLog()
    assert log.changes([problem("nodefs")]).started == (problem("nodefs"),)
    for cycle in range(5):
        change = log.changes([problem("nodefs", f"EIO {cycle}")])
        assert change.started == change.ended == ()


def test_its_end_is_told_with_its_first_words_and_its_return_is_news() -> None:
    log = ProblemLog()
    log.changes([problem("nodefs", "first")])
    log.changes([problem("nodefs", "later")])
    assert log.changes([]).ended == (problem("nodefs", "first"),)
    assert log.changes([]).ended == ()
    assert log.changes([problem("nodefs", "again")]).started == (problem("nodefs", "again"),)


@given(st.lists(st.sets(st.sampled_from("abcd"))))
def test_what_started_and_has_not_ended_is_what_is_there(cycles: list[set[str]]) -> None:
    log, open_ones = ProblemLog(), set[str]()
    for sources in cycles:
        change = log.changes(problem(source) for source in sorted(sources))
        open_ones |= {row.source for row in change.started}
        open_ones -= {row.source for row in change.ended}
        assert open_ones == sources
