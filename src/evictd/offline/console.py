"""Where people are written to: one console for every command that prints tables.

`rich` is imported only when a console is asked for; programs that read JSON never load it.
"""

from typing import TYPE_CHECKING, NoReturn, TextIO

if TYPE_CHECKING:
    from rich.console import Console


def make_console(out: TextIO, width: int | None = None) -> "Console":
    """Make a console: plain where `out` is no terminal or NO_COLOR is set; nothing in a text is markup.

    A reader that goes away is a `BrokenPipeError`, as with any file, and ends in the command line.
    """
    from rich.console import Console  # noqa: PLC0415 - only commands for people pay for it

    class QuietConsole(Console):
        """Lets the error through: rich itself would end the program with status 1, which here means 'no'."""

        def on_broken_pipe(self) -> NoReturn:
            raise BrokenPipeError

    return QuietConsole(file=out, width=width, highlight=False, markup=False, emoji=False)
