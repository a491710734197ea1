"""Fits the lines of `evictd status` into a terminal: cuts or wraps what is too long, and counts the lines that parts take."""

from collections.abc import Iterable, Iterator
from io import StringIO

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

_MARK = 2
"""Columns of the mark before a problem, by which a wrapped line is indented."""
_LOST = 10
"""Columns that a line loses at most where it ends between two words."""


def line_count(parts: Iterable[RenderableType], width: int) -> int:
    """Return how many lines these parts take."""
    console = Console(file=StringIO(), width=width)
    return sum(len(console.render_lines(part)) for part in parts)


def first_lines(lines: Iterable[Text], most: int | None, width: int) -> list[RenderableType]:
    """Keep the first lines, each on one line, and the number of the others; without `most` all, however long."""
    every = list(lines)
    if most is None:
        return [*hanging_lines(every, _MARK)]
    kept = every if len(every) <= most else every[: most - 1]
    more = [Text(f"and {len(every) - len(kept)} more", style="dim")] if len(kept) < len(every) else []
    return [*shortened_lines(kept, width), *more]


def hanging_lines(lines: Iterable[Text], indent: int) -> Iterator[Table]:
    """Wrap long lines with a hanging indent of `indent` columns."""
    for line in lines:
        grid = Table.grid()
        grid.add_column(no_wrap=True)
        grid.add_column(overflow="fold")
        grid.add_row(*line.divide([indent]))
        yield grid


def shortened_lines(lines: Iterable[Text], width: int) -> Iterator[Text]:
    """Cut each line to one line."""
    return (_cut(line, width) for line in lines)


def fitted_line(text: Text, most: int, width: int) -> Text:
    """Cut a text that is wrapped, so that it takes `most` lines at most."""
    return _cut(text, most * width - _LOST * (most - 1))


def _cut(text: Text, cells: int) -> Text:
    cut = text.copy()
    cut.truncate(cells, overflow="ellipsis")
    return cut
