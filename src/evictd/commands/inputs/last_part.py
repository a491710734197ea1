"""Finds when the last part of a journal begins, which `--since` asks for."""

import argparse
from collections.abc import Sequence

from evictd.codec.times import parse_time
from evictd.core.units.duration import parse_duration
from evictd.errors import InputError, InvalidValueError
from evictd.render.history.history import HistoryEvent


def add_since_argument(parser: argparse.ArgumentParser) -> None:
    """Declare `--since`."""
    parser.add_argument("--since", metavar="DURATION", help="only the last part of the journal, such as 24h")


def begin_of(events: Sequence[HistoryEvent], since: str) -> int:
    """Return when the last `since`, a duration, before the last event of a journal began, in nanoseconds; 0 without an event.

    Raises `InputError`.
    """
    try:
        length = parse_duration(since)
    except InvalidValueError as error:
        raise InputError(f"--since: {since}: {error}; a duration looks like 90s or 24h") from error
    return parse_time(events[-1].at) - length if events else 0
