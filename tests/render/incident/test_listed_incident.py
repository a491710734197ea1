"""One incident of a list."""

from dataclasses import replace

from evictd.render.incident.listed_incident import listed_lines
from tests.render.recorded_incident import incident

MI = 1 << 20


def test_page_cache_that_was_most_of_what_the_pod_held_is_told() -> None:
    """`the name decides` was all that the list said of an eviction for page cache (world 19)."""
    event = incident().event
    assert list(listed_lines(event)) == [event.why, event.filled]
    assert list(listed_lines(replace(event, filled=""))) == [event.why]
    because = {**event.evidence["because"], "usage": "962Mi", "filePages": 762 * MI}
    cached = replace(event, evidence={**event.evidence, "because": because})
    pages = "were clean file pages, which the kernel can drop."
    assert list(listed_lines(cached))[-1] == f"762Mi of what it held {pages}"
    of_node = replace(cached, evidence={"because": {**because, "nodeFilePages": 6 * 1024 * MI}})
    assert list(listed_lines(of_node))[-1] == f"762Mi of what it held, and 6Gi of what the node held {pages}"
    little = replace(cached, evidence={"because": {**because, "filePages": 100 * MI}})
    assert list(listed_lines(little)) == [event.why, event.filled]
    assert list(listed_lines(replace(cached, evidence={}))) == [event.why, event.filled]
