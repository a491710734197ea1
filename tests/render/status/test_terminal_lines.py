from rich.text import Text

from evictd.render.status.terminal_lines import first_lines, fitted_line, line_count, shortened_lines

LONG = Text("what you can do: " + "end, move or limit default/leak, which grew the most; " * 5)


def test_a_fitted_line_takes_no_more_lines_than_it_may_and_no_more_than_it_needs() -> None:
    assert [line_count([fitted_line(LONG, most, 80)], 80) for most in range(1, 8)] == [1, 2, 3, 4, 4, 4, 4]
    assert fitted_line(LONG, 7, 80).plain == LONG.plain


def test_cutting_a_line_leaves_the_given_one_whole() -> None:
    (line,) = shortened_lines([LONG], 80)
    assert line.plain.endswith("…")
    assert not LONG.plain.endswith("…")


def test_of_more_lines_than_fit_the_first_ones_stand_with_the_number_of_the_others() -> None:
    lines = [Text(str(number)) for number in range(5)]
    assert [str(each) for each in first_lines(lines, 3, 80)] == ["0", "1", "and 3 more"]
    assert len(first_lines(lines, None, 80)) == len(lines)
