"""JSON for machines, lines for a terminal."""

import io
import json
from collections.abc import Iterator

import pytest
import structlog

from evictd.daemon import log


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    yield
    structlog.reset_defaults()


def test_machines_get_one_json_object_a_line() -> None:
    stream = io.StringIO()
    log.set_up(stream=stream)
    log.logger().warning("threshold met", signal="memory.available")
    record = json.loads(stream.getvalue())
    assert (record["event"], record["level"], record["signal"]) == ("threshold met", "warning", "memory.available")
    assert record["ts"].endswith("Z")


def test_people_get_a_line_without_braces() -> None:
    stream = io.StringIO()
    log.set_up(form="text", stream=stream)
    log.logger().info("pod evicted", pod="default/web")
    assert "pod evicted" in stream.getvalue()
    assert "{" not in stream.getvalue()


def test_what_is_below_the_level_is_not_said() -> None:
    stream = io.StringIO()
    log.set_up(level="warning", stream=stream)
    log.logger().info("calm")
    assert stream.getvalue() == ""
