"""The documentation builds as a site without a warning, and no page of it loads anything from elsewhere."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("mkdocs", reason="needs the extra `docs`")
pytest.importorskip("material", reason="needs the extra `docs`")

ROOT = Path(__file__).parents[2]
LOADS = re.compile(r"""<(?:script|img|iframe|source)\b[^>]*\bsrc=["']?(?:https?:)?//|@import\s+["']?https?://""")
LINK = re.compile(r"<link\b[^>]*>")


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
