"""The terminal that tables and pages are written to; rich is imported only when one is made."""

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NoReturn, TextIO, TypeVar

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

_T = TypeVar("_T")
_UNBOUNDED = 4096
"""Columns of what is no terminal: a program that reads lines wants each row on one."""


def make_console(out: TextIO, width: int | None = None) -> "Console":
    """Make a console: without any escape where `out` is no terminal or NO_COLOR is set; nothing in a text is markup.

    What is no terminal has no width, so that rows are not folded in a pipe; COLUMNS sets one. A reader that goes away is a
    `BrokenPipeError`, as with any file, and ends in the command line.
    """
    from rich.console import Console  # noqa: PLC0415 - only commands for people pay for it

    class QuietConsole(Console):
        """Lets the error through: rich itself would end the program with status 1, which here means 'no'."""

        def on_broken_pipe(self) -> NoReturn:
            raise BrokenPipeError

    if width is None and not out.isatty() and not os.environ.get("COLUMNS", "").isdigit():
        width = _UNBOUNDED
    # With `no_color` alone rich still writes bold and dim.
    colors = None if os.environ.get("NO_COLOR") else "auto"
    return QuietConsole(file=out, width=width, color_system=colors, highlight=False, markup=False, emoji=False)  # type: ignore[arg-type]


def print_line(to: "Console", lead: str, text: str, style: str | None = None) -> None:
    """Print `lead` and `text` on one line; where it is too long, it goes on below the first character of `text`."""
    from rich.table import Table  # noqa: PLC0415

    grid = Table.grid()
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    grid.add_row(lead, text)
    to.print(grid, style=style)


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
