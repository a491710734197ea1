"""A configuration fault is one printable line of bounded length."""

from hypothesis import given, settings
from hypothesis import strategies as st

from evictd.core.model.problem import ConfigProblem, quoted, shown


def test_a_problem_names_path_value_fault_and_remedy() -> None:
    problem = ConfigProblem(path="maxPods", value="-1", wrong="is negative", remedy="give 110")
    assert str(problem) == "maxPods: -1: is negative; give 110"


def test_what_is_not_there_is_left_out() -> None:
    assert str(ConfigProblem(path="kind", wrong="is missing")) == "kind: is missing"


def test_a_known_line_comes_first() -> None:
    assert str(ConfigProblem(path="maxPods", wrong="is negative", line=3)) == "line 3: maxPods: is negative"


def test_typographic_quotes_are_the_fault() -> None:
    problem = ConfigProblem(
        path="evictionHard[pid.available]", value="\u201c5%\u201d", wrong="is wrong", remedy="give 5%"
    )
    assert str(problem) == "evictionHard[pid.available]: \u201c5%\u201d: is wrong; write plain quotes, or none"


def test_quoted_escapes_as_go_does() -> None:
    assert quoted('a"b\\c\n') == '"a\\"b\\\\c\\n"'


def test_the_empty_text_is_shown_as_one() -> None:
    assert shown("") == '""'


@settings(deadline=None)
@given(st.text())
def test_every_text_becomes_one_short_printable_line(text: str) -> None:
    for line in (shown(text), quoted(text)):
        assert line.isprintable()
        assert len(line) < 700
