"""The README is correct: its commands exist, its configuration loads, its diagram and links are those of the project."""

import ast
import re
from pathlib import Path

import pytest

from evictd.cli import COMMANDS
from evictd.config.file import load
from evictd_testnode.disks import DiskKind, DiskRecipe
from evictd_testnode.story import DISK_MIB

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])


def _blocks(text: str) -> list[str]:
    """Return the indented blocks, without their indentation."""
    return [
        re.sub(r"^    ", "", block, flags=re.MULTILINE)
        for block in re.findall(r"(?:^    .*\n|^\n(?=    ))+", text, re.MULTILINE)
    ]


def test_every_command_is_listed_and_no_other() -> None:
    listed = re.findall(r"^\| `evictd ([\w-]+)", README, re.MULTILINE)
    assert sorted(listed) == sorted(COMMANDS)


def test_the_configuration_is_valid(tmp_path: Path) -> None:
    (sample,) = [block for block in _blocks(README) if "kind: EvictdConfiguration" in block]
    path = tmp_path / "config.yaml"
    path.write_text(sample)
    settings = load(path)
    assert settings.evictd.dry_run
    assert len(settings.eviction.thresholds) == 8
    assert settings.warnings == ()


def test_the_rules_are_those_of_policy_standard() -> None:
    page = (ROOT / "docs" / "laws.md").read_text(encoding="utf-8")
    shown = page.partition("<!-- rules: from src/evictd/core/eviction/standard.py -->\n")[2].partition(
        "<!-- /rules -->"
    )[0]
    source = (ROOT / "src" / "evictd" / "core" / "eviction" / "standard.py").read_text(encoding="utf-8")
    assert shown.strip("\n") in (ast.get_docstring(ast.parse(source), clean=False) or "")
    assert re.findall(r"^    (\S+(?: \S+)*)  ", shown, re.MULTILINE)[-1] == "evict"


@pytest.mark.parametrize("page", PAGES, ids=[page.name for page in PAGES])
def test_every_link_has_a_target(page: Path) -> None:
    links = re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text(encoding="utf-8"))
    for link in links:
        if "://" not in link:
            assert (page.parent / link).exists(), f"{page.name}: {link}"


def test_every_anchor_of_a_root_page_is_a_heading() -> None:
    """The site is built of `docs` alone, so nothing compared these: one led to a section that had another name."""
    markdown = pytest.importorskip("markdown", reason="needs the extra `docs`")
    missing = []
    for page in ROOT.glob("*.md"):
        for name, anchor in re.findall(r"\]\(([^)#\s:]*)#([^)\s]+)\)", page.read_text(encoding="utf-8")):
            target = page.parent / name if name else page
            made = markdown.markdown(target.read_text(encoding="utf-8"), extensions=["toc", "tables"])
            if f'id="{anchor}"' not in made:
                missing.append((page.name, name, anchor))
    assert missing == []


@pytest.mark.parametrize("page", PAGES, ids=[page.name for page in PAGES])
def test_every_file_named_in_a_command_exists(page: Path) -> None:
    for path in re.findall(r"evictd (?:simulate|explain) (config/\S+)", page.read_text(encoding="utf-8")):
        assert (ROOT / path.rstrip("`,;.")).is_file() or (ROOT / path).is_file(), f"{page.name}: {path}"


def test_the_make_targets_exist() -> None:
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for page in PAGES:
        for target in re.findall(r"(?:^    |`)make ([\w-]+)", page.read_text(encoding="utf-8"), re.MULTILINE):
            assert target in targets, f"{page.name}: make {target}"


def test_the_gate_runs_every_test() -> None:
    assert "make test-all" in README
    assert "make test-all" in (ROOT / ".ci" / "run").read_text()


def test_every_story_that_ships_says_what_it_shows() -> None:
    """The page has the command that prints the first lines of all, in place of a list of their names."""
    assert "    head -n 3 config/scenarios/*.yaml" in (ROOT / "docs" / "scenarios.md").read_text(encoding="utf-8")
    paths = [*(ROOT / "config" / "scenarios").glob("*.yaml")]
    assert paths
    for path in paths:
        first = path.read_text(encoding="utf-8").partition("\n")[0]
        assert first.startswith("# "), path.name
        assert len(first.split()) > 5, path.name


@pytest.mark.parametrize("name", ["README.md", "docs/index.md"])
def test_the_demo_is_said_to_fill_no_disk_of_the_machine(name: str) -> None:
    """It "fills the disk of a disposable node": a reader took it for the machine's."""
    assert DiskRecipe().kind is DiskKind.TMPFS
    assert f"disposable node, {DISK_MIB} MiB of memory (tmpfs)" in (ROOT / name).read_text(encoding="utf-8")
