"""The console of the commands."""

import io

import pytest
from rich.table import Table

from evictd.render.console import make_console, print_line, wrapped_lines


def test_what_is_no_terminal_gets_no_colours_and_no_markup() -> None:
    out = io.StringIO()
    make_console(out).print("[red]:warning: 5", style="red")
    assert out.getvalue() == "[red]:warning: 5\n"


def test_a_width_can_be_given() -> None:
    out = io.StringIO()
    make_console(out, 5).print("one two")
    assert out.getvalue() == "one \ntwo\n"


def test_what_is_no_terminal_gets_no_spaces_that_fill_a_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each line of a history in a file was as long as its longest one: 338 characters."""
    monkeypatch.delenv("COLUMNS", raising=False)
    out = io.StringIO()
    table = Table(box=None, pad_edge=False)
    for detail in ("short", "much longer"):
        table.add_row("what", detail)
    make_console(out).print(table)
    assert out.getvalue().splitlines()[-2:] == ["what  short", "what  much longer"]


def test_a_line_that_is_too_long_goes_on_below_its_text() -> None:
    out = io.StringIO()
    print_line(make_console(out, 20), "  - then: ", "evict default/hog for memory")
    assert out.getvalue().splitlines() == [
        "  - then: evict",
        "          default/hog",
        "          for memory",
    ]


def test_a_command_is_not_broken() -> None:
    """Pasted from two lines, a shell runs its first half."""
    text = "then run `evictd check FILE --config-dir DIR` on the node"
    assert wrapped_lines("- ", text, 24) == ["- then run", "  `evictd check FILE --config-dir DIR`", "  on the node"]
    assert wrapped_lines("- ", "an odd ` alone", 12) == ["- an odd `", "  alone"]


def test_a_reader_that_went_away_is_left_to_the_command_line() -> None:
    with pytest.raises(BrokenPipeError):
        make_console(io.StringIO()).on_broken_pipe()


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("no_color", ["", "1"])
def test_no_color_takes_bold_away_too(no_color: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rich's own reading of NO_COLOR keeps bold."""
    monkeypatch.setenv("NO_COLOR", no_color)
    monkeypatch.setenv("TERM", "xterm-256color")
    out = Terminal()
    make_console(out, 80).print("met", style="bold red")
    assert ("\x1b[" in out.getvalue()) is (no_color == "")


def test_a_pipe_folds_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """At rich's 80 columns a pod's name stood on two lines, and `grep` found none of them."""
    monkeypatch.delenv("COLUMNS", raising=False)
    out = io.StringIO()
    make_console(out).print("word " * 100)
    assert len(out.getvalue().splitlines()) == 1
