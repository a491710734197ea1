"""No text that a pod's author, a file or a runtime gives changes what a page, a metric or a log line is made of.

The texts are in pods, problems and past decisions of a node under pressure. A page has the elements that it has with harmless
texts, the metrics have the same series, and nothing has a character on which a terminal or a browser acts.
"""

import html.parser
import io
import json
from dataclasses import replace
from functools import cache

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from evictd.core.model.decision import RecordEvent
from evictd.core.model.observation import Problem
from evictd.core.model.resources import Container
from evictd.daemon.telemetry import log
from evictd.daemon.telemetry.snapshot import Decided, Snapshot
from evictd.render.sentences import decision_text
from tests.daemon.world import GI, HOG, WALL, WEB
from tests.render.shown_nodes import pages, play
from tests.render.test_hostile_text import ACTIVE, HOSTILE, acted_upon

MARKUP = "\"'><img src=x onerror=alert(1)><svg/onload=alert(1)>--></style></script>{{7*7}}{% raw %}"
SERIES = '"} 1\nevictd_evil{a="b\\'
TEXTS = HOSTILE | st.sampled_from([MARKUP, SERIES, "</title>", "javascript:alert(1)", "]]>", "%s", "{0}", "\\"])


def hostile(text: str) -> Snapshot:
    """A node under pressure, where every text is this one."""
    pod = replace(
        HOG, name=f"hog{text}", namespace=f"ns{text}", labels={text: text},
        containers=(Container(name=f"main{text}"),), priority_class_name=text,
    )  # fmt: skip
    snapshot = play([4 * GI, GI // 2], (pod, WEB))
    problems = (Problem(source=f"cgroup of {text}", detail=text), Problem(source=text, detail=text))
    event = decision_text(RecordEvent(type="Warning", reason="Evicted", message=f"Container {text} was using 1Gi"))
    return replace(
        snapshot,
        observation=replace(snapshot.observation, problems=problems),
        recent=(*snapshot.recent, Decided(wall=WALL, kind="RecordEvent", text=event)),
    )


class Elements(html.parser.HTMLParser):
    """The elements of a page with the names of their attributes, and the targets of its links."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, ...]] = []
        self.targets: set[str | None] = set()
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, *(name for name, _ in attrs)))
        self.targets |= {value for name, value in attrs if name in {"href", "src"}}

    def handle_comment(self, data: str) -> None:
        self.found.append(("comment", data))


def bodies(text: str) -> dict[str, str]:
    return {path: page().body.decode() for path, page in pages(hostile(text)).items()}  # type: ignore[attr-defined]


def series(exposition: str) -> set[tuple[str, tuple[str, ...]]]:
    families = text_string_to_metric_families(exposition)
    return {(s.name, tuple(sorted(s.labels))) for family in families for s in family.samples}


@cache
def harmless() -> tuple[Elements, set[tuple[str, tuple[str, ...]]]]:
    usual = bodies("x")
    return Elements(usual["/"]), series(usual["/metrics"])


@example(ACTIVE)
@example(MARKUP)
@example(SERIES)
@given(TEXTS)
def test_pages_and_metrics_are_made_of_the_same(text: str) -> None:
    elements, names = harmless()
    found = bodies(text)
    page = Elements(found["/"])
    assert (page.found, page.targets) == (elements.found, elements.targets)
    assert series(found["/metrics"]) == names
    for path, body in found.items():
        assert acted_upon(body) == [], path
    for path in ("/statusz", "/explainz", "/configz"):
        json.loads(found[path])


@pytest.mark.parametrize("form", ["text", "json"])
def test_a_log_line_is_one_line(form: str) -> None:
    """Also the text of an event, which names containers."""
    stream = io.StringIO()
    logger = log.logger(stream, form=form)
    for text in (ACTIVE, MARKUP, SERIES, "a\r\nlevel=error"):
        event = RecordEvent(type="Warning", reason=text, message=f"Container {text} was using 1Gi")
        logger.warning(event.message, event_reason=event.reason, detail=text, many=(text,), about={text: text})
        logger.info(decision_text(event), source=text)
    written = stream.getvalue()
    assert written.count("\n") == 8
    assert acted_upon(written) == []
