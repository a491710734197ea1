"""What each path answers."""

import html
import json
import subprocess
import sys
from dataclasses import replace

from evictd.codec.config.eviction_config import encode_eviction_config
from evictd.codec.strict import Duration
from evictd.core.model.observation import Observation, Problem
from evictd.core.units.duration import MINUTE, SECOND
from evictd.daemon.configuration import Configuration
from evictd.daemon.telemetry.http import Page
from evictd.daemon.telemetry.metrics import Metrics
from evictd.daemon.telemetry.pages import Pages
from evictd.daemon.telemetry.snapshot import LatestSnapshot
from evictd.errors import CREDENTIALS_SOURCE
from evictd.observe.reading.observer import RUNTIME
from tests.daemon.world import CONFIG, GI, NOW, WALL, snapshot
from tests.settings import settings_with


class Served:
    """The pages over one snapshot, at a time of the test's choice."""

    def __init__(self) -> None:
        self.published = LatestSnapshot()
        self.now = NOW
        self.settings = settings_with(eviction=CONFIG, housekeeping_interval=Duration(10 * SECOND))
        configuration = Configuration(self.settings, lambda: self.settings, ["--node-name=n1"])
        made = Pages(self.published, Metrics(self.published), configuration, lambda: self.now)
        self.pages, self.health = made.by_path(), made.health()

    def get(self, path: str) -> Page:
        return self.pages[path]()


def test_before_the_first_cycle_nothing_is_ready() -> None:
    served = Served()
    assert {path: int(served.get(path).status) for path in served.pages} == {
        "/healthz": 503,
        "/readyz": 503,
        "/metrics": 200,
        "/configz": 200,
        "/statusz": 503,
        "/explainz": 503,
        "/": 503,
        "/page.css": 200,
        "/page.js": 200,
        "/icon.svg": 200,
    }
    assert {path: int(page().status) for path, page in served.health.items()} == {
        "/startz": 200,
        "/healthz": 503,
        "/readyz": 503,
    }


def test_a_loop_that_goes_round_is_healthy_and_one_that_does_not_is_stuck() -> None:
    served = Served()
    served.published.latest = snapshot(4 * GI)
    assert served.get("/healthz").body == b"ok\n"
    served.now = NOW + MINUTE
    assert served.get("/healthz").status == 503
    assert b"no sign of life for 1m0s" in served.get("/healthz").body


def test_a_long_cycle_that_goes_on_step_by_step_is_not_stuck() -> None:
    served = Served()
    served.published.latest = snapshot(4 * GI)
    served.now = NOW + MINUTE
    served.published.alive_at = NOW + 50 * SECOND
    assert served.get("/healthz").body == b"ok\n"


def test_a_daemon_that_does_not_see_its_pods_is_healthy_but_not_ready() -> None:
    served = Served()
    seen = snapshot(4 * GI)
    observation = seen.observation
    problem = Problem(source=RUNTIME, detail="refused")
    object.__setattr__(seen, "observation", type(observation)(node=observation.node, problems=(problem,)))
    served.published.latest = seen
    assert served.get("/healthz").status == 200
    assert served.get("/readyz").body == b"refused\n"
    document = json.loads(served.get("/statusz").body)
    (fault,), said = document["faults"], document["headline"]
    assert fault.startswith("evictd cannot see the pods: the container runtime does not answer. Thresholds on disks ")
    assert said["level"] == "blind"
    assert said["text"].startswith("evictd cannot see the pods: the container runtime does not answer")
    assert said["text"] in html.unescape(served.get("/").body.decode())


def test_the_status_has_the_sentence_of_the_page_and_since_when_readings_are_missing() -> None:
    """`evictd status` said that the numbers cannot be read, and not since when."""
    served = Served()
    seen = replace(snapshot(4 * GI), observation=Observation(node=None), blind_since=WALL - 5 * MINUTE)
    served.published.latest = seen
    said = json.loads(served.get("/statusz").body)["headline"]["text"]
    assert "so no threshold is tested and no pod is evicted (for 5m0s, since 22:08:20 UTC)." in said


def test_with_rejected_credentials_the_daemon_is_alive_and_not_ready() -> None:
    """The pod was Ready while its containers were killed and nothing could be sent."""
    served = Served()
    seen = snapshot(4 * GI)
    problem = Problem(source=CREDENTIALS_SOURCE, detail="the API server rejects evictd's credentials")
    object.__setattr__(seen, "observation", replace(seen.observation, problems=(problem,)))
    served.published.latest = seen
    assert served.get("/healthz").status == 200
    assert served.get("/readyz").body == b"the API server rejects evictd's credentials\n"
    assert b"evictd_credentials_rejected 1.0" in served.get("/metrics").body


def test_the_documents_are_json() -> None:
    served = Served()
    served.published.latest = snapshot(4 * GI)
    assert json.loads(served.get("/statusz").body)["kind"] == "Status"
    assert json.loads(served.get("/explainz").body)["queues"][0]["next"] == "default/hog"
    assert json.loads(served.get("/configz").body) == {
        "evictionconfig": encode_eviction_config(CONFIG),
        "arguments": ["--node-name=n1"],
        "stateDirectory": "/var/lib/evictd",
    }
    assert b"evictd_phase" in served.get("/metrics").body


def test_the_health_pages_for_other_hosts_have_no_reasons() -> None:
    """Status codes alone: what is missing on a node is not for every pod of the cluster to read."""
    served = Served()
    page = served.health["/readyz"]()
    assert (page.status, page.body) == (503, b"unavailable\n")
    served.published.latest = snapshot(4 * GI)
    assert {path: page().body for path, page in served.health.items()} == {
        "/startz": b"ok\n",
        "/healthz": b"ok\n",
        "/readyz": b"ok\n",
    }


def test_the_page_allows_nothing_of_other_hosts_and_no_inline_code() -> None:
    served = Served()
    served.published.latest = snapshot(4 * GI)
    page = served.get("/")
    assert page.content_type == "text/html; charset=utf-8"
    policy = page.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy


def test_the_template_library_is_loaded_only_for_the_page() -> None:
    """A daemon whose page is not read does not pay its memory."""
    code = "import sys, evictd.daemon.run; print('jinja2' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
