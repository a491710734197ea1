"""The pages in Chromium, on a phone and a desktop, light and dark: no violation of axe-core's rules, no error on the console."""

import re
import shutil
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from evictd.daemon.telemetry.http import HttpServer
from evictd.daemon.telemetry.snapshot import Snapshot
from evictd.render.history.condition_spans import condition_spans
from evictd.render.history.history import history
from evictd.render.history.page import history_page
from evictd.render.incident.view import incident_page
from tests.recorded_errors import NoErrors
from tests.render.recorded_incident import incident
from tests.render.recorded_journal import journal
from tests.render.shown_nodes import approaching, blind, calm, crowded, pages, pressed, recovered, rehearsed

axe = pytest.importorskip("axe_playwright_python.sync_playwright")
playwright = pytest.importorskip("playwright.sync_api")

CHROMIUM = shutil.which("chromium")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="needs chromium")

STATES: dict[str, Callable[[], Snapshot]] = {
    "calm": calm, "approaching": approaching, "pressed": pressed, "recovered": recovered, "blind": blind,
    "crowded": crowded, "rehearsed": rehearsed,
}  # fmt: skip
LOOKS = [
    (width, height, scheme)
    for width, height in ((390, 844), (1280, 800))  # a phone, a desktop
    for scheme in ("light", "dark")
]
TIMEOUT_MS = 120_000
OPTIONS = {"resultTypes": ["violations"]}
"""Every element of the violations, one for each rule that the page keeps."""


@pytest.fixture(scope="module")
def addresses(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The page of each state, served, and the file of a history; before `browser`, which has an event loop."""
    file = tmp_path_factory.mktemp("history") / "history.html"
    events = list(history(journal()))
    file.write_text(history_page(events, condition_spans(events)))
    told = file.with_name("incident.html")
    told.write_text(incident_page(incident()))
    servers = {name: HttpServer("127.0.0.1:0", pages(make()), NoErrors()) for name, make in STATES.items()}  # type: ignore[arg-type]
    served = {name: f"http://127.0.0.1:{server.port}/" for name, server in servers.items()}
    yield {"history": file.as_uri(), "incident": told.as_uri(), **served}
    for server in servers.values():
        server.close()


@pytest.fixture(scope="module")
def browser(addresses: dict[str, str]) -> Iterator[Any]:
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"], timeout=TIMEOUT_MS)
        yield browser
        browser.close()


@pytest.mark.parametrize("state", ["history", "incident", *STATES])
def test_it_keeps_the_rules_of_axe_in_every_look_and_has_no_error(
    browser: Any, addresses: dict[str, str], state: str
) -> None:
    page = browser.new_page()
    page.set_default_timeout(TIMEOUT_MS)
    errors: list[str] = []
    page.on("console", lambda message: errors.append(message.text))
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(addresses[state])
    for width, height, scheme in LOOKS:
        page.set_viewport_size({"width": width, "height": height})
        page.emulate_media(color_scheme=scheme)
        answer = axe.Axe().run(page, options=OPTIONS)
        assert answer.violations_count == 0, f"{width} px, {scheme}: {answer.generate_report()}"
        assert len(answer.response["passes"]) > 20
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert errors == []
    page.close()


@pytest.mark.parametrize("state", ["approaching", "pressed", "crowded", "rehearsed"])
def test_a_phone_shows_the_line_of_what_is_short_without_scrolling(
    browser: Any, addresses: dict[str, str], state: str
) -> None:
    page = browser.new_page(viewport={"width": 390, "height": 844})
    page.set_default_timeout(TIMEOUT_MS)
    page.goto(addresses[state])
    assert page.evaluate("document.querySelector('.trend').getBoundingClientRect().top") < 844 - 40
    page.close()


def test_a_text_under_the_cards_is_apart_from_them(browser: Any, addresses: dict[str, str]) -> None:
    """It touched the border of the last card."""
    page = browser.new_page(viewport={"width": 390, "height": 844})
    page.set_default_timeout(TIMEOUT_MS)
    page.goto(addresses["crowded"])
    edge = "document.querySelector('.signals{}').getBoundingClientRect().{}"
    assert page.evaluate(f"{edge.format(' + *', 'top')} - {edge.format('', 'bottom')}") >= 8
    page.close()


def page_that_lost(browser: Any, address: str, answer: Callable[[Any], None]) -> Any:
    """Open a page and let every later request be answered so."""
    page = browser.new_page()
    page.set_default_timeout(TIMEOUT_MS)
    page.clock.install()
    page.goto(address)
    page.route(address, answer)
    page.clock.run_for(5_000)
    page.wait_for_selector("h1.lost")
    return page


def test_a_daemon_that_does_not_answer_changes_the_headline_and_ages_go_on(
    browser: Any, addresses: dict[str, str]
) -> None:
    """The green headline stayed, and "read 2.0s ago" stood still."""
    page = page_that_lost(browser, addresses["calm"], lambda route: route.abort())
    text = page.inner_text("h1")
    assert (
        text
        == "evictd has not answered since 22:57:52 UTC; what follows is what it said last, with the times as of then."
    )
    assert page.inner_text("#last").startswith("It said last: This node is calm")
    assert "systemctl status evictd" in page.locator("#last code").all_inner_texts()
    assert set(page.locator(".axis span:last-child").all_inner_texts()) == {"22:57:52 UTC"}, "it said now"
    assert page.inner_text(".rate").endswith("in the minute before 22:57:52 UTC")
    assert page.title() == "evictd has not answered since 22:57:52 UTC - evictd on node-1"
    page.clock.run_for(60_000)
    assert re.fullmatch(r"1m[0-9]+s", page.inner_text("#read")), "the clock of the test goes on beside its jumps"
    assert page.inner_text("h1") == text, "the time is that of the last answer"
    answer = axe.Axe().run(page, options=OPTIONS)
    assert answer.violations_count == 0, answer.generate_report()
    page.unroute(addresses["calm"])
    page.clock.run_for(5_000)
    page.wait_for_selector("h1.calm")
    assert re.fullmatch(r"[0-9.]+s", page.inner_text("#read"))
    assert page.inner_text("#last") == ""
    page.close()


def test_a_daemon_without_a_state_is_told_apart_from_one_that_does_not_answer(
    browser: Any, addresses: dict[str, str]
) -> None:
    page = page_that_lost(
        browser, addresses["pressed"], lambda route: route.fulfill(status=503, body="no cycle has ended yet")
    )
    assert page.inner_text("h1").startswith("evictd has answered with error 503 since 22:58:22 UTC;")
    assert page.inner_text(".axis span:first-child >> nth=0") == "22:13:20, 45 min before"
    assert page.inner_text(".marks li") == "eviction of default/hog began 2.0s before 22:58:22 UTC"
    grey = page.evaluate("getComputedStyle(document.querySelector('.dim')).color")
    for part, look in ((".conditions .reported strong", "color"), (".trend line.mark", "stroke")):
        assert page.evaluate(f"getComputedStyle(document.querySelector('{part}')).{look}") == grey, part
    page.close()


def test_selected_text_stays_selected_while_the_rest_goes_on(browser: Any, addresses: dict[str, str]) -> None:
    """The refresh cleared the selection, so that a command could not be copied by hand."""
    page = browser.new_page()
    page.set_default_timeout(TIMEOUT_MS)
    page.clock.install()
    page.goto(addresses["recovered"])

    def select(what: str) -> None:
        page.evaluate("what => document.getSelection().selectAllChildren(document.querySelector(what))", what)

    def renewed(part: str) -> bool:
        """Whether a refresh replaces a part of the page."""
        page.evaluate("for (const each of ['header', 'main']) document.querySelector(each).dataset.old = 1")
        page.clock.run_for(5_000)
        # Each refresh replaces one of them or both at once, some time after its answer has come.
        page.wait_for_selector("body:not(:has(header[data-old])), body:not(:has(main[data-old]))")
        return bool(page.locator(f"{part}[data-old]").count() == 0)

    select(".decisions code")
    assert not renewed("main")
    assert page.evaluate("document.getSelection().toString()") == "evictd incident uid-hog"
    assert page.inner_text("#last").startswith("Text below is selected")
    assert renewed("header"), "a threshold that is met must show"
    select("h1")
    assert renewed("main")
    assert not renewed("header")
    page.evaluate("document.getSelection().removeAllRanges()")
    assert renewed("header")
    assert page.inner_text("#last") == ""
    page.close()


def test_a_link_that_has_the_focus_does_not_keep_the_page_old(browser: Any, addresses: dict[str, str]) -> None:
    """After a click on the mark of an eviction signals and order stood still, beside a headline that went on."""
    page = browser.new_page()
    page.set_default_timeout(TIMEOUT_MS)
    page.clock.install()
    for focused, state in ((".marks a", "recovered"), ("summary", "crowded")):
        page.goto(addresses[state])
        page.evaluate("focused => document.querySelector(focused).focus()", focused)
        page.evaluate("document.querySelector('main').dataset.old = 1")
        page.clock.run_for(5_000)
        page.wait_for_selector("main:not([data-old])")
        assert page.evaluate("focused => document.activeElement.matches(focused)", focused), focused
    page.close()


def test_the_focus_stays_in_its_decision(browser: Any, addresses: dict[str, str]) -> None:
    """Each eviction has a link to the commands at the foot: the focus would go to that of the newest one."""
    page = browser.new_page()
    page.set_default_timeout(TIMEOUT_MS)
    page.goto(addresses["recovered"])
    found = page.evaluate("selector(document.querySelector('.decisions a'))")
    assert found.startswith("#incident-uid-hog a")
    assert page.locator(found).count() == 1
    page.close()


def test_a_printed_page_has_the_pods_of_the_lists_that_are_open(browser: Any, addresses: dict[str, str]) -> None:
    """All of two lists of 110 pods made eight pages."""
    page = browser.new_page()
    page.set_default_timeout(TIMEOUT_MS)
    page.goto(addresses["crowded"])
    page.emulate_media(media="print")
    last = page.locator("details tbody tr").last
    seen = "each => each.checkVisibility({contentVisibilityAuto: true, opacityProperty: true})"
    assert not last.evaluate(seen)
    page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true; })")
    assert last.evaluate(seen)
    page.close()
