"""Compares the places that name evictd's version: code, change log, chart, images, page of releases."""

import re
from collections.abc import Iterator
from pathlib import Path

import yaml

from evictd import __version__

SEMANTIC = re.compile(r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)")
IMAGE = re.compile(r"\bevictd:(\d[\w.+-]*\d)")
_HEADING = re.compile(r"^## \[(\d[^\]]*)\] - (\d{4}-\d\d-\d\d)$", re.MULTILINE)


def problems(root: Path) -> Iterator[str]:
    """Yield a sentence with place and remedy for each place below `root` that disagrees with the code."""
    if not SEMANTIC.fullmatch(__version__):
        yield f"src/evictd/__init__.py: {__version__} is not MAJOR.MINOR.PATCH"
    yield from _change_log(root / "CHANGELOG.md")
    chart = yaml.safe_load((root / "deploy/chart/evictd/Chart.yaml").read_text(encoding="utf-8"))
    for field in ("version", "appVersion"):
        if chart[field] != __version__:
            yield f"deploy/chart/evictd/Chart.yaml: {field} is {chart[field]}; set it to {__version__}"
    for path, tag in images(root):
        if tag != __version__:
            yield f"{path.relative_to(root)}: names the image evictd:{tag}; name evictd:{__version__}"
    supported = f"| {__version__.rpartition('.')[0]} | supported |"
    if supported not in (root / "docs/releases.md").read_text(encoding="utf-8"):
        yield f"docs/releases.md: the table of supported versions has no row `{supported}`"


def _change_log(path: Path) -> Iterator[str]:
    found = _HEADING.findall(path.read_text(encoding="utf-8"))
    versions = [version for version, _ in found]
    days = [day for _, day in found]
    if not versions or versions[0] != __version__:
        first = f"begins with {versions[0]}" if versions else "has no version"
        yield f"{path.name}: {first}; it begins with `## [{__version__}] - YYYY-MM-DD`"
    for version in sorted({each for each in versions if versions.count(each) > 1}):
        yield f"{path.name}: {version} stands {versions.count(version)} times; a version is released once"
    numbers = [tuple(map(int, version.split("."))) for version in versions if SEMANTIC.fullmatch(version)]
    if numbers != sorted(numbers, reverse=True) or days != sorted(days, reverse=True):
        yield f"{path.name}: the versions and their dates do not go from the newest to the oldest"


def images(root: Path) -> list[tuple[Path, str]]:
    """List each tag of the image `evictd` that a manifest, the Dockerfile or a page names, with its file."""
    files = [*(root / "deploy").rglob("*.yaml"), root / "deploy/Dockerfile", *(root / "docs").rglob("*.md")]
    return [(path, tag) for path in files for tag in IMAGE.findall(path.read_text(encoding="utf-8"))]
