"""The terminal that tables and pages are written to; rich is imported only when one is made."""

import os
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NoReturn, TextIO, TypeVar, cast

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

_T = TypeVar("_T")
_LEAST_TEXT = 10
"""Columns that the text has on the narrowest terminal."""
_KEPT = "\0"
"""What stands for a space at which no line is broken."""
_LINES = 25
_QUOTED = re.compile("`[^`]+`")
_TRAILING = re.compile(r" +(?=\n)")
_UNBOUNDED = 4096
"""Columns of what is no terminal: a program that reads lines wants each row on one."""


class _WithoutTrailingSpaces:
    """A stream that is no terminal; spaces at the ends of lines are not written to it."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self.encoding = out.encoding

    def write(self, text: str) -> int:
        self._out.write(_TRAILING.sub("", text))
        return len(text)

    def flush(self) -> None:
        self._out.flush()

    def isatty(self) -> bool:
        return False

    def fileno(self) -> int:
        return self._out.fileno()


def make_console(out: TextIO, width: int | None = None) -> "Console":
    """Make a console: without any escape where `out` is no terminal or NO_COLOR is set; nothing in a text is markup.

    What is no terminal has no width, so that rows are not folded in a pipe; COLUMNS sets one. Its lines do not end with the
    spaces that fill the last column of a table. A reader that goes away is a
    `BrokenPipeError`, as with any file, and ends in the command line.
    """
    from rich.console import Console  # noqa: PLC0415 - only commands for people pay for it

    class QuietConsole(Console):
        """Lets the error through: rich itself would end the program with status 1, which here means 'no'."""

        def on_broken_pipe(self) -> NoReturn:
            raise BrokenPipeError

    file: TextIO = out
    if width is None and not out.isatty() and not os.environ.get("COLUMNS", "").isdigit():
        width, file = _UNBOUNDED, cast("TextIO", _WithoutTrailingSpaces(out))
    # With `no_color` alone rich still writes bold and dim.
    colors = None if os.environ.get("NO_COLOR") else "auto"
    # With a width alone rich takes 80 columns where TERM is `dumb`.
    height = None if width is None else _LINES
    return QuietConsole(
        file=file,
        width=width,
        height=height,
        color_system=colors,  # type: ignore[arg-type]
        highlight=False,
        markup=False,
        emoji=False,
    )


def print_line(to: "Console", lead: str, text: str, style: str | None = None) -> None:
    """Print `lead` and `text` on one line; where it is too long, it goes on below the first character of `text`.

    A word or a command that is longer than the terminal is wide stays whole, so that it can be copied.
    """
    to.print("\n".join(wrapped_lines(lead, text, to.width)), style=style, soft_wrap=True)


def wrapped_lines(lead: str, text: str, width: int) -> list[str]:
    """Return the lines of `lead` and `text`, broken at spaces that are not between backticks."""
    whole = _QUOTED.sub(lambda quoted: quoted[0].replace(" ", _KEPT), text)
    lines = textwrap.wrap(
        whole,
        max(width, len(lead) + _LEAST_TEXT),
        initial_indent=lead,
        subsequent_indent=" " * len(lead),
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [line.replace(_KEPT, " ") for line in lines or [lead]]


@contextmanager
def whole_screen(console: "Console") -> Iterator[Callable[["RenderableType"], None]]:
    """Take the whole terminal; what is handed to the yielded function replaces what it shows."""
    from rich.live import Live  # noqa: PLC0415

    with Live(console=console, screen=True, auto_refresh=False) as live:

        def show(page: "RenderableType") -> None:
            live.update(page, refresh=True)

        yield show


def progress(items: Iterable[_T], total: int, out: TextIO) -> Iterator[_T]:
    """Pass the items on, with a progress bar where `out` is a terminal."""
    from rich.progress import track  # noqa: PLC0415

    yield from track(items, "reading nodes", total, console=make_console(out), transient=True, disable=not out.isatty())
