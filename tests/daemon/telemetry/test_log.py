"""JSON for machines, lines for a terminal."""

import io
import json
import os
from collections.abc import Iterator

import pytest
import structlog

from evictd.daemon.telemetry import log


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


def test_lines_below_the_level_are_not_logged() -> None:
    stream = io.StringIO()
    log.set_up(level="warning", stream=stream)
    log.logger().info("calm")
    assert stream.getvalue() == ""


def test_the_journal_gets_the_priority_before_each_line() -> None:
    stream = io.StringIO()
    log.set_up(stream=stream, journal=True)
    log.logger().warning("threshold met")
    log.logger().info("calm")
    assert [line[:3] for line in stream.getvalue().splitlines()] == ["<4>", "<6>"]


def test_the_journal_is_known_by_device_and_inode_of_the_stream() -> None:
    """`JOURNAL_STREAM` is inherited by children whose standard error went elsewhere; the variable alone proves nothing."""
    read, write = os.pipe()
    found = os.fstat(write)
    try:
        assert log.is_journal(write, {"JOURNAL_STREAM": f"{found.st_dev}:{found.st_ino}"})
        assert not log.is_journal(write, {"JOURNAL_STREAM": f"{found.st_dev}:{found.st_ino + 1}"})
        assert not log.is_journal(write, {})
    finally:
        os.close(read)
        os.close(write)
