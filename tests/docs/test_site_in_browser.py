"""Every page of the site in Chromium, on a phone in the dark and a desktop in the light: axe-core finds nothing."""

import re
import shutil
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from tests.docs.test_pages import SHOWN
from tests.docs.test_site import site as site  # noqa: PLC0414 - a fixture

axe = pytest.importorskip("axe_playwright_python.sync_playwright")
playwright = pytest.importorskip("playwright.sync_api")

CHROMIUM = shutil.which("chromium")
pytestmark = [pytest.mark.slow, pytest.mark.skipif(CHROMIUM is None, reason="needs chromium")]
ROOT = Path(__file__).parents[2] / "docs"
PAGES = sorted(path.relative_to(ROOT).with_suffix(".html").as_posix() for path in ROOT.rglob("*.md"))
LOOKS = ((390, 844, "dark"), (1280, 800, "light"))
TIMEOUT_MS = 120_000
RESULT = ".md-search-result__item"


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it so
        pass


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    """The site, served."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(site))) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}/"
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def browser(address: str) -> Iterator[Any]:
    """A browser, started after the server: it has an event loop."""
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"], timeout=TIMEOUT_MS)
        yield browser
        browser.close()


def opened_search(browser: Any, address: str, words: str) -> Any:
    """Return a page with results; the address has the words, for typed before the theme's script runs they are lost."""
    page = browser.new_page()
    page.set_default_timeout(TIMEOUT_MS)
    page.goto(f"{address}?{urlencode({'q': words})}")
    page.locator(RESULT).first.wait_for(state="attached")
    return page


@pytest.fixture(scope="module")
def search(browser: Any, address: str) -> Iterator[Any]:
    """A page in which words were searched: it has read the index, which takes a second."""
    page = opened_search(browser, f"{address}index.html", "evictd")
    yield page
    page.close()


def first_result(page: Any, words: str) -> Any:
    """Return the first result of a search in a page with the results of another one."""
    box, first = page.locator(".md-search__input"), page.locator(RESULT).first
    for text, state in (("", "detached"), (words, "attached")):
        box.fill(text)
        box.press("End")  # the theme searches when a key is released
        first.wait_for(state=state)
    return first


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("permissions", "security.html"),
        ("performance", "benchmarks.html"),
        ("PDB", "troubleshooting.html"),
        ("limitations", "platforms.html"),
        ("FAQ", "troubleshooting.html"),
        ("CRI-O", "platforms.html"),
        ("cgroup v1", "platforms.html"),
        ("containerd 2", "platforms.html"),
        ("why was my pod evicted", "troubleshooting.html"),
        ("belongs to no pod", "concepts.html"),
        ("protect a pod", "tuning.html"),
        ("no space left on device", "troubleshooting.html"),
        ("no free inodes", "troubleshooting.html"),
        ("grafana", "metrics.html"),
        ("rehearse", "scenarios.html"),
        ("retention", "operations.html"),
        ("clusterrole", "security.html"),
        ("innocent eviction", "troubleshooting.html"),
        ("helm install", "charts.html"),
        ("install 50 nodes", "rollout.html"),
        ("install", "install.html"),
        ("exit code 137", "troubleshooting.html"),
        ("runtime down", "runtime.html"),
        ("stop evictd from evicting", "tuning.html"),
        ("replace the kubelet", "from-the-kubelet.html"),
        ("how much memory does it take", "benchmarks.html"),
        ("uninstall", "getting-started.html"),
        ("daemon dies", "reliability.html"),
        ("which permissions", "security.html"),
        ("prometheus alert", "alerts.html"),
        ("eviction too late", "troubleshooting.html"),
        ("disk pressure images", "troubleshooting.html"),
        ("which ports", "security.html"),
        ("firewall", "security.html"),
        ("k3s", "platforms.html"),
        ("rke2", "platforms.html"),
        ("dry run", "getting-started.html"),
        ("update evictd", "releases.html"),
        ("exclude pod", "tuning.html"),
        ("ignore pod", "tuning.html"),
        ("api server down", "cluster.html"),
        ("containerd down", "runtime.html"),
        ("log format", "operations.html"),
        ("alertmanager", "alerts.html"),
        ("prometheus without operator", "metrics.html"),
        ("scrape config", "metrics.html"),
        ("node of 64 GiB", "tuning.html"),
        ("never evict", "tuning.html"),
        ("apiserver down", "cluster.html"),
        ("kube-apiserver", "cluster.html"),
        ("rollback", "install.html"),
        ("undo", "install.html"),
        ("go live", "install.html"),
        ("switch on", "install.html"),
        ("exclude a pod", "tuning.html"),
        ("exclude a namespace", "tuning.html"),
        ("whitelist pod", "tuning.html"),
        ("threshold for small node", "tuning.html"),
        ("small nodes", "tuning.html"),
        ("set thresholds", "tuning.html"),
        ("systemreserved", "tuning.html"),
        ("image garbage collection", "tuning.html"),
        ("static pod", "tuning.html"),
        ("disable kubelet eviction", "rollout.html"),
        ("disable the kubelet's own eviction", "rollout.html"),
        ("turn off kubelet eviction", "rollout.html"),
        ("daemonset", "install.html"),
        ("systemd", "install.html"),
        ("openshift", "platforms.html"),
        ("statusz", "formats.html"),
        ("journal format", "formats.html"),
        ("json output", "reference/json.html"),
        ("risks", "from-the-kubelet.html"),
        ("readyz", "operations.html"),
        ("exit status", "exit-status.html"),
        ("exit code", "exit-status.html"),
        ("simulate my cluster", "scenarios.html"),
        ("try on my cluster", "scenarios.html"),
        ("remove evictd", "getting-started.html"),
        ("webhook", "alerts.html"),
        ("prestop", "runtime.html"),
        ("soft threshold", "concepts.html"),
        ("order of eviction", "concepts.html"),
        ("prometheus", "metrics.html"),
        ("ServiceMonitor", "metrics.html"),
        ("offline", "verify.html"),
        ("node of 512 MiB", "tuning.html"),
        ("replace kubelet eviction", "rollout.html"),
        ("--eviction-hard", "reference/flags.html"),
        ("--dry-run", "getting-started.html"),
        ("migrate", "from-the-kubelet.html"),
        ("notify", "hooks.html"),
        ("mirror pod", "concepts.html"),
    ],
)
def test_the_words_that_people_type_find_their_page_first(search: Any, words: str, found: str) -> None:
    assert found in (first_result(search, words).locator("a").first.get_attribute("href") or "")


@pytest.mark.parametrize(
    ("words", "section"),
    [
        ("exclude a pod", "tuning.html#protect-a-pod"),
        ("never evict", "tuning.html#protect-a-pod"),
        ("k3s", "platforms.html#k3s-and-rke2"),
        ("systemreserved", "tuning.html#reserve-memory-for-what-is-not-a-pod"),
        ("risks", "from-the-kubelet.html#risks-and-limits"),
        ("offline", "verify.html#without-a-network"),
        ("node of 512 MiB", "tuning.html#thresholds"),
        ("mirror pod", "concepts.html#glossary"),
    ],
)
def test_the_section_that_has_the_answer_is_not_folded(search: Any, words: str, section: str) -> None:
    """The page stood there alone, and its sections behind `11 more on this page`; `a` found `acts` and `API`."""
    shown = first_result(search, words).locator(":scope > a").nth(1).get_attribute("href") or ""
    assert re.sub(r"\?[^#]*", "", shown).endswith(section)
    marked = search.locator(".md-search-result mark").all_text_contents()
    assert "acts" not in [text.lower() for text in marked]


@pytest.mark.parametrize("name", ["index.html", "reference/flags.html"])
def test_the_search_works_on_a_page_that_is_opened_as_a_file(browser: Any, site: Path, name: str) -> None:
    """It showed no results there: a browser starts no worker for a file, and reads no index."""
    page = opened_search(browser, (site / name).as_uri(), "protect a pod")
    href = page.locator(RESULT).first.locator("a").first.get_attribute("href") or ""
    assert href.startswith((site / "tuning.html").as_uri())
    page.close()


@pytest.mark.parametrize("name", PAGES)
def test_it_keeps_the_rules_of_axe_and_is_not_wider_than_the_screen(browser: Any, address: str, name: str) -> None:
    for width, height, scheme in LOOKS:
        page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
        page.set_default_timeout(TIMEOUT_MS)
        page.goto(address + name)
        answer = axe.Axe().run(page)
        assert answer.violations_count == 0, f"{width} px, {scheme}: {answer.generate_report()}"
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        page.close()


@pytest.mark.parametrize("name", SHOWN)
def test_a_desktop_shows_each_line_of_code_to_its_end_and_copies_the_block(
    browser: Any, address: str, name: str
) -> None:
    """In most blocks the ends were out of sight, with the amounts for small nodes."""
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    page.set_default_timeout(TIMEOUT_MS)
    page.goto(address + name.replace(".md", ".html"))
    blocks = page.locator("pre > code")
    if blocks.count():
        page.locator(".md-code__button").first.wait_for(state="attached")
    assert page.locator(".md-code__button").count() == blocks.count()
    wider = "all => all.filter(each => each.scrollWidth > each.clientWidth).map(each => each.innerText)"
    assert blocks.evaluate_all(wider) == []
    page.close()
