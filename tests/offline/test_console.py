"""The console of the commands."""

import io

import pytest

from evictd.offline.console import make_console


def test_what_is_no_terminal_gets_no_colours_and_no_markup() -> None:
    out = io.StringIO()
    make_console(out).print("[red]:warning: 5", style="red")
    assert out.getvalue() == "[red]:warning: 5\n"


def test_a_width_can_be_given() -> None:
    out = io.StringIO()
    make_console(out, 5).print("one two")
    assert out.getvalue() == "one \ntwo\n"


def test_a_reader_that_went_away_is_left_to_the_command_line() -> None:
    with pytest.raises(BrokenPipeError):
        make_console(io.StringIO()).on_broken_pipe()
