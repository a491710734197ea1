"""The pods at the top of the page that would be evicted first."""

from evictd.daemon.telemetry.statusz.status_page import snapshot_view
from evictd.render.node_view import explanation_document
from evictd.render.status.page.node_page import node_page
from tests.daemon.status import status_of
from tests.daemon.world import GI
from tests.render.shown_nodes import (
    REASON,
    approaching,
    calm,
    page,
    play,
)


def test_who_would_go_first_and_when_stands_at_the_top() -> None:
    head = page(approaching()).partition("</header>")[0]
    acts = "default/hog would be evicted in about 3m58s (grace period 1m30s)."
    assert f"in 2m28s at the present rate. {acts}</h1>" in head
    assert f"<li>Why that pod is first: {REASON}.</li>" in head
    assert "would be evicted first" not in head
    head = page(calm()).partition("</header>")[0]
    assert f"memory.available: default/hog would be evicted first: {REASON}." in head
    assert "pid.available" not in head, "31568 of 32768 are left"


def test_why_a_pod_is_first_for_two_signals_names_each() -> None:
    """`Why that pod is first` stood twice with two reasons."""
    near = approaching()
    status, explained = status_of(near, near.at), explanation_document(snapshot_view(near), rows=None)
    (queue,) = [each for each in explained["queues"] if "memory.available" in each["signals"]]
    other = {**queue, "signals": ["nodefs.available", "memory.available"], "nextWhy": "it is large"}
    queues = [{**queue, "signals": ["memory.available"]}, other]
    text = node_page(status, {**explained, "queues": queues}, {}, faults=()).decode()
    assert f"<li>Why that pod is first for memory.available: {REASON}.</li>" in text
    assert "<li>Why that pod is first for nodefs.available: it is large.</li>" in text


def test_while_something_is_short_no_first_pod_is_named_for_what_is_not() -> None:
    """Of PIDs nobody could go, and the header named the pod that would go first for memory, of which much was left."""
    text = page(play([6 * GI] * 5, processes=17_000))
    head = text.partition("</header>")[0]
    assert "pid.available is below its hard threshold" in head
    assert "memory.available" not in head
    assert "<strong>What you can do:</strong> look why default/hog does not end" in head
    assert "; end processes outside pods" in head
