"""The order of eviction on the page."""

import re
from dataclasses import replace

from tests.daemon.world import GI, STATIC, WEB, pod
from tests.render.shown_nodes import calm, crowded, page, play, pressed
from tests.render.snapshots import incident_snapshot


def test_the_next_pod_and_the_largest_one_are_never_folded() -> None:
    """The largest pod can be the last of those that may be evicted."""
    static = tuple(replace(STATIC, name=f"static-{number}", uid=f"static-{number}") for number in range(8))
    large = replace(WEB, name="large", uid="large", priority=900)
    small = tuple(pod(f"small-{number:02}", request=0, priority=number) for number in range(20))
    text = page(play([6 * GI], (large, *static, *small), memory=64 * GI, processes=3_000))
    memory = text.partition('<h2 id="order">')[2].partition("<details")[0]
    assert "large</th>" in memory
    assert "small-00</th>" in memory
    assert "the other 23 pods by memory" in text


def test_a_pod_that_is_never_evicted_has_no_number_and_is_last() -> None:
    """A static pod was 1, above the pod that would go first; then it stood between 1 and 2."""
    order = page(pressed()).partition('<h2 id="order">')[2].partition("</article>")[0]
    assert re.findall(r'class="number">(.*?)</td>\s*<th scope="row">(.*?)<', order) == [
        ("1", "default/web"),
        ("\u2013", "default/etcd"),
    ]


def test_a_row_says_once_what_a_pod_uses() -> None:
    order = page(calm()).partition("<h3>pid.available</h3>")[2].partition("<h3>pid.available</h3>")[2]
    (web,) = re.findall(r"<tr>(?:(?!<tr).)*?default/web.*?</tr>", order, re.DOTALL)[:1]
    assert web.count("79 processes") == 1
    assert "by usage" in web, "why it is there was empty"
    assert "requests" not in web, "pods request no processes"
    assert '<th scope="col">requests</th>' in page(calm())


def test_the_pods_of_a_resource_that_is_far_from_short_are_folded() -> None:
    """On a phone, rows of PIDs by which nothing is decided took 700 px."""
    order = page(crowded()).partition('<h2 id="order">')[2]
    pids = order.partition("<h3>pid.available</h3>")[2].partition("</article>")[0]
    assert "the 110 pods by pids</summary>" in pids
    assert pids.index("<details") < pids.index("<table")
    assert "the other 105 pods by memory" in order


def test_pods_that_are_passed_over_alike_are_one_row() -> None:
    """The pod that would go first was the sixth, after five paragraphs that were the same but for a name."""
    order = page(incident_snapshot("20-fork-bomb", 30), 0).partition('<h2 id="order">')[2]
    shown, folded = order.partition("<details")[::2]
    assert re.findall(r'class="number">(.*?)</td>\s*<th scope="row">(.*?)<', shown) == [
        ("1", "default/web-0"),
        ("9", "default/bomb"),
    ]
    assert "(default/bomb goes instead); so are the next 7 pods" in shown
    assert "the other 7 pods by pids" in folded
    assert "so are" not in folded


def test_what_belongs_to_no_pod_is_said_once() -> None:
    """`93.1Gi belong to no pod (images, host files)` stood above `93.1Gi belong to no pod or lie in hostPath volumes`."""
    order = (
        page(incident_snapshot("02-host-path-writer", 375), 0)
        .partition('<h2 id="order">')[2]
        .partition("</article>")[0]
    )
    assert order.count("belong to no pod") == 1
    assert "93.1Gi belong to no pod or lie in hostPath volumes" in order
    near = page(incident_snapshot("06-collection-frees-nothing", 60), 0)
    assert "29.9Gi in use belong to no pod (images, host files, dead containers)" in near
