"""The commands in the documentation are right: their options exist, and those that need no node are run."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from evictd.cli import main
from evictd.config.flags import explicit_booleans
from tests.docs.pages import joined
from tools.manual import full_parser

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "config").glob("*.yaml"))]
OFFLINE = {"simulate", "explain"}


def commands() -> Iterator[tuple[str, str]]:
    """Each indented or commented line that begins with `evictd`, with its page; a pipe and a remark end it."""
    for page in PAGES:
        for line in re.findall(r"^(?:    |#   )(?:sudo )?(?:\.venv/bin/)?(evictd .*)$", joined(page), re.MULTILINE):
            if not line.startswith("evictd:"):
                yield page.name, re.split(r"\s+#|\s\|", line)[0]


COMMANDS = sorted(set(commands()))


def ran(line: str) -> bool:
    """Whether a command needs nothing but a file of config/."""
    words = shlex.split(line)
    return words[1] in OFFLINE and len(words) > 2 and words[2].startswith("config/") and "/etc/" not in line


def test_there_are_commands() -> None:
    assert len(COMMANDS) > 20
    assert sum(ran(line) for _, line in COMMANDS) >= 4


@pytest.mark.parametrize(("page", "line"), COMMANDS)
def test_every_option_exists(page: str, line: str) -> None:
    full_parser().parse_args(explicit_booleans(shlex.split(line)[1:]))


@pytest.mark.parametrize("line", [line for _, line in COMMANDS if ran(line)])
def test_what_needs_no_node_is_run(line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = [str(ROOT / word) if word.startswith("config/") else word for word in shlex.split(line)[1:]]
    if "--plot" in words:
        at = words.index("--plot") + 1
        words[at] = str(tmp_path / Path(words[at]).name)
    assert main(words) == 0, capsys.readouterr().err
