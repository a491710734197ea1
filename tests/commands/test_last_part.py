"""The last part of a journal."""

import argparse

import pytest

from evictd.codec.times import parse_time, rfc3339
from evictd.commands.inputs.last_part import add_since_argument, begin_of
from evictd.errors import InputError
from evictd.render.history.history import EventKind, HistoryEvent

EVENTS = [
    HistoryEvent(at=at, kind=EventKind.EVICTED, pod="a/x", text="")
    for at in ("2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z")
]


def test_it_counts_back_from_the_last_event() -> None:
    assert rfc3339(begin_of(EVENTS, "1h")) == "2026-01-01T23:00:00Z"
    assert begin_of(EVENTS, "24h") == parse_time(EVENTS[0].at)
    assert begin_of([], "1h") == 0


def test_a_bad_duration_is_named() -> None:
    with pytest.raises(InputError, match=r"--since: soon: .*; a duration looks like 90s or 24h"):
        begin_of([], "soon")


def test_it_is_an_option() -> None:
    parser = argparse.ArgumentParser()
    add_since_argument(parser)
    assert parser.parse_args(["--since", "24h"]).since == "24h"
    assert parser.parse_args([]).since is None
