"""What people with a screen reader, a keyboard or weak sight need of the page; the rules are those of WCAG 2.2 AA.

They need no browser; `test_page_in_browser.py` has all rules of axe-core.
"""

import re
from collections import Counter
from collections.abc import Callable
from html.parser import HTMLParser
from itertools import pairwise

import pytest

from evictd.daemon.telemetry.snapshot import Snapshot
from evictd.render.status.page.node_page import asset
from tests.render.shown_nodes import calm, crowded, pressed
from tests.render.shown_nodes import page as text_of

_VOID = {"meta", "link", "br", "rect", "line", "polyline", "hr", "img", "input"}
Node = tuple[str, dict[str, str | None]]


class _Page(HTMLParser):
    """Elements in order, and the text in each element that is named by its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[Node] = []
        self.texts: list[tuple[str, str]] = []
        self._open: list[tuple[str, list[str]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in _VOID:
            self._open.append((tag, []))

    def handle_endtag(self, tag: str) -> None:
        while self._open:
            name, texts = self._open.pop()
            self.texts.append((name, "".join(texts).strip()))
            if name == tag:
                break

    def handle_data(self, data: str) -> None:
        for _, texts in self._open:
            texts.append(data)

    def all(self, *tags: str) -> list[dict[str, str | None]]:
        return [attributes for tag, attributes in self.elements if tag in tags]


@pytest.fixture(params=[calm, pressed, crowded], ids=["calm", "pressed", "crowded"])
def page(request: pytest.FixtureRequest) -> _Page:
    make: Callable[[], Snapshot] = request.param
    return _Page(text_of(make()))


def test_it_names_its_language_and_can_be_zoomed(page: _Page) -> None:
    assert page.all("html") == [{"lang": "en"}]
    assert [text for tag, text in page.texts if tag == "title"] != [""]
    [viewport] = [each["content"] for each in page.all("meta") if each.get("name") == "viewport"]
    assert viewport is not None
    assert "user-scalable" not in viewport
    assert "maximum-scale" not in viewport


def test_it_has_landmarks_and_headings_without_a_gap(page: _Page) -> None:
    assert [len(page.all(tag)) for tag in ("header", "main", "footer", "h1")] == [1, 1, 1, 1]
    levels = [int(tag[1]) for tag, _ in page.elements if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


def test_everything_that_needs_a_name_has_one(page: _Page) -> None:
    for tag in ("a", "h1", "h2", "h3", "summary", "caption", "th"):
        assert all(text for name, text in page.texts if name == tag), tag
    assert all(each.get("aria-label") and each.get("role") == "img" for each in page.all("svg"))
    assert all(each.get("scope") in {"col", "row"} for each in page.all("th"))
    assert len(page.all("table")) == len(page.all("caption"))


def test_ids_are_unique_and_labels_name_one(page: _Page) -> None:
    ids = Counter(attributes["id"] for _, attributes in page.elements if "id" in attributes)
    assert set(ids.values()) <= {1}
    assert all(each["aria-labelledby"] in ids for each in page.all("section"))


# --- contrast ---------------------------------------------------------------------------------------------------------


def _themes() -> list[dict[str, str]]:
    """The colours of the light theme, and of the dark one."""
    sheet = asset("page.css").decode()
    light, dark = (
        dict(re.findall(r"--(\w+): (#[0-9a-f]{6})", block))
        for block in re.findall(r":root \{(.*?)\}", sheet, re.DOTALL)
    )
    return [light, {**light, **dark}]


def _luminance(colour: str) -> float:
    def linear(part: str) -> float:
        value = int(part, 16) / 255
        return value / 12.92 if value <= 0.04045 else float(((value + 0.055) / 1.055) ** 2.4)

    red, green, blue = (linear(colour[i : i + 2]) for i in (1, 3, 5))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _contrast(one: str, other: str) -> float:
    darker, lighter = sorted((_luminance(one), _luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize("back", ["back", "card"])
@pytest.mark.parametrize(
    ("front", "least"), [*((each, 4.5) for each in ("text", "dim", "calm", "hard", "soft", "lost")), ("softmark", 3.0)]
)
def test_colours_stand_out(theme: int, back: str, front: str, least: float) -> None:
    """Text needs 4.5, the mark of a soft threshold 3."""
    colours = _themes()[theme]
    assert _contrast(colours[front], colours[back]) >= least


def test_red_stands_for_a_hard_threshold_only() -> None:
    sheet = asset("page.css").decode()
    assert "article.soft .met { color: var(--soft); }" in sheet
