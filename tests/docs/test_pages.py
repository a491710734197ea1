"""Lines of code of the pages for users are not wider than what a browser shows of them."""

import pytest

from tests.docs.pages import DOCS, cut_lines, joined

OF_DEVELOPERS = {"development.md", "laws.md", "parity.md"}
SHOWN = sorted({path.name for path in DOCS.glob("*.md")} - OF_DEVELOPERS)


@pytest.mark.parametrize("name", SHOWN)
def test_no_line_of_code_ends_out_of_sight(name: str) -> None:
    """The amounts for small nodes ended a line of the first file, and were read only after scrolling: 2 GiB got 500Mi."""
    assert cut_lines((DOCS / name).read_text(encoding="utf-8")) == []


def test_a_line_is_measured_from_where_its_block_begins() -> None:
    at_the_edge = f"    {'a' * 80}\n        {'b' * 76}\n            {'c' * 72}\n{'d' * 200}\n"
    assert cut_lines(at_the_edge) == []
    assert len(cut_lines(f"    {'a' * 81}\n        {'b' * 77}\n            {'c' * 73}\n")) == 3


@pytest.mark.parametrize("name", SHOWN)
def test_a_command_on_several_lines_is_one_to_the_shell(name: str) -> None:
    """A space after the backslash would end the command there."""
    assert "\\\n" not in joined(name)
    assert "\\ \n" not in joined(name)
