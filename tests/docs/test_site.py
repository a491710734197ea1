"""The documentation builds as a site without a warning, and no page of it loads anything from elsewhere."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

pytest.importorskip("mkdocs", reason="needs the extra `docs`")
pytest.importorskip("material", reason="needs the extra `docs`")

ROOT = Path(__file__).parents[2]
LOADS = re.compile(r"""<(?:script|img|iframe|source)\b[^>]*\bsrc=["']?(?:https?:)?//|@import\s+["']?https?://""")
LINK = re.compile(r"<link\b[^>]*>")
OF_USERS = ("Home", "Try", "Install", "Configure", "Operate", "Explain")
"""Sections of the site for users; the others are the generated reference, records of tests and development."""
MOST_WORDS = 17_000
"""They had 29,000 words, were shortened to 14,000, and grew again by two fifths while no test counted."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site. A missing page, link or anchor is a warning, and `--strict` makes a warning an error."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    return folder


def test_every_page_is_built(site: Path) -> None:
    pages = {path.relative_to(ROOT / "docs").with_suffix(".html") for path in (ROOT / "docs").rglob("*.md")}
    assert pages <= {path.relative_to(site) for path in site.rglob("*.html")}


def test_the_search_finds_pages_for_users_first(site: Path) -> None:
    entries = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))["docs"]
    assert [entry["location"] for entry in entries if entry["location"].startswith("adr/")] == []
    boosts = {entry["location"]: entry.get("boost", 1) for entry in entries}
    assert boosts["troubleshooting.html"] > boosts["tuning.html"] > boosts["worlds.html"] > boosts["parity.html"]


def test_no_page_loads_anything_from_elsewhere(site: Path) -> None:
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        assert LOADS.search(text) is None, page.name
        linked = [link for link in LINK.findall(text) if re.search(r"href=[\"']?(?:https?:)?//", link)]
        assert [link for link in linked if "canonical" not in link] == [], page.name


def _pages(entries: list[Any]) -> Iterator[str]:
    for entry in entries:
        for below in entry.values():
            yield from [below] if isinstance(below, str) else _pages(below)


def test_every_decision_record_is_in_the_navigation() -> None:
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    assert [path.name for path in (ROOT / "docs/adr").glob("*.md") if f"- adr/{path.name}" not in text] == []


def test_the_pages_for_users_stay_short() -> None:
    """Prose counts, and tables; commands and files do not, which are indented."""
    settings = yaml.load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"), Loader=yaml.BaseLoader)
    names = _pages([entry for entry in settings["nav"] if set(entry) <= {*OF_USERS}])
    paths = [ROOT / "README.md", *(ROOT / "docs" / name for name in names)]
    assert len(paths) > 20
    lines = (line for path in paths for line in path.read_text(encoding="utf-8").splitlines())
    assert sum(len(line.split()) for line in lines if not line.startswith("    ")) <= MOST_WORDS


def test_each_step_of_a_list_is_an_item_of_it(site: Path) -> None:
    """A paragraph that was indented by three columns ended a list of the rollout: step 2 was in it, and step 3 became 1."""
    for page in site.rglob("*.html"):
        paragraphs = re.findall(r"<p>.*?</p>", page.read_text(encoding="utf-8"), re.DOTALL)
        assert [text for text in paragraphs if re.search(r"\n *(?:\d+\.|[*-]) ", text)] == [], page.name
